#pragma once

#include "ir/graph.h"
#include "quantize/channel_statistics_internal.h"
#include "quantize/scheme.h"

namespace carina::quantize {

// Multiplies output channels of a layer by factors of at least 1, and divides the weights of the layers that read them,
// where that reduces the noise of quantization: a channel with small values then uses more of the steps that the
// largest channel needs. The float graph computes the same values except for rounding. `statistics` are of this graph.
//
// A channel's factor is where two kinds of noise of the readers are equal: that of the activations, whose share the
// factor divides, and that of the rounded weights, whose share it multiplies. It is limited by the tensor's range.
// Depthwise layers that read the channels have a scale of the weights for each, which costs nothing.
// Sources: Nagel et al., Data-Free Quantization Through Weight Equalization and Bias Correction, 2019; Xiao et al.,
// SmoothQuant, 2022.
void equalize_layers(ir::Graph& graph, const ChannelStatistics& statistics, const NodeScheme& scheme);

}  // namespace carina::quantize
