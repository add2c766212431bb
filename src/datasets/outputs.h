#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "results/run_report.h"
#include "tensor/tensor.h"

namespace carina::datasets {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// What a report says of each tensor; with a folder, also writes it to FOLDER/output_<n>.npy (the folder is made).
// Errors: the folder cannot be written.
Result<std::vector<results::TensorReport>> report_tensors(const std::vector<NamedTensor>& tensors,
                                                          const std::string& folder);

// The first elements: "[1, 2, ...]"
std::string preview(const Tensor& tensor);

}  // namespace carina::datasets
