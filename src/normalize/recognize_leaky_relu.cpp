// What:   activations with one slope below zero, written with other operators, become leaky_relu, or prelu where there
//         is a slope per channel.
// Before: %n = aten.neg(%x); %m = aten.relu(%n); %s = aten.mul.Tensor(%m, %slope)
//         %p = aten.relu(%x); %y = aten.sub.Tensor(%p, %s)
// After:  %y = aten.leaky_relu.default(%x, negative_slope=...)
// Needs:  one-spelling (canonicalize); constant float slopes. Values that carry quantization parameters stay as they
//         are written.
// Legal:  relu(x) - s * relu(-x) = relu(x) + s * min(x, 0) = x > 0 ? x : s * x; and max(x, s * x) is the same if s <= 1
//         (s = 0 is left out: max(x, 0 * x) of an infinity is not a number).

#include <algorithm>
#include <optional>

#include "normalize/axes.h"
#include "normalize/passes_internal.h"
#include "normalize/rewriter.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

// A value as slopes * min(x, 0). The slopes are a constant of one element or one per channel.
struct Below {
  ValueId x;
  double factor = 1;    // of all slopes
  ValueId slopes = {};  // invalid: one slope of 1
};

class Recognizer {
 public:
  explicit Recognizer(ir::Graph& graph)
      : old_producers_(ir::producers(graph)), in_(graph, std::span<const RewriteRow>()) {}

  Result<void> run() {
    return in_.run_each([&](const Node& node, ir::NodeId) -> Result<bool> { return rewrite(node); });
  }

 private:
  // The node that makes an unquantized float value, if it is of this operator.
  [[nodiscard]] const Node* producer(ValueId id, AtenOp op) const {
    if (id.index() >= old_producers_.size() || !old_producers_[id.index()].valid() || is_quantized(id)) return nullptr;
    const Node& node = in_.old_node(old_producers_[id.index()]);
    return node.op == ir::Op(op) ? &node : nullptr;
  }

  [[nodiscard]] bool is_quantized(ValueId id) const { return in_[id].quantization.has_value(); }

  [[nodiscard]] bool is_float_constant(ValueId id) const {
    return in_[id].constant && in_[id].dtype == DType::kFp32 && !is_quantized(id) &&
           in_[id].constant->dtype == DType::kFp32;
  }

  [[nodiscard]] std::optional<double> one_number(ValueId id) const {
    if (!is_float_constant(id) || in_.shape(id).elements() != 1) return std::nullopt;
    return in_[id].constant->values<float>()[0];
  }

