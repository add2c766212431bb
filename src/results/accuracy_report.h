#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/output_accuracy.h"

namespace carina::results {

// The ends of an interval that contains the true number with a probability of 95 %.
struct Interval {
  double low = 0;
  double high = 0;
};

// A metric of the task, as --metric names it.
struct TaskAccuracy {
  std::string metric;  // "iou"
  std::string unit;    // "%", "dB" or ""
  double of_float = 0;
  std::optional<double> of_integers = {};  // none without the integer graph
  double of_npu = 0;
  Interval npu_interval = {};
  Interval difference_interval = {};  // of the NPU's minus the float model's
};

// The samples with one label. The interval is that of the NPU's share of right answers (Wilson's score interval).
struct ClassAccuracy {
  int64_t label = 0;
  int64_t samples = 0;
  int64_t float_right = 0;
  int64_t npu_right = 0;
  Interval npu_interval = {};  // in percent
};

// Samples with a label that the NPU takes for another class.
struct Confusion {
  int64_t label = 0;
  int64_t answer = 0;
  int64_t samples = 0;
};

// How near a model with state stays to the float model from step to step: SQNR of the worst output.
struct StepAccuracy {
  double first_db = 0;
  double median_db = 0;
  double last_db = 0;
  double worst_db = 0;
  int64_t worst_step = 0;
};

// Accuracy of a program on samples with or without labels.
struct AccuracyReport {
  std::string program;
  std::string device = "NPU";  // what computes the program: "NPU"; "program" if no part of it is for an NPU
  int64_t samples = 0;
  bool has_labels = true;  // false: the number of correct answers is unknown
  int64_t float_right = 0;
  bool has_integer_graph = false;
  int64_t integer_right = 0;
  int64_t integer_undefined = 0;     // samples for which the specification does not define the integer graph's results
  std::string integer_problem = {};  // of the first of them
  int64_t npu_right = 0;
  int64_t npu_equals_integer = 0;  // samples for which all outputs, and the outputs of each delegate, have the integer
                                   // graph's bits
  int64_t npu_answers_as_float = 0;        // samples with the float model's predicted class, by the first output
  double sqnr_db = 0;                      // the lowest value of all outputs
  std::optional<StepAccuracy> steps = {};  // of a model with state
  std::vector<OutputAccuracy> outputs = {};
  std::optional<TaskAccuracy> task = {};  // with --metric
  // With labels: those that the samples have, in ascending order; and the wrong answers, the most frequent first.
  std::vector<ClassAccuracy> classes = {};
  std::vector<Confusion> confusions = {};
  Interval npu_right_interval = {};  // of the share of right answers, in percent
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
  int64_t label = -1;   // -1: the sample has none
  int64_t answer = -1;  // of the NPU: the class of the largest element of the first output
  std::vector<OutputSums> outputs = {};
  std::string integer_problem = {};  // why the integer graph's results are not defined; empty: they are
};

}  // namespace carina::results
