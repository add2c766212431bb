#include "quantize/equalize.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "quantize/sharing.h"

namespace carina::quantize {

namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

constexpr int kSweeps = 3;  // a layer in the middle is equalized with both neighbors

bool is_op(const Node& node, AtenOp op) {
  return node.op == ir::Op(op);
}

bool is_convolution(const Node& node) {
  return is_op(node, AtenOp::conv1d_default) || is_op(node, AtenOp::conv2d_default);
}

// Weights by channel: of the result (rows), or of the input (columns).
struct Channels {
  ValueId weight;
  size_t count = 0;
  size_t rows = 0;     // of the matrix formed by the weights
  size_t columns = 0;  // input channels, each with `inner` elements
  size_t inner = 0;
  bool by_row = true;

  // Returns the channel of an element.
  [[nodiscard]] size_t of(size_t element) const {
    const size_t row = element / (columns * inner), column = element / inner % columns;
    return by_row ? row * count / rows : column;
  }
};

class Equalizer {
 public:
  explicit Equalizer(ir::Graph& graph) : graph_(graph), users_(ir::users(graph)), is_output_(ir::is_output(graph)) {}

  void run() {
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      for (const Node& node : graph_.nodes) {
        if (const auto next = reader_of(node)) equalize(node, *next);
      }
    }
  }

 private:
  // The only reader of the value, or nullptr.
  [[nodiscard]] const Node* only_reader(ValueId id) const {
    const auto& users = users_[id.index()];
    return users.size() == 1 && !is_output_[id.index()] ? &graph_[users.front()] : nullptr;
  }

  // Whether f(s * x) = s * f(x) for a positive factor per channel.
  static bool keeps_factors(const Node& node) {
    return is_op(node, AtenOp::relu_default) || is_op(node, AtenOp::leaky_relu_default) ||
           is_op(node, AtenOp::rrelu_default) || is_op(node, AtenOp::max_pool2d_default) ||
           is_op(node, AtenOp::avg_pool2d_default);
  }

  // The result of max(x, a * x), a PReLU, if nothing else reads x. The product is a depthwise 1x1 convolution.
  [[nodiscard]] std::optional<ValueId> after_prelu(ValueId x) const {
    const auto& readers = users_[x.index()];
    if (readers.size() != 2 || is_output_[x.index()]) return std::nullopt;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const Node &product = graph_[readers[i]], &extremum = graph_[readers[1 - i]];
      const bool scales = is_op(product, AtenOp::conv2d_default) && product.inputs[0] == x &&
                          (product.inputs.size() < 3 || !product.inputs[2].valid()) &&
                          graph_[product.inputs[1]].shape == Shape{graph_[x].shape[1], 1, 1, 1};
      const bool takes_both = scales && only_reader(product.outputs[0]) == &extremum &&
                              (is_op(extremum, AtenOp::maximum_default) || is_op(extremum, AtenOp::minimum_default));
      if (takes_both) return extremum.outputs[0];
    }
    return std::nullopt;
  }

  // The next layer, directly or after what keeps factors per channel.
  [[nodiscard]] std::optional<NodeId> reader_of(const Node& node) const {
    if (!is_layer(node)) return std::nullopt;
    ValueId result = node.outputs.front();
    const Node* reader = only_reader(result);
    for (;;) {
      const auto after = is_convolution(node) ? after_prelu(result) : std::nullopt;
      if (!after && (reader == nullptr || !keeps_factors(*reader))) break;
      result = after ? *after : reader->outputs.front();
      reader = only_reader(result);
    }
    const bool follows = reader != nullptr && is_layer(*reader) && reader->inputs.front() == result &&
                         is_convolution(*reader) == is_convolution(node);
    return follows ? std::optional(users_[result.index()].front()) : std::nullopt;
  }

  [[nodiscard]] bool is_layer(const Node& node) const {
    if (!is_convolution(node) && !is_op(node, AtenOp::linear_default)) return false;
    const ir::Value& weight = graph_[node.inputs[1]];
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2].valid();
    return is_own(node.inputs[1]) && weight.shape.rank() >= 2 && (!has_bias || is_own(node.inputs[2]));
  }

  [[nodiscard]] bool is_own(ValueId id) const {
    const ir::Value& value = graph_[id];
    return value.constant && value.constant->dtype == DType::kFp32 && !value.quantization &&
           users_[id.index()].size() == 1 && !is_output_[id.index()];
  }

  [[nodiscard]] Channels rows_of(const Node& node) const {
    const Shape& shape = graph_[node.inputs[1]].shape;
    Channels channels{.weight = node.inputs[1], .rows = static_cast<size_t>(shape[0]), .inner = 1};
    channels.count = channels.rows;
    channels.columns = static_cast<size_t>(shape[1]);
    for (size_t i = 2; i < shape.rank(); ++i) channels.inner *= static_cast<size_t>(shape[i]);
    return channels;
  }

  // The columns of a layer's weights. For a depthwise convolution they are rows, as many per channel as its multiplier.
  // No value for other groups.
  [[nodiscard]] std::optional<Channels> columns_of(const Node& node, size_t count) const {
    Channels channels = rows_of(node);
    channels.count = count;
    channels.by_row = channels.columns == 1 && count > 1;
    if (!channels.by_row && channels.columns != count) return std::nullopt;
    if (channels.by_row && channels.rows % count != 0) return std::nullopt;
    return channels;
  }

  [[nodiscard]] std::vector<float> magnitudes(const Channels& channels) const {
    std::vector<float> max(channels.count, 0);
    const auto values = graph_[channels.weight].constant->values<float>();
    for (size_t i = 0; i < values.size(); ++i) max[channels.of(i)] = std::max(max[channels.of(i)], std::abs(values[i]));
    return max;
  }

  template <typename Channel>
  void multiply(ValueId id, const std::vector<float>& factors, Channel channel_of) {
    const auto values = graph_[id].constant->values<float>();
    MutableTensor scaled(DType::kFp32, graph_[id].shape);
    const auto to = scaled.values<float>();
    for (size_t i = 0; i < values.size(); ++i) to[i] = values[i] * factors[channel_of(i)];
    graph_[id].constant = std::move(scaled).freeze();
  }

  void equalize(const Node& node, NodeId next) {
    const Channels made = rows_of(node);
    const auto read = columns_of(graph_[next], made.count);
    if (!read) return;
    const std::vector<float> first = magnitudes(made), second = magnitudes(*read);
    std::vector<float> down(made.count, 1), up(made.count, 1);
    for (size_t c = 0; c < made.count; ++c) {
      const float ratio = std::sqrt(first[c] / second[c]);
      if (!std::isnormal(ratio) || !std::isnormal(1 / ratio)) continue;  // a channel of zeros
      down[c] = 1 / ratio;
      up[c] = ratio;
    }
    multiply(made.weight, down, [&](size_t i) { return made.of(i); });
    if (node.inputs.size() > 2 && node.inputs[2].valid()) multiply(node.inputs[2], down, [](size_t i) { return i; });
    multiply(read->weight, up, [&](size_t i) { return read->of(i); });
  }

  ir::Graph& graph_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> is_output_;
};

}  // namespace

void equalize_layers(ir::Graph& graph) {
  Equalizer(graph).run();
}

}  // namespace carina::quantize
