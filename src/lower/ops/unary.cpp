// Functions of one element: a TABLE of all 256 values in int8, TOSA's own op or an expression in float.

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "facts/aten_traits.h"
#include "lower/lowering_internal.h"
#include "lower/ops/casts_internal.h"
#include "lower/ops/division_internal.h"
#include "lower/ops/float_math_internal.h"
#include "lower/ops/integers_internal.h"

namespace carina::lower {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

// `value` computes a table's entries; `lower` is the same function in TOSA PRO-FP (none: no float lowering).
struct UnaryRow {
  AtenOp op;
  double (*value)(double x, const Attributes& a);
  ValueId (*lower)(FloatMath& f, ValueId x, const Attributes& a);
};

constexpr double kMax = std::numeric_limits<float>::max();

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}
ValueId softplus(FloatMath& f, ValueId x) {
  const ValueId tail = f.log(f.add(f.exp(f.negate(f.apply(TosaOp::ABS, x))), 1));
  return f.add(f.clamp(x, 0, kMax), tail);
}
// Slope 1 above 0, `negative` below.
ValueId two_sided(FloatMath& f, ValueId x, ValueId negative) {
  return f.add(f.clamp(x, 0, kMax), negative);
}
ValueId below_zero(FloatMath& f, ValueId x) {
  return f.clamp(x, -kMax, 0);
}
ValueId expm1(FloatMath& f, ValueId x) {
  return f.add(f.exp(x), -1);
}
bool tanh_form(const Attributes& a) {
  return a.get<std::string>("approximate") == "tanh";
}

struct EluForm {
  double alpha;
  double scale;
  double input_scale;
};
EluForm elu_form(const Attributes& a) {
  return {.alpha = a.number("alpha"), .scale = a.number("scale"), .input_scale = a.number("input_scale")};
}
EluForm celu_form(const Attributes& a) {
  return {.alpha = a.number("alpha"), .scale = 1, .input_scale = 1 / a.number("alpha")};
}
EluForm selu_form(const Attributes&) {
  return {.alpha = 1.6732632423543772, .scale = 1.0507009873554805, .input_scale = 1};
}
double elu(double x, const EluForm& form) {
  return form.scale * (x > 0 ? x : form.alpha * std::expm1(x * form.input_scale));
}
ValueId elu(FloatMath& f, ValueId x, const EluForm& form) {
  const ValueId low = f.mul(expm1(f, f.mul(below_zero(f, x), form.input_scale)), form.alpha);
  return f.mul(two_sided(f, x, low), form.scale);
}

double gelu(double x, const Attributes& a) {
  if (!tanh_form(a)) return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}
ValueId gelu(FloatMath& f, ValueId x, const Attributes& a) {
  ValueId gate;
  if (tanh_form(a)) {
    const ValueId cube = f.mul(f.mul(x, x), x);
    gate = f.apply(TosaOp::TANH, f.mul(f.add(x, f.mul(cube, 0.044715)), std::sqrt(2 / std::numbers::pi)));
  } else {
    gate = f.apply(TosaOp::ERF, f.mul(x, 1 / std::numbers::sqrt2));
  }
  return f.mul(f.mul(f.add(gate, 1), x), 0.5);
}

// To nearest, halves to even: TOSA rounds so only when it casts, where integers are too narrow for all reals.
ValueId rounded(FloatMath& f, ValueId x) {
  const ValueId floor = f.apply(TosaOp::FLOOR, x), half = f.like(x, 0.5), fraction = f.sub(x, floor);
  const ValueId is_odd = f.out().compare(
      TosaOp::GREATER, f.sub(f.mul(floor, 0.5), f.apply(TosaOp::FLOOR, f.mul(floor, 0.5))), f.like(x, 0));
  const ValueId is_tie = f.out().compare(TosaOp::EQUAL, fraction, half);
  const ValueId up = f.out().compare(TosaOp::LOGICAL_OR, f.out().compare(TosaOp::GREATER, fraction, half),
                                     f.out().compare(TosaOp::LOGICAL_AND, is_tie, is_odd));
  return f.out().select(up, f.add(floor, 1), floor);
}
ValueId sign(FloatMath& f, ValueId x) {
  const ValueId zero = f.like(x, 0);
  const ValueId below = f.out().select(f.out().compare(TosaOp::GREATER, zero, x), f.like(x, -1), zero);
  return f.out().select(f.out().compare(TosaOp::GREATER, x, zero), f.like(x, 1), below);
}

