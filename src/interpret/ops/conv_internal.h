#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "interpret/checks_internal.h"
#include "kernels/convolution.h"

// Declarations shared by the kernels of CONV2D, CONV3D and DEPTHWISE_CONV2D.
namespace carina::interpret {

using kernels::ConvGeometry;
using kernels::tap_position;

// The geometry of CONV2D, CONV3D and DEPTHWISE_CONV2D. Errors: operands, attributes or shapes that are inconsistent.
enum class ConvKind { kConv2d, kConv3d, kDepthwise };
Result<ConvGeometry> conv_geometry(const NodePlan& plan, ConvKind kind);

// Checks inputs 2 to 4 of all convolutions: bias and zero points, their types and shapes.
Result<void> check_conv_operands(const NodePlan& plan, int64_t out_channels);

// Simple kernels for every type and geometry. Integers are exact; an accumulator that overflows is an error.
Result<Kernel> plain_conv(const NodePlan& plan, const ConvGeometry& geometry);

// Makes a kernel that runs an operator. It reads the node's operands and writes its output.
Kernel kernel_of(kernels::Operator op);
// Makes a kernel of an operator of floats, which finds extremes and has packed all weights that it holds.
Kernel kernel_of_floats(kernels::Operator op);

// The operands of a convolution of fp32 with constant weights and bias. Returns nothing for others.
struct ConstantsF32 {
  Tensor weights;
  std::span<const float> bias;
};
std::optional<ConstantsF32> f32_constants(const NodePlan& plan);
// The same for int8 or int4 weights, int8 inputs and 32-bit sums; also the zero points are constants.
std::optional<kernels::ConstantsI8> i8_constants(const NodePlan& plan);
// The epilogue for the tail: RESCALE and CLAMP in that order.
kernels::EpilogueOf epilogue_of(const TailPlan& plan);

// The kernel of a DEPTHWISE_CONV2D of one tap and its tail, for operands that are [outer, channels, inner] before and
// after it. Returns nothing for others.
std::optional<Kernel> scaled_channels(const TailPlan& plan, const kernels::ChannelLayout& layout);

// The kernel of a convolution: a vector kernel if one applies, otherwise the plain one.
Result<Kernel> best_conv(const NodePlan& plan, const ConvGeometry& geometry);

}  // namespace carina::interpret
