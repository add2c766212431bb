#include "lower/signs_internal.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "facts/aten_traits.h"

namespace carina::lower {

namespace {

using ir::Node;
using ir::ValueId;

class Signs {
 public:
  explicit Signs(const Lowering& in) : in_(in) {}

  bool never_negative(ValueId id, int depth) {
    constexpr int kMaxDepth = 64;
    if (depth > kMaxDepth) return false;
    if (const auto known = known_.find(id); known != known_.end()) return known->second;
    return known_[id] = is_constant_without_negatives(id) || follows(id, depth + 1);
  }

 private:
  [[nodiscard]] bool is_constant_without_negatives(ValueId id) const {
    const ir::Value& value = in_.value(id);
    return value.constant && (value.quantization || is_float(value.dtype)) &&
           std::ranges::all_of(dequantized_values(value), [](double x) { return x >= 0; });
  }

  // Whether it follows from the operator that computes the value.
  bool follows(ValueId id, int depth) {
    const Node* node = in_.producer(id);
    if (node == nullptr || !node->op.is_aten()) return false;
    const auto operand = [&](size_t i) { return never_negative(node->inputs[i], depth); };
    const auto all = [&] {
      return std::ranges::all_of(node->inputs, [&](ValueId x) { return x.valid() && never_negative(x, depth); });
    };
    const auto attribute = [&](const char* name) { return node->attributes.number(name); };
    if (traits_of(node->op.aten()).data != AtenData::kComputed) {
      const bool fills_less = node->attributes.find("value") != nullptr && attribute("value") < 0;
      return !node->inputs.empty() && !fills_less && all();
    }
    switch (node->op.aten()) {
      case AtenOp::abs_default:
      case AtenOp::relu_default:
      case AtenOp::exp_default:
      case AtenOp::exp2_default:
      case AtenOp::sigmoid_default:
      case AtenOp::hardsigmoid_default:
      case AtenOp::softplus_default:
      case AtenOp::sqrt_default:
      case AtenOp::rsqrt_default:
        return true;
      case AtenOp::clamp_default:
        return (!node->attributes.is_none("min") && attribute("min") >= 0) ||
               ((node->attributes.is_none("max") || attribute("max") >= 0) && operand(0));
      case AtenOp::pow_Tensor_Scalar:
        return std::fmod(attribute("exponent"), 2) == 0 || operand(0);
      case AtenOp::mul_Tensor:
        return node->inputs[0] == node->inputs[1] || all();
      case AtenOp::add_Tensor:
        return attribute("alpha") >= 0 && all();
      case AtenOp::maximum_default:
        return operand(0) || operand(1);
      case AtenOp::minimum_default:
        return all();
      case AtenOp::reciprocal_default:
      case AtenOp::amax_default:
      case AtenOp::amin_default:
      case AtenOp::mean_dim:
      case AtenOp::sum_dim_IntList:
        return operand(0);
      default:
        return false;
    }
  }

  const Lowering& in_;
  std::map<ValueId, bool> known_;
};

}  // namespace

bool is_never_negative(const Lowering& in, ValueId id) {
  return Signs(in).never_negative(id, 0);
}

}  // namespace carina::lower
