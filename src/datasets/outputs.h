// Writes output tensors to files and reports them.
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

// Returns the report of each tensor. If a folder is given, also writes FOLDER/output_<n>.npy; the folder is made.
// Errors: the folder cannot be written.
Result<std::vector<results::TensorReport>> report_tensors(const std::vector<NamedTensor>& tensors,
                                                          const std::string& folder);

// Formats the first elements: "[1, 2, ...]"
std::string preview(const Tensor& tensor);

}  // namespace carina::datasets
