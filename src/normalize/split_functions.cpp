#include "normalize/split_functions.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"

namespace carina::normalize {

namespace {

using ir::Node;
using ir::ValueId;

// How the smaller of a value and a limit follows from its operands.
enum class Step {
  kNone,    // from the value
  kSquare,  // from the operand
  kFollow,  // from the smaller of each operand and its own limit: the result is not larger than the value
};

bool is_positive(const ir::Value& value) {
  return value.constant && value.dtype == DType::kFp32 &&
         std::ranges::all_of(value.constant->values<float>(), [](float x) { return x >= 0 && std::isfinite(x); });
}

bool is_zero(const ir::Value& value) {
  return is_positive(value) && std::ranges::all_of(value.constant->values<float>(), [](float x) { return x == 0; });
}

// A convolution or product with one operand, positive weights and no bias.
template <typename Values>
bool is_positive_layer(const Values& values, const Node& node) {
  if (values[node.inputs[0]].constant || node.inputs.size() < 2) return false;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (id.valid() && !(i == 1 ? is_positive(values[id]) : is_zero(values[id]))) return false;
  }
  return true;
}

template <typename Values>
Step step_of(const Values& values, const Node& node) {
  const auto is_fp32 = [&](ValueId id) { return !id.valid() || values[id].dtype == DType::kFp32; };
  if (!node.op.is_aten() || node.outputs.size() != 1 || !std::ranges::all_of(node.inputs, is_fp32)) return Step::kNone;
  const auto is_constant = [&](size_t i) { return is_positive(values[node.inputs[i]]); };
  const auto is_computed = [&](size_t i) { return !values[node.inputs[i]].constant; };
  const AtenTraits& traits = traits_of(node.op.aten());
  if (traits.data != AtenData::kComputed) {
    const bool fills = node.attributes.find("value") != nullptr && node.attributes.number("value") != 0;
    return node.inputs.size() == 1 && is_computed(0) && !fills ? Step::kFollow : Step::kNone;
  }
  switch (node.op.aten()) {
    case AtenOp::mul_Tensor:
      if (node.inputs[0] == node.inputs[1]) return Step::kSquare;
      return is_computed(0) && is_constant(1) ? Step::kFollow : Step::kNone;
    case AtenOp::add_Tensor:
      if (node.attributes.number("alpha") != 1) return Step::kNone;
      [[fallthrough]];
    case AtenOp::maximum_default:
      return is_computed(0) && (is_computed(1) || is_constant(1)) ? Step::kFollow : Step::kNone;
    case AtenOp::clamp_default:
      return !node.attributes.is_none("min") && node.attributes.number("min") >= 0 ? Step::kFollow : Step::kNone;
    case AtenOp::mean_dim:
    case AtenOp::sum_dim_IntList:
      return Step::kFollow;
    default:
      break;
  }
  const bool is_layer = traits.family == AtenFamily::kConvolution || traits.family == AtenFamily::kProduct;
  return is_layer && is_positive_layer(values, node) ? Step::kFollow : Step::kNone;
}

// Emits the parts of one function.
class Parts {
 public:
  Parts(Rewriter& in, const std::vector<ir::NodeId>& producers, const std::map<ValueId, Extent>& extents)
      : in_(in), producers_(producers), extents_(extents) {}

  // f(min(x, end)), computed as f(factor * min(x, end)) where the end is so small that a scale of 16 bits could not
  // divide it.
  ValueId part(const Node& function, double end_of_range) {
    constexpr double kSmallestEnd = 1.0 / 128;  // scales of 16 bits are 2^-24 or larger
    const ValueId x = function.inputs[0];
    scale_ = end_of_range;
    factor_ = 1;
    const bool is_scalable = function.op != ir::Op(AtenOp::log1p_default);  // which is no steeper than 1 near 0
    while (is_scalable && factor_ * scale_ * extents_.at(x).max < kSmallestEnd) factor_ *= 4;
    small_.clear();
    const ValueId y = result_of(function, small(x));
    return factor_ == 1 ? y : without_factor(function, y);
  }
  ValueId result_of(const Node& function, ValueId x) {
    return in_.make(function.op.aten(), {x}, function.attributes, in_.shape(x));
  }

 private:
  // f(x) from f(factor * x)
  ValueId without_factor(const Node& function, ValueId y) {
    switch (function.op.aten()) {
      case AtenOp::sqrt_default:
        return product(y, 1 / std::sqrt(factor_));
      case AtenOp::rsqrt_default:
        return product(y, std::sqrt(factor_));
      case AtenOp::reciprocal_default:
        return product(y, factor_);
      case AtenOp::pow_Tensor_Scalar:
        return product(y, std::pow(factor_, -function.attributes.number("exponent")));
      case AtenOp::log_default:
        return sum(y, -std::log(factor_));
      case AtenOp::log2_default:
        return sum(y, -std::log2(factor_));
      case AtenOp::log10_default:
        return sum(y, -std::log10(factor_));
      default:
        CARINA_CHECK(false, "{} is not split", function.op.name());
    }
  }

  // The smaller of the value and the end of the part, times the factor.
  ValueId small(ValueId id) {
    if (const auto known = small_.find(id); known != small_.end()) return known->second;
    return small_[id] = limited(id);
  }

