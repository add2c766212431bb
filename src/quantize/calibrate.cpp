#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>

#include "facts/aten_traits.h"
#include "observe/float_run.h"
#include "quantize/calibrate_internal.h"
#include "quantize/data_check_internal.h"
#include "quantize/softmax_scores_internal.h"

namespace carina::quantize {

namespace {

using ir::ValueId;

// The number of elements of a value that its histogram counts over all samples. With so many, the counts of 4096 bins
// are accurate to a few percent where it matters (docs/performance.md 5).
constexpr size_t kCounted = size_t{1} << 20, kCountedOfSample = size_t{1} << 14;
constexpr size_t kLastPart = 10;  // the last tenth of the samples shows whether ranges still move

class Calibration {
 public:
  // `samples`: the number of samples; `kept`: how many of them to keep.
  Calibration(const ir::Graph& aten, LeftFloat left, size_t samples, size_t kept)
      : aten_(aten),
        data_(aten),
        scores_(softmax_scores(aten)),
        producers_(ir::producers(aten)),
        kept_(std::min(kept, samples)),
        enough_(std::max(kCounted / samples, kCountedOfSample)) {
    result_.sharing = sharing_of(aten, left.nodes, Extrema::kShare);
    result_.left = std::move(left);
    clear();
  }

  // If several values of a group have the same elements, these are counted once.
  void see(std::span<const ValueId> values, const Tensor& tensor, const kernels::Extremes& extremes) {
    std::vector<size_t> groups;
    for (const ValueId id : values) {
      const size_t group = result_.sharing.group[id.index()];
      if (!is_observed(id.index()) || std::ranges::find(groups, group) != groups.end()) continue;
      groups.push_back(group);
      observe(id, result_.observers[group], tensor.values<float>(), extremes);
    }
  }

  Result<void> run(observe::FloatRun& model, const datasets::DataSet& samples, const Log& log) {
    samples_ = samples.size();
    for (size_t s = 0; s < samples.size(); ++s) {
      log.progress("calibrate", s, samples.size());
      if (s == samples.size() - samples.size() / kLastPart) widths_before_ = widths();
      CARINA_TRY(const std::vector<Tensor> sample, samples.sample(s));
      CARINA_CHECKED(check_sample(aten_, sample, s));
      CARINA_TRY(const std::vector<Tensor> outputs, model.run(sample));
      data_.see(sample, outputs);
      keep(s, samples.size(), sample, outputs);
    }
    result_.beyond_int32 = model.beyond_int32();
    deepen_masks();
    return {};
  }

  // Reports the findings of the last run. Errors: values that are NaN.
  Result<void> report(const Log& log) const {
    for (const ValueId id : beyond_)
      log.note({.where = aten_[id].name,
                .what = "calibration has met infinities or values that are no numbers (NaN) here, and leaves them out",
                .hint = "the samples reach outside of what the operator is defined for",
                .severity = Severity::kWarning});
    for (const ValueId id : infinite_)
      log.note({.where = aten_[id].name,
                .what = "the float model computes infinities here, from finite operands: no integers stand for them",
                .hint = "are the weights, or the samples, larger than they should be?",
                .severity = Severity::kWarning});
    warn_of_swamped(log);
    warn_of_moving(log);
    note_poles(log);
    if (not_numbers_.empty()) return {};
    return fail({.where = not_numbers_,
                 .what = "the float model computes values that are not numbers (NaN) from the calibration samples",
                 .hint = "check the samples"});
  }

  // Returns a value whose group has no observed element, because the lowering has optimized all of the group's values
  // away.
  [[nodiscard]] std::optional<ValueId> unseen() const {
    for (size_t v = 0; v < aten_.values.size(); ++v) {
      const ir::Value& value = aten_.values[v];
      if (!value.constant && is_observed(v) && value.shape.elements() > 0 &&
          result_.observers[result_.sharing.group[v]].empty())
        return ValueId(v);
    }
    return std::nullopt;
  }
  void clear() {
    beyond_.clear();
    masked_.clear();
    infinite_.clear();
    beside_pole_.clear();
    not_numbers_.clear();
    result_.observers.assign(aten_.values.size(), {});
    result_.layers.assign(aten_.values.size(), {});
    result_.kept_samples.clear();
    result_.kept_outputs.clear();
  }
  void see(const observe::WeightedLayer& layer, const Tensor& image, Gathered gathered) {
    result_.layers[result_.sharing.layer_of[layer.result.index()]].see(layer, image, gathered);
  }
  // Returns for each value whether it is observed.
  [[nodiscard]] std::vector<bool> observed() const {
    std::vector<bool> observed(aten_.values.size());
    for (size_t v = 0; v < observed.size(); ++v) observed[v] = is_observed(v);
    return observed;
  }
  [[nodiscard]] const DataCheck& data() const { return data_; }
  Calibrated take() && { return std::move(result_); }

