#include "explore/task_metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "base/text/nearest.h"
#include "carina/check.h"
#include "datasets/sample_reader.h"
#include "tensor/elements.h"

namespace carina::explore {

namespace {

constexpr double kUnlabeled = 255;  // as in the data of PASCAL VOC and Cityscapes

std::unexpected<Diagnostics> unfit(const std::string& where, std::string expected, std::string got) {
  return fail({.where = where + ":y",
               .what = "the labels do not fit the metric",
               .expected = std::move(expected),
               .got = std::move(got),
               .hint = "choose the metric with --metric"});
}

// Returns the dimensions without those of 1 at the front.
std::vector<int64_t> core_of(std::span<const int64_t> shape) {
  const auto first = std::ranges::find_if(shape, [](int64_t size) { return size != 1; });
  return {first, shape.end()};
}

// Returns the axis of the output without which it has the label's shape: the classes. The first one after the batch
// that fits.
std::optional<size_t> class_axis(const Shape& output, const Shape& label) {
  for (size_t axis = output.rank() > 1 ? 1 : 0; axis < output.rank(); ++axis) {
    std::vector<int64_t> rest(output.dims().begin(), output.dims().end());
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(axis));
    if (core_of(rest) == core_of(label.dims())) return axis;
  }
  return std::nullopt;
}

bool is_class(double label, int64_t classes) {
  return label >= 0 && label < static_cast<double>(classes) && label == std::floor(label);
}

}  // namespace

std::string task_metric_names() {
  return "top1, top5, pixel, iou, psnr, rmse";
}

Result<TaskMetric> TaskMetric::create(std::string_view name, const Shape& output) {
  constexpr std::array<std::pair<std::string_view, Kind>, 6> kNames{{{"top1", Kind::kTop1},
                                                                     {"top5", Kind::kTop5},
                                                                     {"pixel", Kind::kPixel},
                                                                     {"iou", Kind::kIou},
                                                                     {"psnr", Kind::kPsnr},
                                                                     {"rmse", Kind::kRmse}}};
  const auto* row = std::ranges::find(kNames, name, [](const auto& one) { return one.first; });
  if (row != kNames.end()) return TaskMetric(row->second, output);
  return fail({.where = "--metric",
               .what = "unknown metric",
               .expected = task_metric_names(),
               .got = std::string(name),
               .hint = nearest_hint(name, task_metric_names()),
               .fault = Fault::kUsage});
}

Result<MetricSums> TaskMetric::errors_of(std::span<const double> output, std::span<const double> label,
                                         const std::string& where) const {
  if (label.size() != output.size())
    return unfit(where, fmt::format("{} numbers per sample, as the first output has", output.size()),
                 std::to_string(label.size()));
  double squares = 0;
  for (size_t i = 0; i < output.size(); ++i) squares += (output[i] - label[i]) * (output[i] - label[i]);
  return MetricSums{squares, static_cast<double>(output.size())};
}

Result<MetricSums> TaskMetric::ranks_of(std::span<const double> output, std::span<const double> label,
                                        const std::string& where) const {
  const auto classes = static_cast<int64_t>(output.size());
  const std::optional<double> named = datasets::class_of(label);
  if (!named || !is_class(*named, classes))
    return unfit(where, fmt::format("one class per sample, 0 to {}", classes - 1),
                 named ? fmt::format("{}", *named) : fmt::format("{} numbers", label.size()));
  const auto right = static_cast<size_t>(*named);
  const double wanted = output[right];
  const auto before = output.first(right);
  // of equal scores, the first one counts as larger
  const auto above =
      std::ranges::count_if(output, [&](double score) { return score > wanted; }) + std::ranges::count(before, wanted);
  return MetricSums{above < (kind_ == Kind::kTop1 ? 1 : 5) ? 1.0 : 0.0, 1};
}

Result<MetricSums> TaskMetric::places_of(std::span<const double> output, const Tensor& label,
                                         std::span<const double> classes, const std::string& where) const {
  const std::optional<size_t> axis = class_axis(output_, label.shape);
  if (!axis)
    return unfit(where, fmt::format("a class per place: {} without its axis of classes", to_string(output_)),
                 to_string(label.shape));
  size_t inner = 1;
  for (size_t i = *axis + 1; i < output_.rank(); ++i) inner *= static_cast<size_t>(output_[i]);
  const auto count = static_cast<size_t>(output_[*axis]);
  MetricSums sums(kind_ == Kind::kIou ? 2 * count : 2, 0);
  for (size_t place = 0; place < classes.size(); ++place) {
    const double wanted = classes[place];
    if (wanted < 0 || (wanted == kUnlabeled && count <= static_cast<size_t>(kUnlabeled))) continue;
    if (!is_class(wanted, static_cast<int64_t>(count)))
      return unfit(where, fmt::format("classes from 0 to {}", count - 1), fmt::format("{}", wanted));
    const double* const scores = output.data() + place / inner * count * inner + place % inner;
    size_t best = 0;
    for (size_t c = 1; c < count; ++c) {
      if (scores[c * inner] > scores[best * inner]) best = c;
    }
    const auto label_class = static_cast<size_t>(wanted);
    if (kind_ == Kind::kPixel) {
      sums[0] += best == label_class ? 1 : 0;
      sums[1] += 1;
      continue;
    }
    sums[2 * label_class + 1] += 1;
    if (best == label_class)
      sums[2 * label_class] += 1;
    else
      sums[2 * best + 1] += 1;
  }
  return sums;
}

