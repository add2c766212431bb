#pragma once

#include <cstdint>
#include <string>

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
  int64_t npu_equals_integer = 0;  // samples whose NPU output has the same bits as the integer graph's
  int64_t npu_answers_as_float = 0;
  double sqnr_db = 0;  // of the NPU's outputs against the float model's, over all samples
};

// What one sample adds to the report.
struct SampleScore {
  bool float_right = false;
  bool integer_right = false;
  bool npu_right = false;
  bool npu_equals_integer = false;
  bool npu_answers_as_float = false;
  double signal = 0;  // sum of the squares of the float model's scores
  double noise = 0;   // the same of what the NPU's scores differ by
};

}  // namespace carina::results