 private:
  // Keeps copies of every n-th sample and its outputs, whose memory belongs to the run.
  void keep(size_t number, size_t count, const std::vector<Tensor>& sample, const std::vector<Tensor>& outputs) {
    if ((number + 1) * kept_ / count == number * kept_ / count) return;
    const auto copies = [](const std::vector<Tensor>& tensors) {
      std::vector<Tensor> copied = tensors;
      for (Tensor& tensor : copied) tensor.data = Buffer::copy_of(tensor.data.bytes());
      return copied;
    };
    result_.kept_samples.push_back(copies(sample));
    result_.kept_outputs.push_back(copies(outputs));
  }

  // The width of each group's range so far.
  [[nodiscard]] std::vector<double> widths() const {
    std::vector<double> found(result_.observers.size(), 0);
    for (size_t v = 0; v < found.size(); ++v) {
      if (result_.observers[v].empty()) continue;
      const Range range = result_.observers[v].choose(RangeChoice::kMinMax, 1);
      found[v] = range.max - range.min;
    }
    return found;
  }

  // Ranges that the last samples have widened much would grow with further samples too.
  void warn_of_moving(const Log& log) const {
    constexpr double kMuch = 1.25;
    if (samples_ < kLastPart || widths_before_.empty()) return;
    const std::vector<double> now = widths();
    size_t seen = 0, moved = 0;
    for (size_t v = 0; v < now.size(); ++v) {
      if (now[v] == 0) continue;
      ++seen;
      if (now[v] > kMuch * widths_before_[v]) ++moved;
    }
    if (2 * moved <= seen) return;
    log.note({.where = "calibration",
              .what = fmt::format("the last tenth of the {} samples has widened the ranges of {} of {} values by more "
                                  "than a quarter",
                                  samples_, moved, seen),
              .hint = "more samples, in random order; or samples of another scale are among them",
              .severity = Severity::kWarning});
  }

  void note_poles(const Log& log) const {
    if (beside_pole_.empty()) return;
    std::vector<std::string> names;
    for (const ValueId id : beside_pole_) names.push_back(aten_[id].name);
    log.note({.where = fmt::format("{}", fmt::join(names, ", ")),
              .what = "the samples divide by nearly 0 here; quotients so far away from all others are left out of the "
                      "range, and saturate",
              .hint = "x / norm(x) of empty rows is 0 all the same"});
  }

  // Returns whether a constant contains large negative numbers, as masks do.
  [[nodiscard]] bool has_masks() const {
    constexpr float kFar = -100, kFarInput = -1000;
    const bool is_input = std::ranges::any_of(aten_.inputs, [&](ValueId id) {
      const RangeObserver& observer = result_.observers[id.index()];
      return !observer.empty() && observer.choose(RangeChoice::kMinMax, 1).min <= kFarInput;
    });
    return is_input || std::ranges::any_of(aten_.values, [](const ir::Value& value) {
             if (!value.constant || value.dtype != DType::kFp32) return false;
             return std::ranges::any_of(value.constant->values<float>(), [](float v) { return v <= kFar; });
           });
  }

  void warn_of_swamped(const Log& log) const {
    std::vector<std::string> names;
    for (size_t v = 0; v < aten_.values.size(); ++v) {
      if (result_.sharing.group[v] == v && result_.observers[v].is_swamped()) names.push_back(aten_[ValueId(v)].name);
    }
    if (names.empty()) return;
    log.note({.where = fmt::format("{}", fmt::join(names, ", ")),
              .what = "one number far away from all others takes nearly all steps of the integers",
              .hint = has_masks()
                          ? "a mask is -infinity, which takes no step: masked_fill(mask, float(\"-inf\")), or a "
                            "mask of bool"
                          : "int16x8 has more steps: --quantize-at node:NAME=int16x8; or limit the number in the "
                            "model",
              .severity = Severity::kWarning});
  }