Rounding rounding_mode(const Attributes& a) {
  return a.get<std::string>("rounding_mode") == "floor" ? Rounding::kFloor : Rounding::kTrunc;
}

template <TosaOp kOp>
ValueId direct(FloatMath& f, ValueId x, const Attributes&) {
  return f.apply(kOp, x);
}

using F = FloatMath;
using A = Attributes;
using V = ValueId;
constexpr UnaryRow kUnaryRows[] = {
    {AtenOp::exp_default, [](double x, const A&) { return std::exp(x); }, direct<TosaOp::EXP>},
    {AtenOp::exp2_default, [](double x, const A&) { return std::exp2(x); },
     [](F& f, V x, const A&) { return f.exp(f.mul(x, std::numbers::ln2)); }},
    {AtenOp::expm1_default, [](double x, const A&) { return std::expm1(x); },
     [](F& f, V x, const A&) { return expm1(f, x); }},
    {AtenOp::log_default, [](double x, const A&) { return std::log(x); }, direct<TosaOp::LOG>},
    {AtenOp::log2_default, [](double x, const A&) { return std::log2(x); },
     [](F& f, V x, const A&) { return f.mul(f.log(x), 1 / std::numbers::ln2); }},
    {AtenOp::log10_default, [](double x, const A&) { return std::log10(x); },
     [](F& f, V x, const A&) { return f.mul(f.log(x), 1 / std::numbers::ln10); }},
    {AtenOp::log1p_default, [](double x, const A&) { return std::log1p(x); },
     [](F& f, V x, const A&) { return f.log(f.add(x, 1)); }},
    {AtenOp::reciprocal_default, [](double x, const A&) { return 1 / x; }, direct<TosaOp::RECIPROCAL>},
    {AtenOp::rsqrt_default, [](double x, const A&) { return 1 / std::sqrt(x); }, direct<TosaOp::RSQRT>},
    {AtenOp::sqrt_default, [](double x, const A&) { return std::sqrt(x); },
     [](F& f, V x, const A&) { return f.power(x, 0.5); }},
    {AtenOp::pow_Tensor_Scalar, [](double x, const A& a) { return std::pow(x, a.number("exponent")); },
     [](F& f, V x, const A& a) { return f.power(x, a.number("exponent")); }},
    {AtenOp::sigmoid_default, [](double x, const A&) { return sigmoid(x); }, direct<TosaOp::SIGMOID>},
    {AtenOp::tanh_default, [](double x, const A&) { return std::tanh(x); }, direct<TosaOp::TANH>},
    {AtenOp::erf_default, [](double x, const A&) { return std::erf(x); }, direct<TosaOp::ERF>},
    {AtenOp::sin_default, [](double x, const A&) { return std::sin(x); }, direct<TosaOp::SIN>},
    {AtenOp::cos_default, [](double x, const A&) { return std::cos(x); }, direct<TosaOp::COS>},
    {AtenOp::tan_default, [](double x, const A&) { return std::tan(x); },
     [](F& f, V x, const A&) {
       return f.mul(f.apply(TosaOp::SIN, x), f.apply(TosaOp::RECIPROCAL, f.apply(TosaOp::COS, x)));
     }},
    {AtenOp::asin_default, [](double x, const A&) { return std::asin(x); }, nullptr},
    {AtenOp::acos_default, [](double x, const A&) { return std::acos(x); }, nullptr},
    {AtenOp::atan_default, [](double x, const A&) { return std::atan(x); }, nullptr},
    {AtenOp::sinh_default, [](double x, const A&) { return std::sinh(x); },
     [](F& f, V x, const A&) { return f.mul(f.sub(f.exp(x), f.exp(f.negate(x))), 0.5); }},
    {AtenOp::cosh_default, [](double x, const A&) { return std::cosh(x); },
     [](F& f, V x, const A&) { return f.mul(f.add(f.exp(x), f.exp(f.negate(x))), 0.5); }},
    {AtenOp::asinh_default, [](double x, const A&) { return std::asinh(x); }, nullptr},
    {AtenOp::acosh_default, [](double x, const A&) { return std::acosh(x); },
     [](F& f, V x, const A&) { return f.log(f.add(x, f.power(f.add(f.mul(x, x), -1), 0.5))); }},
    {AtenOp::atanh_default, [](double x, const A&) { return std::atanh(x); },
     [](F& f, V x, const A&) { return f.mul(f.sub(f.log(f.add(x, 1)), f.log(f.add(f.negate(x), 1))), 0.5); }},
    {AtenOp::abs_default, [](double x, const A&) { return std::abs(x); }, direct<TosaOp::ABS>},
    {AtenOp::neg_default, [](double x, const A&) { return -x; }, [](F& f, V x, const A&) { return f.negate(x); }},
    {AtenOp::ceil_default, [](double x, const A&) { return std::ceil(x); }, direct<TosaOp::CEIL>},
    {AtenOp::floor_default, [](double x, const A&) { return std::floor(x); }, direct<TosaOp::FLOOR>},
    {AtenOp::round_default, [](double x, const A&) { return std::nearbyint(x); },
     [](F& f, V x, const A&) { return rounded(f, x); }},
    {AtenOp::trunc_default, [](double x, const A&) { return std::trunc(x); },
     [](F& f, V x, const A&) { return truncated(f.out(), x); }},
    {AtenOp::sign_default, [](double x, const A&) { return static_cast<double>((x > 0) - (x < 0)); },
     [](F& f, V x, const A&) { return sign(f, x); }},
    {AtenOp::div_Scalar_mode,
     [](double x, const A& a) { return whole_quotient(x, a.number("other"), rounding_mode(a)); },
     [](F& f, V x, const A& a) { return whole_quotient(f.out(), x, f.like(x, a.number("other")), rounding_mode(a)); }},
    {AtenOp::remainder_Scalar,
     [](double x, const A& a) { return remainder_of(x, a.number("other"), Rounding::kFloor); },
     [](F& f, V x, const A& a) { return remainder_of(f.out(), x, f.like(x, a.number("other")), Rounding::kFloor); }},
    {AtenOp::fmod_Scalar, [](double x, const A& a) { return remainder_of(x, a.number("other"), Rounding::kTrunc); },
     [](F& f, V x, const A& a) { return remainder_of(f.out(), x, f.like(x, a.number("other")), Rounding::kTrunc); }},
    {AtenOp::silu_default, [](double x, const A&) { return x * sigmoid(x); },
     [](F& f, V x, const A&) { return f.mul(x, f.apply(TosaOp::SIGMOID, x)); }},
    {AtenOp::mish_default, [](double x, const A&) { return x * std::tanh(softplus(x)); },
     [](F& f, V x, const A&) { return f.mul(x, f.apply(TosaOp::TANH, softplus(f, x))); }},
    {AtenOp::hardswish_default, [](double x, const A&) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; },
     [](F& f, V x, const A&) { return f.mul(f.mul(x, f.clamp(f.add(x, 3), 0, 6)), 1.0 / 6); }},
    {AtenOp::hardsigmoid_default, [](double x, const A&) { return std::clamp(x + 3, 0.0, 6.0) / 6; },
     [](F& f, V x, const A&) { return f.mul(f.clamp(f.add(x, 3), 0, 6), 1.0 / 6); }},
    {AtenOp::log_sigmoid_default, [](double x, const A&) { return -softplus(-x); },
     [](F& f, V x, const A&) { return f.negate(softplus(f, f.negate(x))); }},
    {AtenOp::softplus_default, [](double x, const A& a) { return softplus(x * a.number("beta")) / a.number("beta"); },
     [](F& f, V x, const A& a) { return f.mul(softplus(f, f.mul(x, a.number("beta"))), 1 / a.number("beta")); }},
    {AtenOp::gelu_default, gelu, gelu},
    {AtenOp::elu_default, [](double x, const A& a) { return elu(x, elu_form(a)); },
     [](F& f, V x, const A& a) { return elu(f, x, elu_form(a)); }},
    {AtenOp::celu_default, [](double x, const A& a) { return elu(x, celu_form(a)); },
     [](F& f, V x, const A& a) { return elu(f, x, celu_form(a)); }},
    {AtenOp::selu_default, [](double x, const A& a) { return elu(x, selu_form(a)); },
     [](F& f, V x, const A& a) { return elu(f, x, selu_form(a)); }},
    {AtenOp::leaky_relu_default, [](double x, const A& a) { return x > 0 ? x : x * a.number("negative_slope"); },
     [](F& f, V x, const A& a) { return two_sided(f, x, f.mul(below_zero(f, x), a.number("negative_slope"))); }},
};

