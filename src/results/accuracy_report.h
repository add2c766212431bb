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

// Sums over the elements of one output, of one sample or of many.
struct OutputSums {
  double signal = 0;    // squares of the float model's elements
  double noise = 0;     // squares of the differences between the NPU's elements and the float model's
  double absolute = 0;  // absolute values of these differences
  int64_t elements = 0;
};

// The contribution of one sample to the report.
struct SampleScore {
  bool float_right = false;
  bool integer_right = false;
  bool npu_right = false;
  bool npu_equals_integer = false;
  bool npu_answers_as_float = false;
  std::vector<OutputSums> outputs = {};
};

}  // namespace carina::results