  // A function at the end of its domain returns infinity, and outside of it NaN. Integers cannot represent these, and
  // they would take the range from the other elements. Infinities of other operators are masks, which the observer
  // limits.
  void observe(ValueId id, RangeObserver& observer, std::span<const float> elements, kernels::Extremes extremes) {
    const ir::NodeId producer = producers_[id.index()];
    std::vector<float> near;
    if (producer.valid() && aten_[producer].op == ir::Op(AtenOp::reciprocal_default) && !elements.empty()) {
      elements = near = away_from_pole(id, elements);
      extremes = kernels::extremes_of(elements);
    }
    if (scores_[id.index()] && extremes.min <= kMaskedScore) {
      masked_.insert(id);
      const float low = masked_score(elements, aten_[id].shape);
      if (!observer.observe_masked(elements, kMaskedScore, low) && not_numbers_.empty()) not_numbers_ = aten_[id].name;
      return;
    }
    const bool is_function = producer.valid() && traits_of(aten_[producer].op.aten()).family == AtenFamily::kFunction;
    if (is_function && !extremes.are_finite() && observe_finite(id, observer, elements)) return;
    if (producer.valid() && !extremes.are_finite() && is_product(aten_[producer])) infinite_.insert(id);
    if (observer.observe(elements, extremes, enough_)) return;
    const bool given = !producer.valid();
    if ((given || !observe_finite(id, observer, elements)) && not_numbers_.empty()) not_numbers_ = aten_[id].name;
  }

  // A mask that is added to scores reaches as far down as hides the largest of them.
  void deepen_masks() {
    const auto range_of = [&](ValueId id) {
      const RangeObserver& observer = result_.observers[result_.sharing.group[id.index()]];
      return observer.empty() ? Range() : observer.choose(RangeChoice::kMinMax, 1);
    };
    for (const ir::Node& node : aten_.nodes) {
      if (node.op != ir::Op(AtenOp::add_Tensor) || !masked_.contains(node.outputs.front())) continue;
      for (const auto& [mask, other] : {std::pair(node.inputs[0], node.inputs[1]), {node.inputs[1], node.inputs[0]}}) {
        if (!masked_.contains(mask) && !is_masked_constant(mask)) continue;
        const double low = range_of(node.outputs.front()).min - range_of(other).max;
        result_.observers[result_.sharing.group[mask.index()]].observe(std::array{static_cast<float>(low)});
      }
    }
  }
  [[nodiscard]] bool is_masked_constant(ValueId id) const {
    const std::optional<Tensor>& constant = aten_[id].constant;
    return constant && constant->dtype == DType::kFp32 &&
           std::ranges::any_of(constant->values<float>(), [](float v) { return v <= kMaskedScore; });
  }

  static bool is_product(const ir::Node& node) {
    const AtenFamily family = traits_of(node.op.aten()).family;
    return family == AtenFamily::kConvolution || family == AtenFamily::kProduct;
  }

  // Excludes values of 1 / x near its pole, as in a norm that divides by the length of an empty row. The product with 0
  // is 0 for any range, and so large a range would leave no precision for the other values.
  std::vector<float> away_from_pole(ValueId id, std::span<const float> elements) {
    constexpr float kFar = 0x1p16F;  // times the median; so large an element would leave no integer step for the median
    std::vector<float> sizes(elements.size());
    std::ranges::transform(elements, sizes.begin(), [](float v) { return std::isnan(v) ? INFINITY : std::abs(v); });
    const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
    std::ranges::nth_element(sizes, middle);
    const float limit = kFar * *middle;
    std::vector<float> near;
    std::ranges::copy_if(elements, std::back_inserter(near),
                         [&](float v) { return !std::isfinite(v) || std::abs(v) <= limit; });
    if (near.size() < elements.size()) beside_pole_.insert(id);
    return near;
  }

  // Returns whether there were both finite and other elements.
  bool observe_finite(ValueId id, RangeObserver& observer, std::span<const float> elements) {
    if (std::ranges::all_of(elements, [](float v) { return std::isfinite(v); })) return false;
    std::vector<float> finite;
    std::ranges::copy_if(elements, std::back_inserter(finite), [](float v) { return std::isfinite(v); });
    if (finite.empty()) return false;
    beyond_.insert(id);
    return observer.observe(finite);
  }

  [[nodiscard]] bool is_observed(size_t value) const {
    return result_.left.quantized[value] && result_.sharing.is_observed[value];
  }

