// What:   products and sums with a constant per channel, one after another, become one depthwise 1x1 convolution. On
//         integers it rounds once: scale and offset apply to the accumulator, and each channel's scale is exact.
// Before: %m = aten.mul.Tensor(%x, %scale); %y = aten.add.Tensor(%m, %offset)      %scale: fp32[1,C,1,1]
// After:  %y = aten.conv2d.default(%x, %weight, %bias) {groups = C}                 %weight: fp32[C,1,1,1]
//         or %y = aten.conv2d.default(%in, %weight * scale, %bias * scale + offset), if %x is a convolution of %in that
//         nothing else reads, or a cheap one: its sums are rounded once, not as %x and again as %y.
// Needs:  no-composites (decompose): batch norms without a convolution are such pairs, and so are the slopes of prelu.
// Legal:  scale_2 * (scale_1 * x + offset_1) + offset_2 is one scale and one offset per channel. In float the results
//         differ by rounding only.

#include <algorithm>
#include <optional>
#include <set>

#include "normalize/axes.h"
#include "normalize/passes_internal.h"
#include "normalize/rewriter.h"
#include "tensor/elements.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

// Multiply-accumulates of an element: up to this number a second convolution costs about as much as a depthwise one. An
// estimate for 128 multiply-accumulates a cycle.
constexpr int64_t kCheapMacs = 64;

// Per channel: y = scale * x + offset. A chain of nodes that compute it.
struct Chain {
  ValueId x;
  std::vector<double> scale;
  std::vector<double> offset;
  bool multiplies = false;   // by anything
  bool per_channel = false;  // a constant with more than one element
  std::vector<ir::NodeId> nodes;
};

// The constant's element of each channel, if it has one, or one for all.
std::optional<std::vector<double>> by_channel(const ir::Value& constant, const Shape& shape) {
  const auto values = constant.constant->values<float>();
  const auto channels = static_cast<size_t>(shape[1]);
  if (values.size() == 1 && constant.shape.rank() <= shape.rank()) return std::vector<double>(channels, values[0]);
  if (!is_per_channel(constant.shape, shape)) return std::nullopt;
  return std::vector<double>(values.begin(), values.end());
}

class ChannelScaler {
 public:
  explicit ChannelScaler(ir::Graph& graph)
      : producers_(ir::producers(graph)), in_(graph, std::span<const RewriteRow>()) {}

  Result<void> run() {
    return in_.run_each([&](const Node& node, ir::NodeId id) -> Result<bool> { return rewrite(node, id); });
  }

 private:
  [[nodiscard]] bool is_float_constant(ValueId id) const {
    return in_[id].constant && in_[id].constant->dtype == DType::kFp32 && !in_[id].quantization;
  }

  // Images of one sample, [1,C,H,W] or [1,C,L]: convolutions of a batch are one operation per sample.
  [[nodiscard]] bool has_channels(ValueId id) const {
    const Shape shape = in_.shape(id);
    return in_[id].dtype == DType::kFp32 && !in_[id].constant && (shape.rank() == 3 || shape.rank() == 4) &&
           shape[0] == 1 && shape.elements() > 0;
  }

  // Appends the node to the chain, whose result it reads as `from`.
  bool append(Chain& chain, const Node& node, ir::NodeId id, ValueId from) const {
    const bool is_mul = node.op == ir::Op(AtenOp::mul_Tensor), is_sub = node.op == ir::Op(AtenOp::sub_Tensor);
    if (!is_mul && !is_sub && node.op != ir::Op(AtenOp::add_Tensor)) return false;
    const size_t x = node.inputs[0] == from ? 0 : 1;
    const ValueId other = node.inputs[1 - x];
    if (node.inputs[x] != from || !is_float_constant(other) || in_.shape(node.outputs[0]) != in_.shape(from))
      return false;
    const auto constants = by_channel(in_[other], in_.shape(from));
    if (!constants) return false;
    const double alpha = is_mul ? 1 : node.attributes.number("alpha");
    // a + alpha * b and a - alpha * b: the factors of x and of the constant
    const double second = is_sub ? -alpha : alpha;
    const double of_x = x == 0 ? 1 : second, of_constant = x == 0 ? second : 1;
    for (size_t c = 0; c < constants->size(); ++c) {
      chain.scale[c] *= is_mul ? (*constants)[c] : of_x;
      chain.offset[c] =
          is_mul ? chain.offset[c] * (*constants)[c] : chain.offset[c] * of_x + (*constants)[c] * of_constant;
    }
    chain.multiplies = chain.multiplies || is_mul;
    chain.per_channel = chain.per_channel || in_.shape(other).elements() > 1;
    chain.nodes.push_back(id);
    return true;
  }

  // The value between two nodes of a chain has no other reader and no quantization parameters of the user's.
  [[nodiscard]] std::optional<ir::NodeId> next(ValueId result) const {
    const bool is_inner = in_.uses(result) == 1 && in_.readers(result).size() == 1 && !in_[result].quantization;
    return is_inner ? std::optional(in_.readers(result).front()) : std::nullopt;
  }

  [[nodiscard]] std::optional<Chain> chain_from(const Node& node, ir::NodeId id) const {
    const bool first_is_constant = node.inputs.size() > 1 && in_[node.inputs[0]].constant;
    const ValueId x = node.inputs[first_is_constant ? 1 : 0];
    if (!has_channels(x)) return std::nullopt;
    const auto channels = static_cast<size_t>(in_.shape(x)[1]);
    Chain chain{
        .x = x, .scale = std::vector<double>(channels, 1), .offset = std::vector<double>(channels, 0), .nodes = {}};
    if (!append(chain, node, id, x)) return std::nullopt;
    ValueId result = node.outputs[0];
    for (auto reader = next(result); reader; reader = next(result)) {
      const Node& following = in_.old_node(*reader);
      if (!append(chain, following, *reader, result)) break;
      result = following.outputs[0];
    }
    return chain;
  }