const UnaryRow& row_of_node(const Node& node) {
  for (const UnaryRow& row : kUnaryRows) {
    if (row.op == node.op.aten()) return row;
  }
  CARINA_UNREACHABLE("unary op", node.op.aten());
}

// Entry i stands for the i-th integer of the type. Intermediates are rounded to float32, as PyTorch's are.
std::vector<int64_t> table_of(const UnaryRow& row, const Attributes& attributes, const Quantization& from,
                              const Quantization& to) {
  std::vector<int64_t> table;
  const auto scale = static_cast<float>(from.scale());
  const IntegerRange range = range_of(from.dtype);
  for (int64_t q = range.min; q <= range.max; ++q) {
    const float x = static_cast<float>(q - from.zero_point()) * scale;
    table.push_back(quantized(static_cast<float>(row.value(x, attributes)), to));
  }
  return table;
}

Result<ValueId> by_table(Lowering& in, const Node& node, const UnaryRow& row) {
  const Quantization& from = in.quantization(node.inputs[0]);
  const Quantization& to = in.quantization(node.outputs[0]);
  CARINA_CHECKED(accepted(node, needs_int8(in.candidate(node))));
  if (to.dtype != DType::kInt8)
    return fail(about(node, fmt::format("the result is {}, that of a table of int8 is int8", name_of(to.dtype))));
  const ValueId table = in.out.constant(
      node.name + ".table", integer_tensor(DType::kInt8, Shape{256}, table_of(row, node.attributes, from, to)));
  const ValueId input = in.operand(node.inputs[0]);
  return in.out.emit(TosaOp::TABLE, {input, table}, {},
                     {.dtype = DType::kInt8, .shape = in.out.shape(input), .suffix = "out"});
}