  const ir::Graph& aten_;
  Calibrated result_;
  DataCheck data_;
  std::vector<bool> scores_;  // per value: whether large negative numbers are masks
  std::vector<ir::NodeId> producers_;
  size_t kept_;
  size_t samples_ = 0;
  std::vector<double> widths_before_;  // per group, before the last part of the samples
  size_t enough_;                      // elements of a tensor, for its histogram
  std::set<ValueId> beyond_;           // values with infinite or NaN elements
  std::set<ValueId> masked_;           // scores with masks
  std::set<ValueId> infinite_;         // products that are infinite
  std::set<ValueId> beside_pole_;      // values with elements 1 / x for an x near 0
  std::string not_numbers_;
};

}  // namespace

namespace {

bool has_nan(const Tensor& tensor) {
  const auto is_nan = [](auto value) { return std::isnan(value); };
  if (tensor.dtype == DType::kFp32) return std::ranges::any_of(tensor.values<float>(), is_nan);
  return tensor.dtype == DType::kFp64 && std::ranges::any_of(tensor.values<double>(), is_nan);
}

}  // namespace

Result<void> check_sample(const ir::Graph& graph, const std::vector<Tensor>& sample, size_t number) {
  const std::string where = fmt::format("calibration sample {}", number);
  if (sample.size() != graph.inputs.size()) {
    return fail({.where = where,
                 .what = "wrong number of inputs",
                 .expected = std::to_string(graph.inputs.size()),
                 .got = std::to_string(sample.size())});
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ir::Value& input = graph[graph.inputs[i]];
    const Tensor& given = sample[i];
    if (given.dtype == input.dtype && given.shape == input.shape) {
      if (!has_nan(given)) continue;
      return fail({.where = where,
                   .what = fmt::format("the input {} has values that are not numbers (NaN)", input.name),
                   .hint = "check the samples"});
    }
    return fail({.where = where,
                 .what = fmt::format("input {} does not fit", input.name),
                 .expected = fmt::format("{} {}", name_of(input.dtype), to_string(input.shape)),
                 .got = fmt::format("{} {}", name_of(given.dtype), to_string(given.shape))});
  }
  return {};
}

observe::FloatRunOptions::Weights weights_for(size_t samples) {
  constexpr size_t kFewSamples = 4;  // packing all weights saves less time than the memory is worth
  using Weights = observe::FloatRunOptions::Weights;
  return samples <= kFewSamples ? Weights::kOneLayerAtATime : Weights::kPacked;
}

Result<Calibrated> calibrate(const ir::Graph& aten, const datasets::DataSet& samples, const CalibrationOptions& options,
                             const Log& log) {
  if (samples.size() == 0)
    return fail({.where = "calibration", .what = "there is no sample", .expected = "at least one"});
  constexpr size_t kManySamples = 10'000;
  constexpr size_t kForAverages = 500;  // a sample counts 1 % in an average: of the first one, 0.7 % remain
  if (options.averages && samples.size() < kForAverages) {
    log.note({.where = options.data,
              .what = fmt::format("moving averages of {} samples are near the first one's range", samples.size()),
              .hint = fmt::format("give at least {} samples, or use another observer: int8", kForAverages),
              .severity = Severity::kWarning});
  }
  if (samples.size() >= kManySamples) {
    log.note({.where = options.data,
              .what = fmt::format("calibration runs the model on all {} samples", samples.size()),
              .hint = "a few hundred typical inputs are enough",
              .severity = Severity::kNote});
  }
  std::optional<Calibration> calibration;
  observe::FloatRunOptions run{
      .threads = options.threads,
      .evaluator = options.evaluator,
      .observer = [&](std::span<const ValueId> values, const Tensor& tensor,
                      const kernels::Extremes& extremes) { calibration->see(values, tensor, extremes); },
      .observed =
          [&](std::vector<bool> stays_float) {
            for (size_t n = 0; n < stays_float.size(); ++n) stays_float[n] = stays_float[n] || options.left_float[n];
            if (!calibration) calibration.emplace(aten, left_float(aten, stays_float), samples.size(), options.kept);
            return calibration->observed();
          },
      .layers = [&](const observe::WeightedLayer& layer,
                    const Tensor& image) { calibration->see(layer, image, options.gathered); },
      .weights = weights_for(samples.size()),
      .integers = observe::FloatRunOptions::Integers::kWide,
      .sums = interpret::Sums::kFewMultiplications,
      .where = "calibration"};
  CARINA_TRY(observe::FloatRun model, observe::FloatRun::create(aten, run, log));
  CARINA_CHECKED(calibration->run(model, samples, log));
  if (calibration->unseen()) {
    calibration->clear();
    run.values = observe::FloatRunOptions::Values::kEvery;
    CARINA_TRY(observe::FloatRun slower, observe::FloatRun::create(aten, run, log));
    CARINA_CHECKED(calibration->run(slower, samples, log));
  }
  CARINA_CHECKED(calibration->report(log));
  if (const auto id = calibration->unseen())
    return fail({.where = aten[*id].name, .what = "calibration has not seen this value", .fault = Fault::kInternal});
  calibration->data().report(options.data, log);
  return std::move(*calibration).take();
}

}  // namespace carina::quantize
