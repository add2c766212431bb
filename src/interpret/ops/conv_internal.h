#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/checked_math.h"
#include "interpret/arena_internal.h"
#include "interpret/checks_internal.h"

// Declarations shared by the kernels of CONV2D, CONV3D and DEPTHWISE_CONV2D.
namespace carina::interpret {

// All convolutions in one form: NDHWC with three spatial axes (depth 1 for the 2D ones).
struct ConvGeometry {
  int64_t batch = 1;
  std::array<int64_t, 3> in{1, 1, 1};  // D, H, W
  std::array<int64_t, 3> out{1, 1, 1};
  std::array<int64_t, 3> kernel{1, 1, 1};
  std::array<int64_t, 3> stride{1, 1, 1};
  std::array<int64_t, 3> dilation{1, 1, 1};
  std::array<int64_t, 3> pad{0, 0, 0};  // before the first element
  int64_t ic = 1;
  int64_t oc = 1;
  int64_t multiplier = 0;  // 0: dense; otherwise depthwise, oc = ic * multiplier
  int64_t bias_count = 1;  // oc, or 1 for all

  [[nodiscard]] int64_t pixels() const { return batch * out[0] * out[1] * out[2]; }
  [[nodiscard]] int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

// The geometry of CONV2D, CONV3D and DEPTHWISE_CONV2D. Errors: operands, attributes or shapes that are inconsistent.
enum class ConvKind { kConv2d, kConv3d, kDepthwise };
Result<ConvGeometry> conv_geometry(const NodePlan& plan, ConvKind kind);

// The input position of a tap for an output position, along one axis. A negative position, or one >= the input's size,
// is padding.
//   Example: stride 2, padding 1, dilation 1: output position 3 and tap 0 give position 3 * 2 - 1 + 0 = 5.
inline int64_t tap_position(const ConvGeometry& g, size_t axis, int64_t out, int64_t k) {
  return out * g.stride[axis] - g.pad[axis] + k * g.dilation[axis];
}

// Checks inputs 2 to 4 of all convolutions: bias and zero points, their types and shapes.
Result<void> check_conv_operands(const NodePlan& plan, int64_t out_channels);

// Simple kernels for every type and geometry. Integers are exact; an accumulator that overflows is an error.
Result<Kernel> plain_conv(const NodePlan& plan, const ConvGeometry& geometry);

// Vector kernels with the tail fused in. They return nothing if they do not apply: other types, operands that are not
// constants, or sums that could overflow (the plain kernel then finds out whether they do).
std::optional<Kernel> dense_i8(const TailPlan& fused, const ConvGeometry& geometry);
std::optional<Kernel> depthwise_i8(const TailPlan& fused, const ConvGeometry& geometry);
std::optional<Kernel> dense_i16(const TailPlan& fused, const ConvGeometry& geometry);
std::optional<Kernel> dense_f32(const TailPlan& fused, const ConvGeometry& geometry);
std::optional<Kernel> depthwise_f32(const TailPlan& fused, const ConvGeometry& geometry);
std::optional<Kernel> winograd_f32(const TailPlan& fused, const ConvGeometry& geometry);
// Returns whether all types are fp32, and weights and bias are constants.
bool has_f32_constants(const NodePlan& plan);
// The bias of each output channel, padded to a multiple of the vector's lanes.
std::vector<float> padded_bias_of(const NodePlan& plan, const ConvGeometry& geometry);

// Makes a kernel of `conv`, which has run(call) and scratch_bytes() of one thread.
template <typename Conv>
Kernel conv_kernel(Conv conv, int threads, size_t packed_bytes) {
  const size_t scratch = static_cast<size_t>(threads) * round_up(conv.scratch_bytes(), kArenaAlignment);
  return {.run = [conv = std::move(conv)](const Call& call) { return conv.run(call); },
          .scratch_bytes = scratch,
          .packed_bytes = packed_bytes};
}
// Makes a kernel of an fp32 `conv`. It computes extremes, and it packs all of its weights.
template <typename Conv>
Kernel conv_f32_kernel(Conv conv, int threads, size_t packed_bytes) {
  Kernel kernel = conv_kernel(std::move(conv), threads, packed_bytes);
  kernel.has_weights = packed_bytes > 0;
  kernel.finds_extremes = true;
  return kernel;
}

// The kernel of a convolution: a vector kernel if one applies, otherwise the plain one.
Result<Kernel> best_conv(const NodePlan& plan, const ConvGeometry& geometry);

// The output position of pixel p.
struct ConvPixel {
  int64_t n;
  std::array<int64_t, 3> at;
};
inline void advance(const ConvGeometry& g, ConvPixel& pixel) {
  for (size_t axis = 3; axis-- > 0;) {
    if (++pixel.at[axis] < g.out[axis]) return;
    pixel.at[axis] = 0;
  }
  ++pixel.n;
}
inline ConvPixel pixel_of(const ConvGeometry& g, int64_t p) {
  return {.n = p / (g.out[0] * g.out[1] * g.out[2]),
          .at = {p / (g.out[1] * g.out[2]) % g.out[0], p / g.out[2] % g.out[1], p % g.out[2]}};
}

// Calls run(offset of the first input element or -1 for padding, number of elements) for the taps of a pixel, in the
// order of the weights [KD,KH,KW,IC]. Neighboring taps that are contiguous in the input are one run.
template <typename Run>
void for_each_run(const ConvGeometry& g, const ConvPixel& pixel, const Run& run) {
  const int64_t w0 = tap_position(g, 2, pixel.at[2], 0);
  const bool whole = g.dilation[2] == 1 && w0 >= 0 && w0 + g.kernel[2] <= g.in[2];
  for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
    const int64_t d = tap_position(g, 0, pixel.at[0], kd);
    for (int64_t kh = 0; kh < g.kernel[1]; ++kh) {
      const int64_t h = tap_position(g, 1, pixel.at[1], kh);
      const bool inside = d >= 0 && d < g.in[0] && h >= 0 && h < g.in[1];
      const int64_t row = ((pixel.n * g.in[0] + d) * g.in[1] + h) * g.in[2];
      if (inside && whole) {
        run((row + w0) * g.ic, g.kernel[2] * g.ic);
        continue;
      }
      for (int64_t kw = 0; kw < g.kernel[2]; ++kw) {
        const int64_t w = w0 + kw * g.dilation[2];
        run(inside && w >= 0 && w < g.in[2] ? (row + w) * g.ic : -1, g.ic);
      }
    }
  }
}

// Returns whether output pixel p depends exactly on input pixel p.
inline bool is_pointwise(const ConvGeometry& g) {
  return g.taps() == 1 && g.in == g.out && g.stride == std::array<int64_t, 3>{1, 1, 1} &&
         g.pad == std::array<int64_t, 3>{0, 0, 0};
}

}  // namespace carina::interpret