Result<MetricSums> TaskMetric::sums_of(std::span<const double> output, const Tensor& label,
                                       const std::string& where) const {
  const auto numbers = numbers_of(label);
  if (!numbers) return unfit(where, "numbers", std::string(name_of(label.dtype)));
  switch (kind_) {
    case Kind::kTop1:
    case Kind::kTop5:
      return ranks_of(output, *numbers, where);
    case Kind::kPixel:
    case Kind::kIou:
      return places_of(output, label, *numbers, where);
    case Kind::kPsnr:
    case Kind::kRmse:
      return errors_of(output, *numbers, where);
  }
  CARINA_UNREACHABLE("metric", kind_);
}

double TaskMetric::value_of(const MetricSums& sums, double peak) const {
  constexpr double kNoError = 300;  // dB
  if (kind_ == Kind::kIou) {
    double total = 0, classes = 0;
    for (size_t c = 0; c + 1 < sums.size(); c += 2) {
      if (sums[c + 1] == 0) continue;  // a class that is nowhere
      total += sums[c] / sums[c + 1];
      classes += 1;
    }
    return classes == 0 ? 0 : 100 * total / classes;
  }
  const double mean = sums[1] == 0 ? 0 : sums[0] / sums[1];
  if (kind_ == Kind::kRmse) return std::sqrt(mean);
  if (kind_ == Kind::kPsnr) return mean == 0 || peak == 0 ? kNoError : 10 * std::log10(peak * peak / mean);
  return 100 * mean;
}

std::string_view TaskMetric::unit() const {
  return kind_ == Kind::kPsnr ? "dB" : kind_ == Kind::kRmse ? "" : "%";
}

namespace {

void add(MetricSums& sums, const MetricSums& other) {
  sums.resize(std::max(sums.size(), other.size()), 0);
  for (size_t i = 0; i < other.size(); ++i) sums[i] += other[i];
}

results::Interval interval_of(std::vector<double> values) {
  constexpr double kOutside = 0.025;  // at each end, for 95 %
  std::ranges::sort(values);
  const auto at = [&](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
  };
  return {.low = at(kOutside), .high = at(1 - kOutside)};
}

}  // namespace

results::TaskAccuracy accuracy_of(const TaskMetric& metric, std::string name, std::span<const MetricScore> samples) {
  constexpr size_t kDraws = 1000;
  results::TaskAccuracy accuracy{.metric = std::move(name), .unit = std::string(metric.unit())};
  if (samples.empty()) return accuracy;
  const double peak = std::ranges::max(samples, {}, &MetricScore::max_label).max_label -
                      std::ranges::min(samples, {}, &MetricScore::min_label).min_label;
  MetricSums floats, integers, npu;
  for (const MetricScore& sample : samples) {
    add(floats, sample.floats);
    add(integers, sample.integers);
    add(npu, sample.npu);
  }
  accuracy.of_float = metric.value_of(floats, peak);
  if (!integers.empty()) accuracy.of_integers = metric.value_of(integers, peak);
  accuracy.of_npu = metric.value_of(npu, peak);
  std::mt19937 random(0);  // its numbers are specified, those of distributions are not
  std::vector<double> values, differences;
  for (size_t draw = 0; draw < kDraws; ++draw) {
    MetricSums drawn_floats, drawn_npu;
    for (size_t i = 0; i < samples.size(); ++i) {
      const MetricScore& sample = samples[random() % samples.size()];
      add(drawn_floats, sample.floats);
      add(drawn_npu, sample.npu);
    }
    values.push_back(metric.value_of(drawn_npu, peak));
    differences.push_back(values.back() - metric.value_of(drawn_floats, peak));
  }
  accuracy.npu_interval = interval_of(std::move(values));
  accuracy.difference_interval = interval_of(std::move(differences));
  return accuracy;
}

}  // namespace carina::explore
