#pragma once

#include <string>
#include <vector>

#include "lower/lowering_internal.h"

namespace carina::lower {

// Which axis of the weights counts output channels: all of them, or those of one group, in which case `groups` of them
// follow one another.
struct OutputChannels {
  size_t axis = 0;
  int64_t groups = 1;
};

// A convolution's weights and bias as TOSA takes them, and the way back from the accumulator.
struct ConvolutionOperands {
  ir::ValueId weight;  // ATen's layout
  ir::ValueId bias;    // [OC], of the accumulator's type
  int64_t input_zp = 0;
  int64_t weight_zp = 0;
  std::vector<double> scales;  // from the accumulator to the output, of each channel or of all; none of floats
};

// Of a node whose inputs are data, weights and bias. Constants are converted now; computed weights stay values.
Result<ConvolutionOperands> convolution_operands(Lowering& in, const ir::Node& node, const OutputChannels& channels);

// Elements [first, first + count) of an axis; of a constant at compile time.
ir::ValueId part_of(Lowering& in, ir::ValueId value, size_t axis, int64_t first, int64_t count);
// Group `group` of `groups` of the channels: part of the weights' axis 0, of the bias and the scales.
ConvolutionOperands group_of(Lowering& in, const ConvolutionOperands& operands, int64_t group, int64_t groups);
// Weights with their axes in another order, called "<name>.<suffix>"; of a constant at compile time.
ir::ValueId reordered_weight(Lowering& in, ir::ValueId weight, const std::vector<int64_t>& perms,
                             const std::string& name);

// `window`: the attributes that say how the window moves. `weight`: operands.weight in TOSA's layout.
ir::ValueId convolve(Lowering& in, TosaOp op, ir::ValueId image, const ConvolutionOperands& operands,
                     ir::ValueId weight, ir::Attributes window, const Shape& result);
// From the accumulator to the node's output type.
ir::ValueId scaled(Lowering& in, const ir::Node& node, ir::ValueId accumulator, const std::vector<double>& scales);

// The lowerings that have files of their own.
Result<ir::ValueId> convolution_3d(Lowering& in, const ir::Node& node);
Result<ir::ValueId> transposed_convolution(Lowering& in, const ir::Node& node);
Refused convolution_3d_fits(const Candidate& c);
Refused transposed_convolution_fits(const Candidate& c);

}  // namespace carina::lower
