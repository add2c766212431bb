#pragma once

#include <string>
#include <vector>

#include "lower/lowering_internal.h"

namespace carina::lower {

// The axis of the weights that counts output channels. It counts all of them, or those of one group; then there are
// `groups` groups.
struct OutputChannels {
  size_t axis = 0;
  int64_t groups = 1;
};

// Weights and bias of a convolution in TOSA's form, and the scales of the accumulators.
struct ConvolutionOperands {
  ir::ValueId weight;  // ATen's layout
  ir::ValueId bias;    // [OC], with the accumulator's type
  int64_t input_zp = 0;
  int64_t weight_zp = 0;
  std::vector<double> scales;  // accumulator to output: per channel, or one for all; empty for floats
};

// Gets the operands of a node whose inputs are data, weights and bias. Constants are converted; computed weights stay
// values.
Result<ConvolutionOperands> convolution_operands(Lowering& in, const ir::Node& node, const OutputChannels& channels);

// Elements [first, first + count) of an axis. A constant is sliced at compile time.
ir::ValueId part_of(Lowering& in, ir::ValueId value, size_t axis, int64_t first, int64_t count);
// Group `group` of `groups`: its part of the weights' axis 0, of the bias and of the scales.
ConvolutionOperands group_of(Lowering& in, const ConvolutionOperands& operands, int64_t group, int64_t groups);
// Permutes the axes of weights and names them "<name>.<suffix>". A constant is permuted at compile time.
ir::ValueId reordered_weight(Lowering& in, ir::ValueId weight, const std::vector<int64_t>& perms,
                             const std::string& name);

// Adds the convolution. `window` has stride, padding and dilation; `weight` is operands.weight in TOSA's layout.
ir::ValueId convolve(Lowering& in, TosaOp op, ir::ValueId image, const ConvolutionOperands& operands,
                     ir::ValueId weight, ir::Attributes window, const Shape& result);
// Scales accumulators to the node's output type.
ir::ValueId scaled(Lowering& in, const ir::Node& node, ir::ValueId accumulator, const std::vector<double>& scales);

// Lowerings that have their own files.
Result<ir::ValueId> convolution_3d(Lowering& in, const ir::Node& node);
Result<ir::ValueId> transposed_convolution(Lowering& in, const ir::Node& node);
Rejected convolution_3d_fits(const Candidate& c);
Rejected transposed_convolution_fits(const Candidate& c);

}  // namespace carina::lower
