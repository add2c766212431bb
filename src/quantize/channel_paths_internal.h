#pragma once

#include <cstddef>
#include <vector>

#include "ir/graph.h"

namespace carina::quantize {

// A convolution or linear layer that reads channels of another layer.
struct ChannelReader {
  ir::NodeId layer;
  std::vector<size_t> channel_of;  // per input channel: the output channel of the other layer
};

// Layers and those that read their output channels, with nothing between them but what keeps positive factors per
// channel: f(s * x) = s * f(x). If an output channel is multiplied by a factor and the readers' weights for it are
// divided by that, the graph computes the same.
//   Example: conv2d -> relu -> slice of every second channel -> linear has one reader, with channels 0, 2, 4, ...
//   Example: maximum(conv2d(x, w), conv2d(x, a * w)), a PReLU, -> conv2d: two layers that take the same factors
struct ChannelPath {
  std::vector<ir::NodeId> layers;
  size_t channels = 0;
  std::vector<ChannelReader> readers;
};

// Whether the node is a convolution, or a linear layer, whose weights and bias are float constants.
bool is_layer(const ir::Graph& graph, const ir::Node& node);
// Whether it has an operand for the bias.
bool has_bias(const ir::Node& layer);
// The axis of the channels in a layer's operand or result of this shape.
size_t channel_axis(const ir::Node& layer, const Shape& shape);
// Whether each output channel of the convolution reads only its own input channel.
bool is_depthwise(const ir::Graph& graph, const ir::Node& node);

// The indices along its axis that a slice takes.
std::vector<size_t> sliced_indices(const ir::Node& slice);

// The paths of all layers whose results reach nothing but layers. No other node reads these layers' weights. In the
// order of the nodes; a layer begins one path at most.
std::vector<ChannelPath> channel_paths(const ir::Graph& graph);

}  // namespace carina::quantize
