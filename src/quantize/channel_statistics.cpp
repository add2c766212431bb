#include <algorithm>

#include "observe/float_run.h"
#include "quantize/calibrate_internal.h"
#include "quantize/channel_statistics_internal.h"

namespace carina::quantize {

namespace {

constexpr size_t kSamples = 16;

// The channels of an image [N,H,W,C].
std::vector<Spread> spreads_of(const Tensor& image) {
  const auto channels = static_cast<size_t>(image.shape[3]);
  std::vector<Spread> spreads(channels);
  const std::span<const float> values = image.values<float>();
  const size_t pixels = channels == 0 ? 0 : values.size() / channels;
  std::vector<float> squares(channels, 0);
  for (size_t p = 0; p < pixels; ++p) {
    for (size_t c = 0; c < channels; ++c) {
      const float value = values[p * channels + c];
      spreads[c].min = std::min(spreads[c].min, value);
      spreads[c].max = std::max(spreads[c].max, value);
      squares[c] += value * value;
    }
  }
  for (size_t c = 0; c < channels; ++c) {
    spreads[c].squares = squares[c];
    spreads[c].count = pixels;
  }
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
  const size_t count = std::min(kSamples, samples.size());
  const observe::FloatRunOptions run{
      .threads = options.threads,
      .evaluator = options.evaluator,
      .observer =
          [&](std::span<const ir::ValueId> values, const Tensor&, const simd::Extremes& extremes) {
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
  for (size_t i = 0; i < count; ++i) {
    const size_t number = i * samples.size() / count;
    CARINA_TRY(const std::vector<Tensor> sample, samples.sample(number));
    CARINA_CHECKED(check_sample(aten, sample, number));
    if (auto outputs = model.run(sample); !outputs) return std::unexpected(std::move(outputs).error());
  }
  return found;
}

}  // namespace carina::quantize
