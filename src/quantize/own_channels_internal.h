#pragma once

#include <vector>

#include "ir/graph.h"
#include "quantize/channel_statistics_internal.h"

namespace carina::quantize {

// Slices of channels that a layer of their own can compute, and the values that they are slices of: the values to
// look at for divide_layers().
std::vector<ir::ValueId> values_of_channel_slices(const ir::Graph& graph);

// Gives slices of a layer's channels a layer of their own, so that they have ranges of their own.
//   Before: %y = conv2d(%x, %w); %r = relu(%y); %s = slice(%r, channels 0, 4, 8, ...)      and other readers of %r
//   After:  %y_part = conv2d(%x, rows 0, 4, 8, ... of %w); %s = relu(%y_part)
// It is done where nothing reads the other channels, and where the range of the slice is at most half that of the whole
// and it costs nothing (all channels are sliced) or at most half the products of the layer. Ranges that `statistics`
// does not have count as equal. The float graph computes the same values.
void divide_layers(ir::Graph& graph, const ChannelStatistics& statistics);

}  // namespace carina::quantize
