// fp32 convolutions with 3x3 windows and stride 1, by Winograd's algorithm. F(4x4, 3x3) uses tiles of 6x6 inputs and
// 4x4 outputs and needs a quarter of the multiplications. F(2x2, 3x3), for small images, uses tiles of 4x4 inputs and
// 2x2 outputs and needs 4/9. The sums differ from those of the direct kernel, so it is an operator of its own, which
// calibration prefers. They are the same on every processor and with any number of threads.
// Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015.

#include <algorithm>
#include <array>

#include "base/checked_math.h"
#include "carina/buffer.h"
#include "kernels/convolution_internal.h"
#include "kernels/gemm_tiling_internal.h"
#include "kernels/micro/microkernels.h"
#include "tensor/finite.h"

namespace carina::kernels {

namespace {

constexpr int64_t kWindow = 9;  // weights per channel
constexpr int64_t kMaxTiles = 60;
constexpr int64_t kBlockFloats = 256 * 1024;  // transformed inputs in the second-level cache

constexpr int64_t kMaxOutputs = 4, kMaxPositions = (kMaxOutputs + 2) * (kMaxOutputs + 2);

struct Winograd {
  ConvGeometry g;
  int64_t outputs;  // outputs of a tile along an axis
  Tensor weights;
  Buffer panels;  // for each position a matrix [ic, oc]; empty: computed in each run
  std::vector<float> bias;
  std::vector<float> zeros;  // one pixel of padding
  BoundsF32 bounds;

  [[nodiscard]] int64_t side() const { return outputs + 2; }
  [[nodiscard]] int64_t positions() const { return side() * side(); }  // elements of a transformed tile
  [[nodiscard]] int64_t tiles_along(size_t axis) const { return ceil_div(g.out[axis], outputs); }
  [[nodiscard]] int64_t tiles() const { return g.batch * tiles_along(1) * tiles_along(2); }
  [[nodiscard]] int64_t block() const {
    constexpr int64_t kTileRows = 6;  // of the vector kernels
    const int64_t max = std::clamp(kBlockFloats / (positions() * g.ic) / kTileRows * kTileRows, kTileRows, kMaxTiles);
    // Blocks have about the same size. A short block would read all weights for few rows.
    return ceil_div(tiles(), ceil_div(tiles(), max));
  }
  [[nodiscard]] size_t input_area() const { return static_cast<size_t>(positions() * block() * g.ic) * sizeof(float); }
  [[nodiscard]] size_t scratch_bytes() const {
    return input_area() + static_cast<size_t>(positions() * block() * kBlockColumns) * sizeof(float);
  }

  struct Tile {
    int64_t n, y, x;  // the tile's first output
  };
  [[nodiscard]] Tile tile(int64_t number) const {
    const int64_t across = tiles_along(2), down = tiles_along(1);
    return {.n = number / (across * down), .y = number / across % down * outputs, .x = number % across * outputs};
  }

  void transform(const float* in, const Tile& tile, float* out, int64_t stride) const {
    std::array<const float*, kMaxPositions> x;
    for (int64_t index = 0; index < positions(); ++index) {
      const int64_t row = tile.y - g.pad[1] + index / side(), column = tile.x - g.pad[2] + index % side();
      const bool inside = row >= 0 && row < g.in[1] && column >= 0 && column < g.in[2];
      x[static_cast<size_t>(index)] = inside ? in + ((tile.n * g.in[1] + row) * g.in[2] + column) * g.ic : zeros.data();
    }
    transform_winograd({.outputs = outputs, .x = x.data(), .channels = g.ic, .out = out, .stride = stride});
  }

  void epilogue(const Execution& call, const float* products, const Tile& tile, int64_t column, int64_t channels,
                int64_t slot) const {
    std::array<float*, kMaxOutputs * kMaxOutputs> out;
    for (int64_t i = 0; i < outputs * outputs; ++i) {
      const int64_t y = tile.y + i / outputs, x = tile.x + i % outputs;
      out[static_cast<size_t>(i)] =
          y < g.out[1] && x < g.out[2] ? call.output<float>() + ((tile.n * g.out[1] + y) * g.out[2] + x) * g.oc + column
                                       : nullptr;
    }
    winograd_epilogue({.outputs = outputs,
                       .products = products,
                       .stride = block() * kBlockColumns,
                       .channels = channels,
                       .bias = bias.data() + column,
                       .low = bounds.low,
                       .high = bounds.high,
                       .out = out.data(),
                       .extremes = call.extremes_of_slot(slot)});
  }

