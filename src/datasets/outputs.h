// Writes output tensors to files and reports them.
#pragma once

#include <string>
#include <vector>

#include "carina/result.h"
#include "carina/sample.h"
#include "carina/tensor.h"
#include "results/run_report.h"

namespace carina::datasets {

// Returns the report of each tensor. If a folder is given, also writes FOLDER/output_<n>.npy; the folder is made.
// Errors: the folder cannot be written.
Result<std::vector<results::TensorReport>> report_tensors(const std::vector<NamedTensor>& tensors,
                                                          const std::string& folder);

// Formats the first elements: "[1, 2, ...]"
std::string preview(const Tensor& tensor);

}  // namespace carina::datasets
