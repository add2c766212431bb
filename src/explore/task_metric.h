// Declares the metrics of tasks: how right the answers of an engine are, by labels of any shape.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carina/result.h"
#include "carina/shape.h"
#include "carina/tensor.h"
#include "results/accuracy_report.h"

namespace carina::explore {

// What a sample adds to a metric; the metric is a function of the sums over samples. Its meaning depends on the metric:
// right answers and answers; per class, places in both and places in either; squares of errors and elements.
using MetricSums = std::vector<double>;

// A metric of the first output. top1 and top5: one label per sample, the number of a class or one-hot. pixel and iou: a
// class per place (a pixel, a step), so the label has the output's shape without its axis of classes. Places with a
// negative label or 255 do not count. psnr and rmse: labels with the output's shape.
class TaskMetric {
 public:
  // Errors (usage): an unknown name.
  static Result<TaskMetric> create(std::string_view name, const Shape& output);

  // Returns the sums of one sample. Errors: a label of another shape, or that is not a class.
  [[nodiscard]] Result<MetricSums> sums_of(std::span<const double> output, const Tensor& label,
                                           const std::string& where) const;
  // Returns the metric of these sums: percent, dB, or the root of the mean square error. `peak` is the range of the
  // labels, which psnr needs.
  [[nodiscard]] double value_of(const MetricSums& sums, double peak) const;
  [[nodiscard]] std::string_view unit() const;

 private:
  enum class Kind : uint8_t { kTop1, kTop5, kPixel, kIou, kPsnr, kRmse };
  TaskMetric(Kind kind, Shape output) : kind_(kind), output_(std::move(output)) {}

  [[nodiscard]] Result<MetricSums> errors_of(std::span<const double> output, std::span<const double> label,
                                             const std::string& where) const;
  [[nodiscard]] Result<MetricSums> ranks_of(std::span<const double> output, std::span<const double> label,
                                            const std::string& where) const;
  [[nodiscard]] Result<MetricSums> places_of(std::span<const double> output, const Tensor& label,
                                             std::span<const double> classes, const std::string& where) const;

  Kind kind_;
  Shape output_;
};

// The sums of one sample for each engine.
struct MetricScore {
  MetricSums floats;
  MetricSums integers;  // empty without the integer graph
  MetricSums npu;
  double min_label = 0;
  double max_label = 0;
};

// Returns the metric of all samples with intervals: samples are drawn again and again (bootstrap), with a fixed seed.
results::TaskAccuracy accuracy_of(const TaskMetric& metric, std::string name, std::span<const MetricScore> samples);

std::string task_metric_names();

}  // namespace carina::explore
