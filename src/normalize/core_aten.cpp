#include "normalize/core_aten.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numbers>
#include <span>

#include "normalize/core_aten_internal.h"

namespace carina::normalize {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

// Adds expressions with the shape of the current node's input.
class CoreMath {
 public:
  CoreMath(Rewriter& in, const Node& node) : in_(in), node_(node), shape_(in.shape(node.inputs[0])) {}

  ValueId apply(AtenOp op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return in_.make(op, std::move(inputs), std::move(attributes), shape_);
  }
  ValueId plus(ValueId x, double y) { return apply(AtenOp::add_Tensor, {x, in_.scalar(y, DType::kFp32)}, no_alpha()); }
  ValueId times(ValueId x, double y) { return apply(AtenOp::mul_Tensor, {x, in_.scalar(y, DType::kFp32)}); }
  ValueId clamp(ValueId x, ir::Attribute min, ir::Attribute max) {
    return apply(AtenOp::clamp_default, {x}, {{"min", std::move(min)}, {"max", std::move(max)}});
  }
  ValueId hardsigmoid(ValueId x) { return times(clamp(plus(x, 3), int64_t{0}, int64_t{6}), 1.0 / 6); }
  // max(x, 0) + log(1 + exp(-|x|)), which cannot overflow.
  ValueId softplus(ValueId x) {
    const ValueId tail =
        apply(AtenOp::log1p_default,
              {apply(AtenOp::exp_default, {apply(AtenOp::neg_default, {apply(AtenOp::abs_default, {x})})})});
    return apply(AtenOp::add_Tensor, {apply(AtenOp::relu_default, {x}), tail}, no_alpha());
  }
  Result<bool> finish(AtenOp op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return rewritten(in_.define(node_.outputs[0], op, std::move(inputs), std::move(attributes)));
  }
  [[nodiscard]] ValueId x() const { return node_.inputs[0]; }