Result<ValueId> unary(Lowering& in, const Node& node) {
  const UnaryRow& row = row_of_node(node);
  if (in.is_quantized(node)) return by_table(in, node, row);
  if (!is_float(in.value(node.inputs[0]).dtype) && has_integer_form(row.op)) return integer_form(in, node);
  if (in.value(node.outputs[0]).dtype != DType::kFp32 || in.value(node.inputs[0]).dtype != DType::kFp32) {
    return fail(about(node, std::string(node.op.name()) + " of " +
                                std::string(name_of(in.value(node.inputs[0]).dtype)) + " is not supported"));
  }
  if (row.lower == nullptr) return fail(about(node, std::string(node.op.name()) + " has no lowering in float"));
  FloatMath math(in.out);
  return row.lower(math, in.operand(node.inputs[0]), node.attributes);
}

constexpr auto lowering_rows() {
  std::array<LoweringRow, std::size(kUnaryRows)> rows{};
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = {.op = kUnaryRows[i].op,
               .integers = has_integer_form(kUnaryRows[i].op) ? PlainIntegers::kAny : PlainIntegers::kNone,
               .legal = needs_int8,
               .lower = unary};
  return rows;
}
constexpr auto kLoweringRows = lowering_rows();
static_assert(lowers_all_of(kUnaryRows, {AtenFamily::kFunction}));

}  // namespace

std::span<const LoweringRow> unary_rows() {
  return kLoweringRows;
}

}  // namespace carina::lower
