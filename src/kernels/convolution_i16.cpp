// Convolutions of int16 values with constant int8 weights.

#include <algorithm>
#include <cmath>

#include "base/checked_math.h"
#include "kernels/convolution_internal.h"
#include "kernels/micro/microkernels.h"

namespace carina::kernels {

namespace {

constexpr int64_t kTogether = 8;      // pixels
constexpr int64_t kGrainI16 = 16384;  // products that are worth a thread

struct DenseWords {
  ConvGeometry g;
  int64_t k;
  std::vector<int16_t> panels;
  std::vector<int64_t> bias;

  [[nodiscard]] int64_t row() const { return k + k % 2; }
  [[nodiscard]] int64_t channels() const { return padded(g.oc); }
  // The sums of kTogether pixels, and their windows.
  [[nodiscard]] size_t sums_bytes() const { return static_cast<size_t>(kTogether * channels()) * sizeof(int64_t); }
  [[nodiscard]] size_t scratch_bytes() const {
    return sums_bytes() + static_cast<size_t>(kTogether * row()) * sizeof(int16_t);
  }

  // Copies the inputs of a pixel's window. Padding is 0.
  void gather(const int16_t* in, int64_t p, int16_t* to) const {
    for_each_run(g, pixel_of(g, p), [&](int64_t offset, int64_t count) {
      to = offset < 0 ? std::fill_n(to, count, int16_t{0}) : std::copy_n(in + offset, count, to);
    });
  }

  void run(const Execution& call) const {
    const auto* in = call.input<int16_t>(0);
    auto* out = call.output<int64_t>();
    split_slots(
        call.workers, g.pixels(), 1 + kGrainI16 / (k * g.oc + 1), [&](int64_t slot, int64_t begin, int64_t end) {
          auto* const scratch = call.scratch + static_cast<size_t>(slot) * round_up(scratch_bytes(), kScratchAlignment);
          auto* const sums = reinterpret_cast<int64_t*>(scratch);
          auto* const x = reinterpret_cast<int16_t*>(scratch + sums_bytes());
          for (int64_t p = begin; p < end; p += kTogether) {
            const int64_t rows = std::min(kTogether, end - p);
            for (int64_t r = 0; r < rows; ++r) {
              gather(in, p + r, x + r * row());
              if (row() != k) x[r * row() + k] = 0;
            }
            multiply_i16({.a = x,
                          .row_stride = row(),
                          .rows = rows,
                          .k = k,
                          .panels = panels.data(),
                          .panel_count = channels() / kLanes,
                          .c = sums,
                          .c_stride = channels()});
            for (int64_t r = 0; r < rows; ++r) {
              for (int64_t c = 0; c < g.oc; ++c)
                out[(p + r) * g.oc + c] =
                    sums[r * channels() + c] + bias[g.bias_count == 1 ? 0 : static_cast<size_t>(c)];
            }
          }
        });
  }
};

struct DepthwiseWords {
  ConvGeometry g;
  std::vector<int16_t> weights;  // [taps][channels]
  std::vector<int16_t> padding;  // one pixel of zeros
  std::vector<int64_t> bias;     // per channel

  [[nodiscard]] size_t scratch_bytes() const { return static_cast<size_t>(g.taps()) * sizeof(const int16_t*); }

  void run(const Execution& call) const {
    const auto* in = call.input<int16_t>(0);
    auto* out = call.output<int64_t>();
    split_slots(
        call.workers, g.pixels(), 1 + kGrainI16 / (g.taps() * g.oc + 1), [&](int64_t slot, int64_t begin, int64_t end) {
          auto** x = reinterpret_cast<const int16_t**>(call.scratch + static_cast<size_t>(slot) *
                                                                          round_up(scratch_bytes(), kScratchAlignment));
          ConvPixel pixel = pixel_of(g, begin);
          for (int64_t p = begin; p < end; ++p, advance(g, pixel)) {
            write_taps(g, pixel, in, g.ic, padding.data(), x);
            kernels::depthwise_i16({.x = x,
                                    .weights = weights.data(),
                                    .taps = g.taps(),
                                    .channels = g.oc,
                                    .bias = bias.data(),
                                    .out = out + p * g.oc});
          }
        });
  }
};

// Together with any bias of these, sums fit 48 bits.
bool has_small_bias(const ConvI16& conv) {
  constexpr int64_t kMaxBias = int64_t{1} << 46;
  return std::ranges::all_of(conv.bias, [](int64_t value) { return std::abs(value) <= kMaxBias; });
}

}  // namespace

std::optional<Operator> depthwise_i16(const ConvI16& conv) {
  const ConvGeometry& g = conv.geometry;
  if (g.multiplier != 1 || g.oc == 0 || g.taps() > kMaxTapsI16 || !has_small_bias(conv)) return std::nullopt;
  DepthwiseWords depthwise{.g = g,
                           .weights = {conv.weights.begin(), conv.weights.end()},
                           .padding = std::vector<int16_t>(static_cast<size_t>(g.ic)),
                           .bias = {conv.bias.begin(), conv.bias.end()}};
  if (g.bias_count == 1) depthwise.bias.assign(static_cast<size_t>(g.oc), conv.bias.front());
  const size_t packed = depthwise.weights.size() * sizeof(int16_t);
  return operator_of(std::move(depthwise), conv.threads, packed);
}

std::optional<Operator> dense_i16(const ConvI16& conv) {
  const ConvGeometry& g = conv.geometry;
  const int64_t k = g.taps() * g.ic;
  constexpr int64_t kMaxTerms = int64_t{1} << 22;
  if (g.multiplier != 0 || g.oc == 0 || g.ic == 0 || k > kMaxTerms || !has_small_bias(conv)) return std::nullopt;
  DenseWords dense{
      .g = g, .k = k, .panels = pack_matrix_i16(conv.weights, k, g.oc), .bias = {conv.bias.begin(), conv.bias.end()}};
  const size_t packed = dense.panels.size() * sizeof(int16_t);
  return operator_of(std::move(dense), conv.threads, packed);
}

}  // namespace carina::kernels
