#include "quantize/equalize.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "quantize/channel_paths_internal.h"

// The noise of a channel is a / f^2 + w * f^2 for a factor f, where a is the noise of its rounded activations and w
// that of the rounded weights of its readers. The sum is smallest where both are equal, at f = (a / w)^(1/4).
//
//   Example: a = 16 and w = 1. Without a factor the noise is 17. With f = 2 it is 16 / 4 + 1 * 4 = 8, which is 0.47 of
//   it.
//
// Factors are at least 1 and never make a channel larger than the largest one, so the range of the tensor stays. A path
// (channel_paths.cpp) is left as it is unless its noise falls below kWorthwhile. Time: a few passes over the weights of
// each path. Nagel et al. choose factors that make the ranges of the weights on both sides equal. Here the samples
// decide, since the activations are what a large channel makes coarse.
namespace carina::quantize {

namespace {

using ir::Node;
using ir::ValueId;

// A channel of which the few samples show next to nothing may be large in others.
constexpr double kMaxFactor = 64;
// Factors that reduce the noise of a path by less than this (1.5 dB) change nothing in practice, and are left out.
constexpr double kWorthwhile = 0.7;

// The weights of a reader as a matrix of output channels (rows) and input channels (columns), each with `taps`
// elements.
struct Matrix {
  std::span<const float> weights;
  size_t rows = 0;
  size_t columns = 0;  // 1 if depthwise
  size_t taps = 1;
  size_t rows_per_channel = 0;  // depthwise; otherwise 0

  [[nodiscard]] size_t row(size_t element) const { return element / (columns * taps); }
  // The input channel of the elements of a row and a column.
  [[nodiscard]] size_t input_channel(size_t row, size_t column) const {
    return rows_per_channel > 0 ? row / rows_per_channel : column;
  }
  [[nodiscard]] std::span<const float> of_row(size_t row) const {
    return weights.subspan(row * columns * taps, columns * taps);
  }
};

class Equalizer {
 public:
  Equalizer(ir::Graph& graph, const ChannelStatistics& statistics, const NodeScheme& scheme)
      : graph_(graph), statistics_(statistics), scheme_(scheme) {}

  void run() {
    for (const ChannelPath& path : channel_paths(graph_)) {
      if (const auto factors = factors_of(path)) apply(path, *factors);
    }
  }

 private:
  [[nodiscard]] bool is_per_tensor() const { return scheme_.weights.granularity == Granularity::kPerTensor; }

  [[nodiscard]] Matrix matrix_of(const Node& node) const {
    const ir::Value& weight = graph_[node.inputs[1]];
    Matrix matrix{.weights = weight.constant->values<float>(),
                  .rows = static_cast<size_t>(weight.shape[0]),
                  .columns = static_cast<size_t>(weight.shape[1])};
    for (size_t i = 2; i < weight.shape.rank(); ++i) matrix.taps *= static_cast<size_t>(weight.shape[i]);
    if (is_depthwise(graph_, node))
      matrix.rows_per_channel = matrix.rows / static_cast<size_t>(graph_[node.inputs.front()].shape[1]);
    return matrix;
  }

  // The largest magnitude of the weights that share a scale with this row's.
  [[nodiscard]] std::vector<double> largest_of_rows(const Matrix& matrix) const {
    std::vector<double> largest(matrix.rows, 0);
    for (size_t row = 0; row < matrix.rows; ++row) {
      const auto larger = [](float max, float weight) { return std::max(max, std::abs(weight)); };
      const std::span<const float> weights = matrix.of_row(row);
      largest[row] = std::accumulate(weights.begin(), weights.end(), 0.0F, larger);
    }
    if (is_per_tensor()) largest.assign(matrix.rows, std::ranges::max(largest));
    return largest;
  }

  [[nodiscard]] const std::vector<Spread>* spreads_of(const ChannelReader& reader) const {
    const auto found = statistics_.inputs.find(graph_[graph_[reader.layer].outputs.front()].name);
    const bool fits = found != statistics_.inputs.end() && found->second.size() == reader.channel_of.size();
    return fits ? &found->second : nullptr;
  }

  // Noise of the readers' results, in relation to the largest weight of each of their rows.
  struct Noise {
    double of_activations = 0;
    double of_weights = 0;
  };

  void add_noise(const ChannelReader& reader, const std::vector<Spread>& inputs, double step,
                 std::vector<Noise>& noise) const {
    const Matrix matrix = matrix_of(graph_[reader.layer]);
    const std::vector<double> largest = largest_of_rows(matrix);
    const double weight_step = 1 / static_cast<double>(scheme_.weights.qmax);
    const bool is_rounded_alone = matrix.rows_per_channel > 0 && !is_per_tensor();
    for (size_t row = 0; row < matrix.rows; ++row) {
      if (largest[row] == 0) continue;
      for (size_t column = 0; column < matrix.columns; ++column) {
        const size_t input = matrix.input_channel(row, column);
        Noise& channel = noise[reader.channel_of[input]];
        const double of_weight = weight_step * weight_step * inputs[input].mean_square();
        for (const float weight : matrix.of_row(row).subspan(column * matrix.taps, matrix.taps)) {
          const double share = weight / largest[row] * step;
          channel.of_activations += share * share;
          if (!is_rounded_alone) channel.of_weights += of_weight;
        }
      }
    }
  }