  void run_block(const Execution& call, const float* packed, int64_t first, int64_t slot) const {
    std::byte* scratch = call.scratch + static_cast<size_t>(slot) * round_up(scratch_bytes(), kScratchAlignment);
    auto* inputs = reinterpret_cast<float*>(scratch);
    auto* products = reinterpret_cast<float*>(scratch + input_area());
    const int64_t count = std::min(block(), tiles() - first);
    for (int64_t t = 0; t < count; ++t)
      transform(call.input<float>(0), tile(first + t), inputs + t * g.ic, block() * g.ic);
    for (int64_t column = 0; column < g.oc; column += kBlockColumns) {
      const int64_t channels = std::min(kBlockColumns, g.oc - column);
      const auto panels_of = [&](int64_t index) { return packed + (index % positions() * g.oc + column) * g.ic; };
      for (int64_t index = 0; index < positions(); ++index)
        multiply_f32({.a = inputs + index * block() * g.ic,
                      .row_stride = g.ic,
                      .rows = count,
                      .k = g.ic,
                      .panels = panels_of(index),
                      .panel_count = channels / kLanes,
                      .c = products + index * block() * kBlockColumns,
                      .c_stride = kBlockColumns,
                      .next_panels = panels_of(index + 1),
                      .rows_are_far = true});
      for (int64_t t = 0; t < count; ++t)
        epilogue(call, products + t * kBlockColumns, tile(first + t), column, channels, slot);
    }
  }

  [[nodiscard]] Buffer pack(Workers& workers) const {
    MutableBuffer packed = MutableBuffer::allocate(static_cast<size_t>(positions() * g.ic * g.oc) * sizeof(float));
    auto* to = reinterpret_cast<float*>(packed.bytes().data());
    // Processes one panel at a time. Its transformed weights stay in the second-level cache until they are packed.
    split(workers, g.oc / kLanes, 1, [&](int64_t begin, int64_t end) {
      const int64_t area = kLanes * g.ic;
      std::vector<float> matrices(
          static_cast<size_t>(positions() * area));  // [position][output channel][input channel]
      for (int64_t panel = begin; panel < end; ++panel) {
        for (int64_t o = 0; o < kLanes; ++o)
          transform_winograd_weights({.outputs = outputs,
                                      .weights = weights.values<float>().data() + (panel * kLanes + o) * kWindow * g.ic,
                                      .channels = g.ic,
                                      .out = matrices.data() + o * g.ic,
                                      .stride = area});
        for (int64_t index = 0; index < positions(); ++index)
          pack_matrix_f32(matrices.data() + index * area, 1, g.ic, g.ic, kLanes,
                          to + (index * g.oc + panel * kLanes) * g.ic);
      }
    });
    return std::move(packed).freeze();
  }

  void run(const Execution& call) const {
    const Buffer held = panels.size() == 0 ? pack(call.workers) : panels;
    const auto* packed = reinterpret_cast<const float*>(held.data());
    split_slots(call.workers, ceil_div(tiles(), block()), 1, [&](int64_t slot, int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) run_block(call, packed, b * block(), slot);
    });
  }
};

// Whether the saved multiplications outweigh the transforms of inputs and outputs, and of the weights if they are
// transformed in each run.
constexpr int64_t kManyPixels = 28 * 28;
bool is_worth_it(Packing packing, const ConvGeometry& g) {
  constexpr int64_t kMinChannels = 32, kMinPixels = 14 * 14;
  constexpr double kMinWork = 16e6;  // multiply-adds; smaller convolutions take little time anyway
  const int64_t pixels = g.pixels();
  const double work = static_cast<double>(pixels) * 9 * static_cast<double>(g.ic) * static_cast<double>(g.oc);
  return std::min(g.ic, g.oc) >= kMinChannels && work >= kMinWork &&
         pixels >= (packing == Packing::kOnce ? kMinPixels : kManyPixels);
}

bool fits(const ConvGeometry& g) {
  constexpr std::array<int64_t, 3> kThree{1, 3, 3}, kOnes{1, 1, 1};
  return g.multiplier == 0 && g.kernel == kThree && g.stride == kOnes && g.dilation == kOnes && g.in[0] == 1 &&
         g.ic % kLanes == 0 && g.oc % kLanes == 0;
}

}  // namespace

std::optional<Operator> winograd_f32(const ConvF32& conv) {
  const ConvGeometry& g = conv.geometry;
  if (!fits(g) || !is_worth_it(conv.packing, g) || !are_finite(conv.weights.values<float>())) return std::nullopt;
  // For few tiles, reading the transformed weights (36 positions) costs more than 4/9 of the multiplications.
  Winograd winograd{.g = g,
                    .outputs = g.pixels() < kManyPixels ? 2 : 4,
                    .weights = conv.weights,
                    .panels = {},
                    .bias = padded_bias(conv.bias, g.oc),
                    .zeros = std::vector<float>(static_cast<size_t>(g.ic), 0.0F),
                    .bounds = conv.bounds};
  if (conv.packing == Packing::kOnce) {
    Workers alone(1);
    winograd.panels = winograd.pack(alone);
    winograd.weights = {};
  }
  const size_t packed = winograd.panels.size();
  return operator_of(std::move(winograd), conv.threads, packed);
}

}  // namespace carina::kernels