  ValueId limited(ValueId id) {
    const ir::NodeId producer = producers_[id.index()];
    const Node* node = producer.valid() ? &in_.old_node(producer) : nullptr;
    const Step step = node == nullptr ? Step::kNone : step_of(in_, *node);
    const auto is_negative = [&](ValueId operand) {
      return operand.valid() && !in_[operand].constant && extents_.at(operand).min < 0;
    };
    // What is scaled up is limited first: a RESCALE takes no numbers whose results exceed 32 bits.
    const double end = scale_ * extents_.at(id).max;
    // A product, if only with 1, has a scale of its own.
    if (step == Step::kNone || (step == Step::kFollow && std::ranges::any_of(node->inputs, is_negative)))
      return product(at_most(id, end), factor_);
    if (step == Step::kSquare) {
      const ValueId root = between(node->inputs[0], -std::sqrt(end), std::sqrt(end));
      const ValueId scaled = factor_ == 1 ? root : product(root, std::sqrt(factor_));
      return again(*node, {scaled, scaled});
    }
    std::vector<ValueId> operands = node->inputs;
    operands[0] = small(operands[0]);
    const bool is_sum = node->op == ir::Op(AtenOp::add_Tensor) || node->op == ir::Op(AtenOp::maximum_default);
    if (is_sum) operands[1] = in_[operands[1]].constant ? constant(operands[1]) : small(operands[1]);
    if (node->op == ir::Op(AtenOp::clamp_default)) {
      const double min = factor_ * std::min(node->attributes.number("min"), end);
      return between(operands[0], min, factor_ * end);
    }
    return at_most(again(*node, std::move(operands)), factor_ * end);
  }

  // A constant summand, times the factor.
  ValueId constant(ValueId id) {
    const Tensor& given = *in_[id].constant;
    std::vector<float> numbers;
    for (const float x : given.values<float>()) numbers.push_back(static_cast<float>(factor_ * x));
    return in_.constant(in_[id].name + "_times",
                        Tensor::of<float>(DType::kFp32, given.shape, std::span<const float>(numbers)));
  }

  ValueId again(const Node& node, std::vector<ValueId> operands) {
    return in_.make(node.op.aten(), std::move(operands), node.attributes, in_.shape(node.outputs[0]));
  }
  ValueId product(ValueId x, double number) {
    return in_.make(AtenOp::mul_Tensor, {x, in_.scalar(number, DType::kFp32)}, {}, in_.shape(x));
  }
  ValueId sum(ValueId x, double number) {
    return in_.make(AtenOp::add_Tensor, {x, in_.scalar(number, DType::kFp32)}, no_alpha(), in_.shape(x));
  }
  ValueId between(ValueId x, double min, double max) {
    return in_.make(AtenOp::clamp_default, {x}, {{"min", min}, {"max", max}}, in_.shape(x));
  }
  ValueId at_most(ValueId x, double max) {
    return in_.make(AtenOp::clamp_default, {x}, {{"min", std::monostate()}, {"max", max}}, in_.shape(x));
  }

  Rewriter& in_;
  const std::vector<ir::NodeId>& producers_;
  const std::map<ValueId, Extent>& extents_;
  double scale_ = 1;  // the end of the part that is being emitted, in relation to the whole range
  double factor_ = 1;
  std::map<ValueId, ValueId> small_;  // of this part
};

}  // namespace

std::vector<ValueId> values_behind(const ir::Graph& aten, ir::NodeId function) {
  const std::vector<ir::NodeId> producers = ir::producers(aten);
  std::vector<ValueId> values{aten[function].inputs[0]};
  std::set<ValueId> found(values.begin(), values.end());
  for (size_t i = 0; i < values.size(); ++i) {
    const ir::NodeId producer = producers[values[i].index()];
    if (!producer.valid()) continue;
    const Step step = step_of(aten, aten[producer]);
    if (step == Step::kNone) continue;
    for (const ValueId operand : aten[producer].inputs) {
      if (step == Step::kFollow && operand.valid() && !aten[operand].constant && found.insert(operand).second)
        values.push_back(operand);
    }
  }
  return {found.begin(), found.end()};
}

Result<void> split_functions(ir::Graph& aten, std::span<const SplitFunction> functions,
                             const std::map<ValueId, Extent>& extents) {
  const std::vector<ir::NodeId> producers = ir::producers(aten);
  Rewriter in(aten, std::span<const RewriteRow>());
  return in.run_each([&](const Node& node, ir::NodeId id) -> Result<bool> {
    const auto function = std::ranges::find(functions, id, &SplitFunction::node);
    if (function == functions.end()) return false;
    Parts parts(in, producers, extents);
    const AtenOp best_of = function->rises ? AtenOp::maximum_default : AtenOp::minimum_default;
    ValueId best = parts.result_of(node, node.inputs[0]);
    for (int k = 1; k + 1 < function->parts; ++k) {
      const ValueId next = parts.part(node, std::pow(function->part, k));
      best = in.make(best_of, {best, next}, {}, in.shape(next));
    }
    const ValueId last = parts.part(node, std::pow(function->part, function->parts - 1));
    return rewritten(in.define(node.outputs[0], best_of, {best, last}, {}));
  });
}

}  // namespace carina::normalize
