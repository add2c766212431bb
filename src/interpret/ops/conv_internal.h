#pragma once

#include <array>
#include <cstdint>

#include "interpret/checks_internal.h"

namespace carina::interpret {

// The convolutions seen as one: three spatial axes (depth 1 for the 2D ones), NDHWC.
struct ConvGeometry {
  int64_t batch = 1;
  std::array<int64_t, 3> in{1, 1, 1};        // D, H, W
  std::array<int64_t, 3> out{1, 1, 1};
  std::array<int64_t, 3> kernel{1, 1, 1};
  std::array<int64_t, 3> stride{1, 1, 1};
  std::array<int64_t, 3> dilation{1, 1, 1};
  std::array<int64_t, 3> pad{0, 0, 0};       // before the first element
  int64_t ic = 1;
  int64_t oc = 1;
  int64_t multiplier = 0;                    // 0: dense; else depthwise, oc = ic * multiplier
  int64_t bias_count = 1;                    // oc, or 1 for all

  [[nodiscard]] int64_t pixels() const { return batch * out[0] * out[1] * out[2]; }
  [[nodiscard]] int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

// Geometry of CONV2D, CONV3D and DEPTHWISE_CONV2D. Errors: operands, attributes or shapes that do not fit together.
enum class ConvKind { kConv2d, kConv3d, kDepthwise };
Result<ConvGeometry> conv_geometry(const NodePlan& plan, ConvKind kind);

// Where a tap reads for an output position along one axis; negative or >= the input's size: padding.
inline int64_t tap_position(const ConvGeometry& g, size_t axis, int64_t out, int64_t k) {
  return out * g.stride[axis] - g.pad[axis] + k * g.dilation[axis];
}

// Zero points, bias type and their shapes: inputs 2 to 4 of all convolutions.
Result<void> check_conv_operands(const NodePlan& plan, int64_t out_channels);

// Straightforward kernels for every type and geometry. Integers: exact, an accumulator that does not fit is an error.
Result<Kernel> plain_conv(const NodePlan& plan, const ConvGeometry& geometry);

// The kernel of a convolution: the fast one where there is one, else the plain one.
Result<Kernel> best_conv(const NodePlan& plan, const ConvGeometry& geometry);

}  // namespace carina::interpret
