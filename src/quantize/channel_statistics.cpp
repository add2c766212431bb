#include <algorithm>

#include "observe/float_run.h"
#include "quantize/calibrate_internal.h"
#include "quantize/channel_statistics_internal.h"
#include "quantize/vectors_internal.h"

namespace carina::quantize {

namespace {

constexpr size_t kMaxSamplesRun = 16, kMinSamplesRun = 4;
// Large networks run on fewer samples: most of their layers see many pixels of each.
constexpr int64_t kMultiplications = 400'000'000;

// Multiplications of the layers with weights, for one sample.
int64_t multiplications_of(const ir::Graph& aten) {
  int64_t sum = 0;
  for (const ir::Node& node : aten.nodes) {
    const std::optional<WeightRole> role = weight_role_of(node);
    if (!role || !aten[node.inputs[role->weight]].constant || node.outputs.size() != 1) continue;
    const Shape& weight = aten[node.inputs[role->weight]].shape;
    const int64_t rows = weight.rank() == 0 ? 0 : weight[0];
    if (rows > 0) sum += aten[node.outputs.front()].shape.elements() * (weight.elements() / rows);
  }
  return sum;
}

size_t samples_to_run(const ir::Graph& aten, size_t samples) {
  const int64_t each = std::max<int64_t>(multiplications_of(aten), 1);
  const auto affordable = static_cast<size_t>(std::min<int64_t>(kMultiplications / each, kMaxSamplesRun));
  return std::min(std::max(affordable, kMinSamplesRun), samples);
}

// The channels of an image [N,H,W,C].
std::vector<Spread> spreads_of(const Tensor& image) {
  const auto channels = static_cast<size_t>(image.shape[3]);
  const std::span<const float> values = image.values<float>();
  const size_t pixels = channels == 0 ? 0 : values.size() / channels;
  std::vector<float> lows(channels, 0), highs(channels, 0), squares(channels, 0);
  if (channels > 0) add_spreads(values, channels, lows.data(), highs.data(), squares.data());
  std::vector<Spread> spreads(channels);
  for (size_t c = 0; c < channels; ++c)
    spreads[c] = {.min = lows[c], .max = highs[c], .squares = squares[c], .count = pixels};
  return spreads;
}

}  // namespace

void Spread::add(const Spread& other) {
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  squares += other.squares;
  count += other.count;
}

Result<ChannelStatistics> channel_statistics(const ir::Graph& aten, const datasets::DataSet& samples,
                                             const ChannelStatisticsOptions& options) {
  ChannelStatistics found;
  const size_t count = samples_to_run(aten, samples.size());
  const observe::FloatRunOptions run{
      .threads = options.threads,
      .evaluator = options.evaluator,
      .observer =
          [&](std::span<const ir::ValueId> values, const Tensor&, const kernels::Extremes& extremes) {
            for (const ir::ValueId id : values)
              found.values[aten[id].name].add({.min = extremes.min, .max = extremes.max});
          },
      .observed =
          [&](const std::vector<bool>&) {
            std::vector<bool> observed(aten.values.size(), false);
            for (const ir::ValueId id : options.values) observed[id.index()] = true;
            return observed;
          },
      .layers =
          [&](const observe::WeightedLayer& layer, const Tensor& image) {
            if (image.dtype != DType::kFp32 || image.shape.rank() != 4) return;
            const std::vector<Spread> seen = spreads_of(image);
            std::vector<Spread>& all = found.inputs[aten[layer.result].name];
            if (layer.part > 0) return all.clear();
            all.resize(seen.size());
            for (size_t c = 0; c < seen.size(); ++c) all[c].add(seen[c]);
          },
      .weights = weights_for(count),
      .integers = observe::FloatRunOptions::Integers::kWide,
      .sums = interpret::Sums::kFewMultiplications,
      .where = "calibration"};
  CARINA_TRY(observe::FloatRun model, observe::FloatRun::create(aten, run, Log{}));
  for (const size_t number : samples.spread(count)) {
    CARINA_TRY(const std::vector<Tensor> sample, samples.sample(number));
    CARINA_CHECKED(check_sample(aten, sample, number));
    if (auto outputs = model.run(sample); !outputs) return std::unexpected(std::move(outputs).error());
  }
  return found;
}

}  // namespace carina::quantize
