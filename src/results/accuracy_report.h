#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/output_accuracy.h"

namespace carina::results {
// Accuracy of a program on samples with or without labels.
struct AccuracyReport {
  std::string program;
  int64_t samples = 0;
  bool has_labels = true;  // false: the number of correct answers is unknown
  int64_t float_right = 0;
  bool has_integer_graph = false;
  int64_t integer_right = 0;
  int64_t npu_right = 0;
  int64_t npu_equals_integer = 0;  // samples for which all outputs, and the outputs of each delegate, have the integer
                                   // graph's bits
  int64_t npu_answers_as_float = 0;  // samples with the float model's predicted class, by the first output
  double sqnr_db = 0;                // the lowest value of all outputs
  std::vector<OutputAccuracy> outputs = {};
};

}  // namespace carina::results