 private:
  Rewriter& in_;
  const Node& node_;
  Shape shape_;
};

Result<bool> silu(Rewriter& in, const Node& node) {
  CoreMath m(in, node);
  const ValueId gate = m.apply(AtenOp::sigmoid_default, {m.x()});
  return m.finish(AtenOp::mul_Tensor, {m.x(), gate});
}

Result<bool> hardsigmoid(Rewriter& in, const Node& node) {
  CoreMath m(in, node);
  const ValueId clamped = m.clamp(m.plus(m.x(), 3), int64_t{0}, int64_t{6});
  return m.finish(AtenOp::mul_Tensor, {clamped, in.scalar(1.0 / 6, DType::kFp32)});
}

Result<bool> hardswish(Rewriter& in, const Node& node) {
  CoreMath m(in, node);
  const ValueId gate = m.hardsigmoid(m.x());
  return m.finish(AtenOp::mul_Tensor, {m.x(), gate});
}

Result<bool> softplus(Rewriter& in, const Node& node) {
  CoreMath m(in, node);
  const double beta = node.attributes.number("beta");
  const ValueId result = m.softplus(m.times(m.x(), beta));
  return m.finish(AtenOp::mul_Tensor, {result, in.scalar(1 / beta, DType::kFp32)});
}

Result<bool> mish(Rewriter& in, const Node& node) {
  CoreMath m(in, node);
  const ValueId gate = m.apply(AtenOp::tanh_default, {m.softplus(m.x())});
  return m.finish(AtenOp::mul_Tensor, {m.x(), gate});
}

Result<bool> log_sigmoid(Rewriter& in, const Node& node) {
  CoreMath m(in, node);
  return m.finish(AtenOp::neg_default, {m.softplus(m.apply(AtenOp::neg_default, {m.x()}))});
}

Result<bool> exp2(Rewriter& in, const Node& node) {
  CoreMath m(in, node);
  return m.finish(AtenOp::exp_default, {m.times(m.x(), std::numbers::ln2)});
}

Result<bool> selu(Rewriter& in, const Node& node) {
  CoreMath m(in, node);
  return m.finish(AtenOp::elu_default, {m.x()},
                  {{"alpha", 1.6732632423543772}, {"scale", 1.0507009873554805}, {"input_scale", int64_t{1}}});
}

Result<bool> celu(Rewriter& in, const Node& node) {
  CoreMath m(in, node);
  const double alpha = node.attributes.number("alpha");
  return m.finish(AtenOp::elu_default, {m.x()}, {{"alpha", alpha}, {"scale", int64_t{1}}, {"input_scale", 1 / alpha}});
}

Result<bool> rrelu(Rewriter& in, const Node& node) {
  CoreMath m(in, node);
  const double slope = (node.attributes.number("lower") + node.attributes.number("upper")) / 2;
  return m.finish(AtenOp::leaky_relu_default, {m.x()}, {{"negative_slope", slope}});
}

Result<bool> softshrink(Rewriter& in, const Node& node) {
  CoreMath m(in, node);
  const double edge = node.attributes.number("lambd");
  return m.finish(AtenOp::sub_Tensor, {m.x(), m.clamp(m.x(), -edge, edge)}, no_alpha());
}

// where(tested > edge, x, otherwise)
Result<bool> above(Rewriter& in, const Node& node, ValueId tested, double edge, double otherwise) {
  ir::Value condition{.name = node.name + "_above",
                      .dtype = DType::kBool,
                      .shape = in.shape(node.inputs[0]),
                      .quantization = {},
                      .constant = {}};
  const ValueId mask = in.make_value(AtenOp::gt_Scalar, {tested}, {{"other", edge}}, std::move(condition));
  return rewritten(
      in.define(node.outputs[0], AtenOp::where_self, {mask, node.inputs[0], in.scalar(otherwise, DType::kFp32)}, {}));
}

Result<bool> threshold(Rewriter& in, const Node& node) {
  return above(in, node, node.inputs[0], node.attributes.number("threshold"), node.attributes.number("value"));
}

Result<bool> hardshrink(Rewriter& in, const Node& node) {
  CoreMath m(in, node);
  return above(in, node, m.apply(AtenOp::abs_default, {m.x()}), node.attributes.number("lambd"), 0);
}

Result<bool> frac(Rewriter& in, const Node& node) {
  CoreMath m(in, node);
  return m.finish(AtenOp::sub_Tensor, {m.x(), m.apply(AtenOp::trunc_default, {m.x()})}, no_alpha());
}

Result<bool> erfc(Rewriter& in, const Node& node) {
  CoreMath m(in, node);
  const ValueId opposite = m.apply(AtenOp::neg_default, {m.apply(AtenOp::erf_default, {m.x()})});
  return m.finish(AtenOp::add_Tensor, {opposite, in.scalar(1, DType::kFp32)}, no_alpha());
}

// Returns the operand that is not NaN, if one is: where(x >= y or y is NaN, x, y).
template <AtenOp kCompare>
Result<bool> but_for_nan(Rewriter& in, const Node& node) {
  const ValueId x = node.inputs[0], y = node.inputs[1];
  const Shape shape = in.shape(node.outputs[0]);
  const auto flags = [&](AtenOp op, std::vector<ValueId> inputs, const Shape& of) {
    ir::Value value{
        .name = node.name + "_flags", .dtype = DType::kBool, .shape = of, .quantization = {}, .constant = {}};
    return in.make_value(op, std::move(inputs), {}, std::move(value));
  };
  const ValueId is_first = flags(kCompare, {x, y}, shape);
  const ValueId is_nan = flags(AtenOp::ne_Tensor, {y, y}, in.shape(y));
  const ValueId condition = flags(AtenOp::logical_or_default, {is_first, is_nan}, shape);
  return rewritten(in.define(node.outputs[0], AtenOp::where_self, {condition, x, y}, {}));
}

// Source: M. Giles, "Approximating the erfinv function", GPU Computing Gems 2, as in lower/ops/float_functions.cpp.
// Polynomials in w = -log(1 - x^2) for w < 5, and in sqrt(w) otherwise.
constexpr std::array kErfinvCenter{2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                   -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
constexpr std::array kErfinvTail{-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                 -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};

Result<bool> erfinv(Rewriter& in, const Node& node) {
  CoreMath m(in, node);
  const auto times = [&](ValueId a, ValueId b) { return m.apply(AtenOp::mul_Tensor, {a, b}); };
  const auto polynomial = [&](ValueId x, std::span<const double> coefficients) {
    ValueId sum = m.plus(m.times(x, 0), coefficients.front());
    for (const double c : coefficients.subspan(1)) sum = m.plus(times(sum, x), c);
    return sum;
  };
  const auto flags = [&](AtenOp op, ValueId of, double limit) {
    ir::Value value{.name = node.name + "_flags",
                    .dtype = DType::kBool,
                    .shape = in.shape(node.inputs[0]),
                    .quantization = {},
                    .constant = {}};
    return in.make_value(op, {of}, {{"other", limit}}, std::move(value));
  };
  const auto chosen = [&](ValueId flag, ValueId yes, ValueId no) {
    ir::Value value{.name = node.name + "_chosen",
                    .dtype = DType::kFp32,
                    .shape = in.shape(node.inputs[0]),
                    .quantization = {},
                    .constant = {}};
    return in.make_value(AtenOp::where_self, {flag, yes, no}, {}, std::move(value));
  };
  const ValueId opposite = m.plus(m.times(m.x(), -1), 1);
  const ValueId w = m.times(m.apply(AtenOp::log_default, {times(opposite, m.plus(m.x(), 1))}), -1);
  const ValueId center = polynomial(m.plus(w, -2.5), kErfinvCenter);
  const ValueId tail = polynomial(m.plus(m.apply(AtenOp::sqrt_default, {w}), -3), kErfinvTail);
  const ValueId factor = chosen(flags(AtenOp::gt_Scalar, w, 5), tail, center);
  const ValueId is_end = flags(AtenOp::ge_Scalar, m.apply(AtenOp::abs_default, {m.x()}), 1);
  const ValueId infinite = m.times(m.x(), std::numeric_limits<double>::infinity());
  const ValueId inner = times(factor, m.x());
  const ValueId is_beyond = flags(AtenOp::gt_Scalar, m.apply(AtenOp::abs_default, {m.x()}), 1);
  const ValueId of_end = chosen(is_end, infinite, inner);
  return m.finish(AtenOp::where_self,
                  {is_beyond, in.scalar(std::numeric_limits<double>::quiet_NaN(), DType::kFp32), of_end});
}

Result<bool> conv_transpose(Rewriter& in, const Node& node) {
  Attributes attributes = node.attributes;
  attributes.set("transposed", true);
  return rewritten(in.define(node.outputs[0], AtenOp::convolution_default, node.inputs, std::move(attributes)));
}

// Adds a result that no node reads: ExecuTorch's norms also return the statistics.
ValueId statistic(Rewriter& in, const Node& node, const char* what, Shape shape) {
  return in.graph().add_value(
      {.name = node.name + what, .dtype = DType::kFp32, .shape = std::move(shape), .quantization = {}, .constant = {}});
}

Result<bool> with_statistics(Rewriter& in, const Node& node, AtenOp op, Attributes attributes, const Shape& shape) {
  Node native = node;
  native.op = op;
  native.attributes = std::move(attributes);
  native.outputs = {node.outputs[0], statistic(in, node, "_mean", shape), statistic(in, node, "_rstd", shape)};
  return rewritten(in.emit(std::move(native)));
}

Result<bool> layer_norm(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]);
  const std::vector<int64_t> sizes = node.attributes.integers("normalized_shape");
  Shape kept = shape;
  for (size_t axis = shape.rank() - sizes.size(); axis < shape.rank(); ++axis) kept[axis] = 1;
  return with_statistics(in, node, AtenOp::native_layer_norm_default,
                         {{"normalized_shape", sizes}, {"eps", node.attributes.number("eps")}}, kept);
}