  // A sum alone is an addition on the NPU as well. One scale for all channels needs no weights.
  Result<bool> rewrite(const Node& node, ir::NodeId id) {
    if (done_.contains(id)) return true;
    if (!node.op.is_aten() || node.inputs.empty() || !node.inputs[0].valid()) return false;
    const bool is_step = node.op == ir::Op(AtenOp::mul_Tensor) || node.op == ir::Op(AtenOp::add_Tensor) ||
                         node.op == ir::Op(AtenOp::sub_Tensor);
    if (!is_step) return false;
    const auto chain = chain_from(node, id);
    if (!chain || !chain->multiplies || !chain->per_channel) return false;
    const ValueId result = in_.old_node(chain->nodes.back()).outputs[0];
    if (in_[chain->x].quantization || in_[result].quantization) return false;
    const Node* before = convolution_before(*chain);
    // Of [1,C,L], views and transposes to an image and back cost more than one product.
    if (before == nullptr && chain->nodes.size() == 1 && in_.shape(result).rank() == 3) return false;
    done_.insert(chain->nodes.begin(), chain->nodes.end());
    CARINA_CHECKED(before != nullptr ? convolve_before(*before, *chain, result) : convolve(node, *chain, result));
    return true;
  }

  // The convolution that makes x, if the chain may take its place or is to convolve once more.
  [[nodiscard]] const Node* convolution_before(const Chain& chain) const {
    if (chain.x.index() >= producers_.size() || !producers_[chain.x.index()].valid()) return nullptr;
    const Node& node = in_.old_node(producers_[chain.x.index()]);
    if (node.op != ir::Op(AtenOp::conv2d_default) || in_[node.inputs[0]].quantization) return nullptr;
    const ValueId bias = node.inputs.size() > 2 ? node.inputs[2] : ValueId();
    if (!is_float_constant(node.inputs[1]) || (bias.valid() && !is_float_constant(bias))) return nullptr;
    const Shape weight = in_.shape(node.inputs[1]);
    const bool is_cheap = weight.elements() <= kCheapMacs * weight[0];
    return in_.uses(chain.x) == 1 || is_cheap ? &node : nullptr;
  }

  Result<void> convolve_before(const Node& convolution, const Chain& chain, ValueId result) {
    const ValueId weight = convolution.inputs[1];
    const ValueId bias = convolution.inputs.size() > 2 ? convolution.inputs[2] : ValueId();
    const auto weights = in_[weight].constant->values<float>();
    const size_t per_channel = weights.size() / chain.scale.size();
    std::vector<double> scaled(weights.size()), offset = chain.offset;
    for (size_t i = 0; i < weights.size(); ++i) scaled[i] = weights[i] * chain.scale[i / per_channel];
    for (size_t c = 0; bias.valid() && c < offset.size(); ++c)
      offset[c] += in_[bias].constant->values<float>()[c] * chain.scale[c];
    const std::string name = in_[weight].name;
    const ValueId new_weight = constant(name + "_scaled", scaled, in_.shape(weight));
    const bool has_offset = bias.valid() || std::ranges::any_of(offset, [](double v) { return v != 0; });
    const ValueId new_bias =
        has_offset ? constant(name + "_offset", offset, Shape{static_cast<int64_t>(offset.size())}) : ValueId();
    const ValueId x = convolution.inputs[0];
    return in_.define(result, AtenOp::conv2d_default, {x, new_weight, new_bias}, convolution.attributes);
  }

  ValueId constant(const std::string& name, const std::vector<double>& values, const Shape& shape) {
    MutableTensor tensor(DType::kFp32, shape);
    std::ranges::transform(values, tensor.values<float>().begin(), [](double v) { return static_cast<float>(v); });
    return in_.constant(name, std::move(tensor).freeze());
  }

  Result<void> convolve(const Node& node, const Chain& chain, ValueId result) {
    const int64_t channels = in_.shape(chain.x)[1];
    const ValueId weight = constant(node.name + "_scales", chain.scale, Shape{channels, 1, 1, 1});
    const bool has_offset = std::ranges::any_of(chain.offset, [](double v) { return v != 0; });
    const ValueId bias = has_offset ? constant(node.name + "_offsets", chain.offset, Shape{channels}) : ValueId();
    const ir::Attributes window{{"stride", std::vector<int64_t>{1, 1}},
                                {"padding", std::vector<int64_t>{0, 0}},
                                {"dilation", std::vector<int64_t>{1, 1}},
                                {"groups", channels}};
    const Shape shape = in_.shape(chain.x);
    if (shape.rank() == 4) return in_.define(result, AtenOp::conv2d_default, {chain.x, weight, bias}, window);
    const Shape image{shape[0], shape[1], 1, shape[2]};
    const ValueId scaled = in_.make(AtenOp::conv2d_default, {in_.view(chain.x, image), weight, bias}, window, image);
    return in_.view_into(result, scaled);
  }

  std::vector<ir::NodeId> producers_;  // in the graph before the rewrite
  Rewriter in_;
  std::set<ir::NodeId> done_;  // nodes of chains that are convolutions now
};

}  // namespace

Result<void> scale_channels(ir::Graph& graph, const Log&) {
  return ChannelScaler(graph).run();
}

}  // namespace carina::normalize