  // None: there is nothing to gain, or not all readers were observed.
  [[nodiscard]] std::optional<std::vector<double>> factors_of(const ChannelPath& path) const {
    Spread all;
    std::vector<Spread> channels(path.channels);
    for (const ChannelReader& reader : path.readers) {
      const std::vector<Spread>* inputs = spreads_of(reader);
      if (inputs == nullptr) return std::nullopt;
      for (size_t i = 0; i < inputs->size(); ++i) {
        channels[reader.channel_of[i]].add((*inputs)[i]);
        all.add((*inputs)[i]);
      }
    }
    const double step = (all.max - all.min) / static_cast<double>(scheme_.activations.steps());
    std::vector<Noise> noise(path.channels);
    for (const ChannelReader& reader : path.readers) add_noise(reader, *spreads_of(reader), step, noise);
    const std::vector<double> limits = limits_of(path);
    std::vector<double> factors(path.channels, 1);
    for (size_t c = 0; c < path.channels; ++c) {
      double limit = std::min(limits[c], kMaxFactor);
      if (channels[c].max > 0) limit = std::min<double>(limit, all.max / channels[c].max);
      if (channels[c].min < 0) limit = std::min<double>(limit, all.min / channels[c].min);
      // An unused channel; one that is 0 in all samples, which is exact, and may be large in others; or the largest.
      if (noise[c].of_activations == 0 || channels[c].squares == 0 || !(limit > 1)) continue;
      const double wanted = std::sqrt(std::sqrt(noise[c].of_activations / noise[c].of_weights));
      if (wanted > 1) factors[c] = std::min(wanted, limit);
    }
    double before = 0, after = 0;
    for (size_t c = 0; c < path.channels; ++c) {
      const double square = factors[c] * factors[c];
      before += noise[c].of_activations + noise[c].of_weights;
      after += noise[c].of_activations / square + noise[c].of_weights * square;
    }
    return after < kWorthwhile * before ? std::optional(std::move(factors)) : std::nullopt;
  }

  // If all weights of the layer have one scale, no row becomes larger than the largest.
  [[nodiscard]] std::vector<double> limits_of(const ChannelPath& path) const {
    std::vector<double> limits(path.channels, kMaxFactor);
    if (!is_per_tensor()) return limits;
    for (const ir::NodeId layer : path.layers) {
      const Matrix matrix = matrix_of(graph_[layer]);
      const double all = largest_of_rows(matrix).front();
      for (size_t i = 0; i < matrix.weights.size(); ++i) {
        const double magnitude = std::abs(matrix.weights[i]);
        if (magnitude > 0) limits[matrix.row(i)] = std::min(limits[matrix.row(i)], all / magnitude);
      }
    }
    return limits;
  }

  // Multiplies the elements of a constant, of which `each` at a time have the same factor.
  template <typename Factor>
  void multiply(ValueId id, size_t each, Factor factor_of) {
    const auto values = graph_[id].constant->values<float>();
    MutableTensor scaled(DType::kFp32, graph_[id].shape);
    const auto to = scaled.values<float>();
    for (size_t first = 0, part = 0; first < values.size(); first += each, ++part) {
      const double factor = factor_of(part);
      for (size_t i = first; i < first + each; ++i) to[i] = static_cast<float>(values[i] * factor);
    }
    graph_[id].constant = std::move(scaled).freeze();
  }

  void apply(const ChannelPath& path, const std::vector<double>& factors) {
    for (const ir::NodeId id : path.layers) {
      const Node& layer = graph_[id];
      const Matrix made = matrix_of(layer);
      const auto of_row = [&](size_t row) { return factors[row]; };
      multiply(layer.inputs[1], made.columns * made.taps, of_row);
      if (has_bias(layer)) multiply(layer.inputs[2], 1, of_row);
    }
    for (const ChannelReader& reader : path.readers) {
      const Node& node = graph_[reader.layer];
      const Matrix read = matrix_of(node);
      multiply(node.inputs[1], read.taps, [&](size_t part) {
        return 1 / factors[reader.channel_of[read.input_channel(part / read.columns, part % read.columns)]];
      });
    }
  }

  ir::Graph& graph_;
  const ChannelStatistics& statistics_;
  const NodeScheme& scheme_;
};

}  // namespace

void equalize_layers(ir::Graph& graph, const ChannelStatistics& statistics, const NodeScheme& scheme) {
  Equalizer(graph, statistics, scheme).run();
}

}  // namespace carina::quantize
