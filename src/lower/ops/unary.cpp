// Lowers elementwise functions of one operand: to a TABLE for integers, to TOSA's operator or an expression for floats.

#include <cmath>
#include <limits>
#include <numbers>

#include "facts/aten_traits.h"
#include "lower/ops/casts_internal.h"
#include "lower/ops/division_internal.h"
#include "lower/ops/float_functions_internal.h"
#include "lower/ops/integers_internal.h"
#include "lower/ops/steps_internal.h"
#include "lower/ops/table_internal.h"

namespace carina::lower {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

// `value` computes a table's entries; `lower` is the same function in TOSA PRO-FP.
struct UnaryRow {
  AtenOp op;
  double (*value)(double x, const Attributes& a);
  ValueId (*lower)(FloatMath& f, ValueId x, const Attributes& a);
  // kOnce: one operator, so 16-bit floats are computed directly. kOften: an expression of several operators, which is
  // computed in fp32 between casts, as in PyTorch.
  enum class Rounds : uint8_t { kOnce, kOften } rounds = Rounds::kOften;
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
// x for x > 0, `negative` otherwise.
ValueId two_sided(FloatMath& f, ValueId x, ValueId negative) {
  return f.add(f.clamp(x, 0, kMax), negative);
}
ValueId below_zero(FloatMath& f, ValueId x) {
  return f.clamp(x, -kMax, 0);
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
  const ValueId low = f.mul(f.add(f.exp(f.mul(below_zero(f, x), form.input_scale)), -1), form.alpha);
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

// Rounds to nearest, halves to even. TOSA rounds only in casts to integers, whose range is too small for all floats.
ValueId rounded(FloatMath& f, ValueId x) {
  const ValueId floor = f.apply(TosaOp::FLOOR, x), half = f.like(x, 0.5), fraction = f.sub(x, floor);
  const ValueId zero = f.like(x, 0);
  const ValueId floor_of_half = f.apply(TosaOp::FLOOR, f.mul(floor, 0.5));
  const ValueId is_odd = f.out().compare(TosaOp::GREATER, f.sub(f.mul(floor, 0.5), floor_of_half), zero);
  const ValueId is_tie = f.out().compare(TosaOp::EQUAL, fraction, half);
  const ValueId is_odd_tie = f.out().compare(TosaOp::LOGICAL_AND, is_tie, is_odd);
  const ValueId up = f.out().compare(TosaOp::LOGICAL_OR, f.out().compare(TosaOp::GREATER, fraction, half), is_odd_tie);
  return f.out().select(up, f.add(floor, 1), floor);
}
ValueId sign(FloatMath& f, ValueId x) {
  const ValueId zero = f.like(x, 0);
  const ValueId minus_one = f.like(x, -1);
  const ValueId below = f.out().select(f.out().compare(TosaOp::GREATER, zero, x), minus_one, zero);
  const ValueId one = f.like(x, 1);
  return f.out().select(f.out().compare(TosaOp::GREATER, x, zero), one, below);
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

// Lowers to TOSA's operator of the same meaning.
template <TosaOp kOp>
constexpr UnaryRow same(AtenOp op, double (*value)(double x, const A& a)) {
  return {.op = op, .value = value, .lower = direct<kOp>, .rounds = UnaryRow::Rounds::kOnce};
}
template <ValueId (*kFunction)(F&, V)>
ValueId expression(F& f, V x, const A&) {
  return kFunction(f, x);
}

std::optional<double> logit_limit(const A& a) {
  if (a.is_none("eps") || a.number("eps") < 0) return std::nullopt;
  return a.number("eps");
}
double logit(double x, const A& a) {
  const std::optional<double> eps = logit_limit(a);
  if (eps) x = std::clamp(x, *eps, 1 - *eps);
  return std::log(x / (1 - x));
}
// The slope is random in training mode, otherwise the mean of its limits.
double rrelu_slope(const A& a) {
  return (a.number("lower") + a.number("upper")) / 2;
}
double leaky(double x, double slope) {
  return x > 0 ? x : x * slope;
}
ValueId leaky(F& f, V x, double slope) {
  return two_sided(f, x, f.mul(below_zero(f, x), slope));
}
double sinc(double x) {
  return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
}
ValueId sinc(F& f, V x) {
  const V angle = f.mul(x, std::numbers::pi);
  const V divisor = f.reciprocal(angle);
  const V quotient = f.mul(f.apply(TosaOp::SIN, angle), divisor);
  return f.select(f.equal(x, 0), 1.0, quotient);
}
ValueId frac(F& f, V x) {
  const V floor = f.apply(TosaOp::FLOOR, x), ceil = f.apply(TosaOp::CEIL, x);
  return f.sub(x, f.select(f.less(x, 0), ceil, floor));
}
double scalar_power(double x, const A& a) {
  return std::pow(a.number("self"), x);
}
ValueId scalar_power(F& f, V x, const A& a) {
  const double base = a.number("self");
  return base > 0 ? f.exp(f.mul(x, std::log(base))) : functions::pow(f, f.like(x, base), x);
}
constexpr UnaryRow kUnaryRows[] = {
    same<TosaOp::EXP>(AtenOp::exp_default, [](double x, const A&) { return std::exp(x); }),
    {AtenOp::exp2_default, [](double x, const A&) { return std::exp2(x); },
     [](F& f, V x, const A&) { return f.exp(f.mul(x, std::numbers::ln2)); }},
    {AtenOp::expm1_default, [](double x, const A&) { return std::expm1(x); }, expression<functions::expm1>},
    same<TosaOp::LOG>(AtenOp::log_default, [](double x, const A&) { return std::log(x); }),
    {AtenOp::log2_default, [](double x, const A&) { return std::log2(x); },
     [](F& f, V x, const A&) { return f.mul(f.log(x), 1 / std::numbers::ln2); }},
    {AtenOp::log10_default, [](double x, const A&) { return std::log10(x); },
     [](F& f, V x, const A&) { return f.mul(f.log(x), 1 / std::numbers::ln10); }},
    {AtenOp::log1p_default, [](double x, const A&) { return std::log1p(x); }, expression<functions::log1p>},
    same<TosaOp::RECIPROCAL>(AtenOp::reciprocal_default, [](double x, const A&) { return 1 / x; }),
    same<TosaOp::RSQRT>(AtenOp::rsqrt_default, [](double x, const A&) { return 1 / std::sqrt(x); }),
    {AtenOp::sqrt_default, [](double x, const A&) { return std::sqrt(x); },
     [](F& f, V x, const A&) { return f.sqrt(x); }},
    {AtenOp::pow_Tensor_Scalar, [](double x, const A& a) { return std::pow(x, a.number("exponent")); },
     [](F& f, V x, const A& a) { return f.power(x, a.number("exponent")); }},
    same<TosaOp::SIGMOID>(AtenOp::sigmoid_default, [](double x, const A&) { return sigmoid(x); }),
    same<TosaOp::TANH>(AtenOp::tanh_default, [](double x, const A&) { return std::tanh(x); }),
    same<TosaOp::ERF>(AtenOp::erf_default, [](double x, const A&) { return std::erf(x); }),
    same<TosaOp::SIN>(AtenOp::sin_default, [](double x, const A&) { return std::sin(x); }),
    same<TosaOp::COS>(AtenOp::cos_default, [](double x, const A&) { return std::cos(x); }),
    {AtenOp::tan_default, [](double x, const A&) { return std::tan(x); },
     [](F& f, V x, const A&) {
       const V divisor = f.apply(TosaOp::RECIPROCAL, f.apply(TosaOp::COS, x));
       return f.mul(f.apply(TosaOp::SIN, x), divisor);
     }},
    {AtenOp::asin_default, [](double x, const A&) { return std::asin(x); }, expression<functions::asin>},
    {AtenOp::acos_default, [](double x, const A&) { return std::acos(x); }, expression<functions::acos>},
    {AtenOp::atan_default, [](double x, const A&) { return std::atan(x); }, expression<functions::atan>},
    {AtenOp::sinh_default, [](double x, const A&) { return std::sinh(x); },
     [](F& f, V x, const A&) {
       const V of_negative = f.exp(f.negate(x));
       return f.mul(f.sub(f.exp(x), of_negative), 0.5);
     }},
    {AtenOp::cosh_default, [](double x, const A&) { return std::cosh(x); },
     [](F& f, V x, const A&) {
       const V of_negative = f.exp(f.negate(x));
       return f.mul(f.add(f.exp(x), of_negative), 0.5);
     }},
    {AtenOp::asinh_default, [](double x, const A&) { return std::asinh(x); }, expression<functions::asinh>},
    {AtenOp::acosh_default, [](double x, const A&) { return std::acosh(x); }, expression<functions::acosh>},
    {AtenOp::atanh_default, [](double x, const A&) { return std::atanh(x); }, expression<functions::atanh>},
    same<TosaOp::ABS>(AtenOp::abs_default, [](double x, const A&) { return std::abs(x); }),
    {AtenOp::neg_default, [](double x, const A&) { return -x; }, [](F& f, V x, const A&) { return f.negate(x); },
     UnaryRow::Rounds::kOnce},
    same<TosaOp::CEIL>(AtenOp::ceil_default, [](double x, const A&) { return std::ceil(x); }),
    same<TosaOp::FLOOR>(AtenOp::floor_default, [](double x, const A&) { return std::floor(x); }),
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
    {AtenOp::leaky_relu_default, [](double x, const A& a) { return leaky(x, a.number("negative_slope")); },
     [](F& f, V x, const A& a) { return leaky(f, x, a.number("negative_slope")); }},
    {AtenOp::rrelu_default, [](double x, const A& a) { return leaky(x, rrelu_slope(a)); },
     [](F& f, V x, const A& a) { return leaky(f, x, rrelu_slope(a)); }},
    {AtenOp::threshold_default, [](double x, const A& a) { return x > a.number("threshold") ? x : a.number("value"); },
     [](F& f, V x, const A& a) { return f.select(f.less_equal(x, a.number("threshold")), a.number("value"), x); }},
    {AtenOp::hardshrink_default, [](double x, const A& a) { return std::abs(x) > a.number("lambd") ? x : 0; },
     [](F& f, V x, const A& a) { return f.select(f.less_equal(f.abs(x), a.number("lambd")), 0.0, x); }},
    {AtenOp::softshrink_default,
     [](double x, const A& a) { return x - std::clamp(x, -a.number("lambd"), a.number("lambd")); },
     [](F& f, V x, const A& a) { return f.sub(x, f.clamp(x, -a.number("lambd"), a.number("lambd"))); }},
    {AtenOp::frac_default, [](double x, const A&) { return x - std::trunc(x); }, expression<frac>},
    {AtenOp::erfc_default, [](double x, const A&) { return std::erfc(x); },
     [](F& f, V x, const A&) { return f.sub(1.0, f.apply(TosaOp::ERF, x)); }},
    {AtenOp::erfinv_default, [](double x, const A&) { return functions::erfinv(x); }, expression<functions::erfinv>},
    {AtenOp::logit_default, logit, [](F& f, V x, const A& a) { return functions::logit(f, x, logit_limit(a)); }},
    {AtenOp::sinc_default, [](double x, const A&) { return sinc(x); }, expression<sinc>},
    {AtenOp::pow_Scalar, scalar_power, scalar_power},
};

const UnaryRow& row_of_node(const Node& node) {
  for (const UnaryRow& row : kUnaryRows) {
    if (row.op == node.op.aten()) return row;
  }
  CARINA_UNREACHABLE("unary op", node.op.aten());
}

// |x| of 16-bit integers, without the 2 KiB of a table, which take longer than small tensors. Behind a layer, an NPU
// looks its results up in a table at no cost.
bool is_magnitude(const Lowering& in, const Node& node) {
  if (node.op != ir::Op(AtenOp::abs_default)) return false;
  const Node* producer = in.producer(node.inputs[0]);
  if (producer != nullptr && producer->op.is_aten()) {
    const AtenFamily family = traits_of(producer->op.aten()).family;
    if (family == AtenFamily::kConvolution || family == AtenFamily::kProduct) return false;
  }
  return in.quantization(node.inputs[0]).dtype == DType::kInt16 &&
         in.quantization(node.outputs[0]).dtype == DType::kInt16;
}

ValueId magnitude(Lowering& in, const Node& node) {
  const Quantization &from = in.quantization(node.inputs[0]), &to = in.quantization(node.outputs[0]);
  const ValueId x = in.out.rescale(in.operand(node.inputs[0]),
                                   {.scales = {1}, .input_zp = from.zero_point(), .output_zp = 0, .to = DType::kInt32});
  return in.within_range(
      in.out.rescale(
          in.out.unary(TosaOp::ABS, x),
          {.scales = {from.scale() / to.scale()}, .input_zp = 0, .output_zp = to.zero_point(), .to = to.dtype}),
      to);
}

Result<ValueId> unary(Lowering& in, const Node& node) {
  const UnaryRow& row = row_of_node(node);
  if (in.is_quantized(node)) {
    CARINA_CHECKED(accepted(node, takes_table(in.candidate(node))));
    if (is_magnitude(in, node)) return magnitude(in, node);
    if (is_step_function(row.op) && in.quantization(node.inputs[0]).dtype == DType::kInt16)
      return step_function(in, node);
    return by_table(in, node, [&](double x) { return row.value(x, node.attributes); });
  }
  if (!is_float(in.value(node.inputs[0]).dtype) && has_integer_form(row.op)) return integer_form(in, node);
  const DType type = in.value(node.outputs[0]).dtype;
  if (!computes(type)) {
    return fail(normalize::about(
        node, std::string(node.op.name()) + " of " + std::string(name_of(type)) + " is not supported"));
  }
  const ValueId x =
      converted(in.out, in.operand(node.inputs[0]), row.rounds == UnaryRow::Rounds::kOnce ? type : DType::kFp32);
  FloatMath math(in.out);
  return in.out.cast(row.lower(math, x, node.attributes), type);
}

// Plain integers of the functions with an integer form need no table; PlainIntegers::kAny has their types.
Rejected unary_fits(const Candidate& c) {
  const ir::Value& x = c.input(0);
  const bool is_plain = !x.quantization && !is_float(x.dtype) && has_integer_form(c.node.op.aten());
  return is_plain ? std::nullopt : takes_table(c);
}

constexpr auto lowering_rows() {
  std::array<LoweringRow, std::size(kUnaryRows)> rows{};
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = {.op = kUnaryRows[i].op,
               .integers = has_integer_form(kUnaryRows[i].op) ? PlainIntegers::kAny : PlainIntegers::kNone,
               .legal = unary_fits,
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