Result<bool> group_norm(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]);
  const int64_t groups = node.attributes.integer("num_groups");
  const int64_t pixels = shape.elements() / (shape[0] * shape[1]);
  return with_statistics(
      in, node, AtenOp::native_group_norm_default,
      {{"N", shape[0]}, {"C", shape[1]}, {"HxW", pixels}, {"group", groups}, {"eps", node.attributes.number("eps")}},
      Shape{shape[0], groups});
}

Result<bool> matmul(Rewriter& in, const Node& node) {
  return rewritten(in.define(node.outputs[0], AtenOp::mm_default, node.inputs, {}));
}

Result<bool> squeeze(Rewriter& in, const Node& node) {
  return rewritten(in.define(node.outputs[0], AtenOp::squeeze_dims, node.inputs,
                             {{"dim", std::vector<int64_t>{node.attributes.integer("dim")}}}));
}

Result<bool> variance(Rewriter& in, const Node& node) {
  Attributes attributes = node.attributes;
  attributes.set("correction", int64_t{node.attributes.get<bool>("unbiased") ? 1 : 0});
  return rewritten(in.define(node.outputs[0], AtenOp::var_correction, node.inputs, std::move(attributes)));
}

constexpr RewriteRow kCoreAtenRows[] = {
    {AtenOp::matmul_default, matmul},
    {AtenOp::squeeze_dim, squeeze},
    {AtenOp::var_dim, variance},
    {AtenOp::layer_norm_default, layer_norm},
    {AtenOp::group_norm_default, group_norm},
    {AtenOp::silu_default, silu},
    {AtenOp::hardsigmoid_default, hardsigmoid},
    {AtenOp::hardswish_default, hardswish},
    {AtenOp::softplus_default, softplus},
    {AtenOp::mish_default, mish},
    {AtenOp::log_sigmoid_default, log_sigmoid},
    {AtenOp::exp2_default, exp2},
    {AtenOp::selu_default, selu},
    {AtenOp::celu_default, celu},
    {AtenOp::conv_transpose2d_input, conv_transpose},
    {AtenOp::rrelu_default, rrelu},
    {AtenOp::softshrink_default, softshrink},
    {AtenOp::threshold_default, threshold},
    {AtenOp::hardshrink_default, hardshrink},
    {AtenOp::frac_default, frac},
    {AtenOp::erfc_default, erfc},
    {AtenOp::erfinv_default, erfinv},
    {AtenOp::fmax_default, but_for_nan<AtenOp::ge_Tensor>},
    {AtenOp::fmin_default, but_for_nan<AtenOp::le_Tensor>},
};

}  // namespace

namespace {
std::span<const RewriteRow> all_rows() {
  static const std::vector<RewriteRow> rows = joined({kCoreAtenRows, core_aten_indexing(), core_aten_volumes()});
  return rows;
}
}  // namespace

bool becomes_core_aten(AtenOp op) {
  return std::ranges::find(all_rows(), op, &RewriteRow::op) != all_rows().end();
}

Result<void> to_core_aten(ir::Graph& program, const Log&) {
  return Rewriter(program, all_rows()).run();
}

}  // namespace carina::normalize