  // The constant factor of a product, and its other operand.
  struct Product {
    ValueId of;
    ValueId constant;
  };
  [[nodiscard]] std::optional<Product> product(ValueId id) const {
    const Node* node = producer(id, AtenOp::mul_Tensor);
    if (node == nullptr) return std::nullopt;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (is_float_constant(node->inputs[i]) && !is_float_constant(node->inputs[1 - i]))
        return Product{.of = node->inputs[1 - i], .constant = node->inputs[i]};
    }
    return std::nullopt;
  }

  // -x, as neg or as a product.
  [[nodiscard]] std::optional<ValueId> negated(ValueId id) const {
    if (const Node* node = producer(id, AtenOp::neg_default)) return node->inputs[0];
    const auto times = product(id);
    return times && one_number(times->constant) == -1 ? std::optional(times->of) : std::nullopt;
  }

  [[nodiscard]] bool is_min_with_zero(const Node& clamp) const {
    const ir::Attributes& limits = clamp.attributes;
    return limits.is_none("min") && !limits.is_none("max") && limits.number("max") == 0;
  }

  [[nodiscard]] std::optional<Below> below_zero(ValueId id) const {
    if (const Node* relu = producer(id, AtenOp::relu_default)) {
      const auto x = negated(relu->inputs[0]);
      return x ? std::optional(Below{.x = *x, .factor = -1}) : std::nullopt;
    }
    if (const Node* clamp = producer(id, AtenOp::clamp_default); clamp != nullptr && is_min_with_zero(*clamp))
      return Below{.x = clamp->inputs[0]};
    if (const auto magnitude = difference_to_magnitude(id)) return Below{.x = *magnitude, .factor = 2};
    if (const Node* neg = producer(id, AtenOp::neg_default)) return scaled(below_zero(neg->inputs[0]), -1);
    const auto times = product(id);
    if (!times) return std::nullopt;
    auto below = below_zero(times->of);
    if (const auto number = one_number(times->constant)) return scaled(below, *number);
    if (!below || below->slopes.valid()) return std::nullopt;
    below->slopes = times->constant;
    return below;
  }

  // x - |x| = 2 * min(x, 0)
  [[nodiscard]] std::optional<ValueId> difference_to_magnitude(ValueId id) const {
    const Node* sub = producer(id, AtenOp::sub_Tensor);
    if (sub == nullptr || sub->attributes.number("alpha") != 1) return std::nullopt;
    const Node* abs = producer(sub->inputs[1], AtenOp::abs_default);
    return abs != nullptr && abs->inputs[0] == sub->inputs[0] ? std::optional(sub->inputs[0]) : std::nullopt;
  }

  static std::optional<Below> scaled(std::optional<Below> below, double factor) {
    if (below) below->factor *= factor;
    return below;
  }

  Result<bool> rewrite(const Node& node) {
    if (!node.op.is_aten() || node.outputs.size() != 1 || in_[node.outputs[0]].dtype != DType::kFp32) return false;
    if (std::ranges::any_of(node.inputs, [&](ValueId id) { return id.valid() && is_quantized(id); })) return false;
    switch (node.op.aten()) {
      case AtenOp::add_Tensor:
        return sum(node, 1);
      case AtenOp::sub_Tensor:
        return sum(node, -1);
      case AtenOp::maximum_default:
        return maximum(node);
      default:
        return false;
    }
  }

  // relu(x) + sign * below, in any order if it is a sum.
  Result<bool> sum(const Node& node, double sign) {
    if (node.attributes.number("alpha") != 1) return false;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (i == 1 && sign < 0) break;
      const Node* above = producer(node.inputs[i], AtenOp::relu_default);
      const auto below = above == nullptr ? std::nullopt : scaled(below_zero(node.inputs[1 - i]), sign);
      if (below && below->x == above->inputs[0]) return activation(node, *below);
    }
    return false;
  }

  Result<bool> maximum(const Node& node) {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const auto times = product(node.inputs[1 - i]);
      const auto slope = times ? one_number(times->constant) : std::nullopt;
      if (slope && times->of == node.inputs[i] && *slope <= 1 && *slope != 0)
        return activation(node, {.x = times->of, .factor = *slope});
    }
    return false;
  }

  Result<bool> activation(const Node& node, const Below& below) {
    const Shape shape = in_.shape(below.x);
    if (in_[below.x].constant || shape != in_.shape(node.outputs[0])) return false;
    if (!below.slopes.valid()) {
      return rewritten(
          in_.define(node.outputs[0], AtenOp::leaky_relu_default, {below.x}, {{"negative_slope", below.factor}}));
    }
    const auto slopes = in_[below.slopes].constant->values<float>();
    if (shape.rank() < 2 || !is_per_channel(in_.shape(below.slopes), shape)) return false;
    MutableTensor weight(DType::kFp32, Shape{shape[1]});
    std::ranges::transform(slopes, weight.values<float>().begin(),
                           [&](float slope) { return static_cast<float>(slope * below.factor); });
    const ValueId constant = in_.constant(node.name + "_slopes", std::move(weight).freeze());
    return rewritten(in_.define(node.outputs[0], AtenOp::prelu_default, {below.x, constant}, {}));
  }

  std::vector<ir::NodeId> old_producers_;
  Rewriter in_;
};

}  // namespace

Result<void> recognize_leaky_relu(ir::Graph& graph, const Log&) {
  return Recognizer(graph).run();
}

}  // namespace carina::normalize
