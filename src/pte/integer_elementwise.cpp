// int8 steps of sums, products, extremes, and elementwise functions of one operand.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "pte/integer_builder_internal.h"
#include "tensor/elements.h"

namespace carina::pte {

namespace {

using ir::ValueId;

constexpr int kAddShift = 20;  // left shift of quantized_add's operands before they are scaled

struct Pair {
  Integers a, b;
};

// Two int8 operands of one shape.
std::optional<Pair> pair_of(const IntegerBuilder& builder, const Enclosed& enclosed) {
  const auto a = builder.integers_of(enclosed.node.inputs[0]);
  const auto b = builder.integers_of(enclosed.node.inputs[1]);
  if (!a || !b || !is_int8(a->quantization) || !is_int8(b->quantization)) return std::nullopt;
  if (builder.graph()[a->value].shape != builder.graph()[b->value].shape) return std::nullopt;
  return Pair{.a = *a, .b = *b};
}

// The operands and the output with one memory order: channels last if all operands have it.
struct OrderedOperands {
  ValueId a, b, output;
};
OrderedOperands operands_in_order(IntegerBuilder& builder, const Pair& pair, ValueId output) {
  if (builder.is_channels_last(pair.a.value) && builder.is_channels_last(pair.b.value))
    return {.a = builder.channels_last(pair.a.value),
            .b = builder.channels_last(pair.b.value),
            .output = builder.written_channels_last(output)};
  return {.a = builder.plain(pair.a.value), .b = builder.plain(pair.b.value), .output = output};
}

// Returns whether the sum on its common scale fits 32 bits after the left shift to the output's scale.
bool stays_in_range(const Pair& pair, double b_scale, double sign, double largest, const Multiplier& output) {
  if (output.shift <= 0) return true;
  double worst = 0;
  const Quantization &a = pair.a.quantization, &b = pair.b.quantization;
  for (const int64_t x : {a.qmin - a.zero_point(), a.qmax - a.zero_point()}) {
    for (const int64_t y : {b.qmin - b.zero_point(), b.qmax - b.zero_point()})
      worst = std::max(worst, std::abs(static_cast<double>(x) * a.scale() + sign * static_cast<double>(y) * b_scale));
  }
  return std::ldexp(worst / largest, kAddShift + static_cast<int>(output.shift)) < std::ldexp(1.0, 31);
}

bool add(IntegerBuilder& builder, const Enclosed& enclosed) {
  const auto pair = pair_of(builder, enclosed);
  if (!pair) return false;
  const bool is_difference = enclosed.node.op == ir::Op(AtenOp::sub_Tensor);
  const double alpha = enclosed.node.attributes.number("alpha") * (is_difference ? -1 : 1);
  const double a_scale = pair->a.quantization.scale(), b_scale = pair->b.quantization.scale() * std::abs(alpha);
  const double largest = 2 * std::max(a_scale, b_scale);
  const Multiplier a = multiplier_of(a_scale / largest), b = multiplier_of(b_scale / largest);
  const Multiplier out = multiplier_of(largest / std::ldexp(enclosed.to.scale(), kAddShift));
  const double sign = alpha < 0 ? -1 : 1;
  if (alpha == 0 || !is_applicable(a) || !is_applicable(b) || !is_applicable(out) ||
      !stays_in_range(*pair, b_scale, sign, largest, out))
    return false;
  const OrderedOperands at = operands_in_order(builder, *pair, enclosed.output);
  builder.call("cortex_m::quantized_add",
               {at.a, pair->a.quantization.zero_point(), a.multiplier, a.shift, at.b, pair->b.quantization.zero_point(),
                static_cast<int64_t>(sign) * b.multiplier, b.shift, enclosed.to.zero_point(), out.multiplier, out.shift,
                enclosed.low, enclosed.high},
               at.output);
  return true;
}

bool multiply(IntegerBuilder& builder, const Enclosed& enclosed) {
  const auto pair = pair_of(builder, enclosed);
  const bool whole_range = enclosed.low == -128 && enclosed.high == 127;  // the kernel supports these limits only
  if (!pair || !whole_range) return false;
  const Multiplier scale =
      multiplier_of(pair->a.quantization.scale() * pair->b.quantization.scale() / enclosed.to.scale());
  if (!is_applicable(scale)) return false;
  const OrderedOperands at = operands_in_order(builder, *pair, enclosed.output);
  builder.call("cortex_m::quantized_mul",
               {at.a, pair->a.quantization.zero_point(), at.b, pair->b.quantization.zero_point(),
                enclosed.to.zero_point(), scale.multiplier, scale.shift},
               at.output);
  return true;
}

bool extreme(IntegerBuilder& builder, const Enclosed& enclosed) {
  const auto pair = pair_of(builder, enclosed);
  const bool same = pair && pair->a.quantization == enclosed.to && pair->b.quantization == enclosed.to;
  if (!same || enclosed.low != enclosed.to.qmin || enclosed.high != enclosed.to.qmax) return false;
  const OrderedOperands at = operands_in_order(builder, *pair, enclosed.output);
  const bool is_maximum = enclosed.node.op == ir::Op(AtenOp::maximum_default);
  builder.call(is_maximum ? "cortex_m::maximum" : "cortex_m::minimum", {at.a, at.b}, at.output);
  return true;
}

using Function = std::function<double(double)>;

double sigmoid(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

double gelu(double x) {
  return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
}

// The function of an operator without attributes.
Function plain_function(AtenOp op) {
  switch (op) {
    case AtenOp::sigmoid_default:
      return sigmoid;
    case AtenOp::tanh_default:
      return [](double x) { return std::tanh(x); };
    case AtenOp::exp_default:
      return [](double x) { return std::exp(x); };
    case AtenOp::log_default:
      return [](double x) { return std::log(x); };
    case AtenOp::sqrt_default:
      return [](double x) { return std::sqrt(x); };
    case AtenOp::rsqrt_default:
      return [](double x) { return 1 / std::sqrt(x); };
    case AtenOp::reciprocal_default:
      return [](double x) { return 1 / x; };
    case AtenOp::neg_default:
      return [](double x) { return -x; };
    case AtenOp::abs_default:
      return [](double x) { return std::abs(x); };
    default:
      return nullptr;
  }
}

// The value of a binary node's other operand, if it is a constant with a single value.
std::optional<double> constant_number(const IntegerBuilder& builder, ValueId id) {
  const ir::Value& value = builder.graph()[id];
  if (!value.constant || value.shape.elements() != 1) return std::nullopt;
  const auto numbers = numbers_of(*value.constant);
  return numbers ? std::optional(numbers->front()) : std::nullopt;
}

Function with_number(const ir::Node& node, double number) {
  switch (node.op.aten()) {
    case AtenOp::mul_Tensor:
    case AtenOp::mul_Scalar:
      return [number](double x) { return x * number; };
    case AtenOp::div_Tensor:
    case AtenOp::div_Scalar:
      return [number](double x) { return x / number; };
    case AtenOp::add_Tensor:
    case AtenOp::add_Scalar:
      return [number, alpha = node.attributes.number("alpha")](double x) { return x + alpha * number; };
    case AtenOp::sub_Tensor:
    case AtenOp::sub_Scalar:
      return [number, alpha = node.attributes.number("alpha")](double x) { return x - alpha * number; };
    default:
      return nullptr;
  }
}

// The function that a node computes of its one variable operand. Returns an empty function if there is none.
Function function_of(const IntegerBuilder& builder, const ir::Node& node) {
  if (const auto limits = limits_of(node))
    return [limits = *limits](double x) { return std::min(std::max(x, limits.low), limits.high); };
  const AtenOp op = node.op.aten();
  if (op == AtenOp::gelu_default)
    return node.attributes.get<std::string>("approximate") == "none" ? Function(gelu) : nullptr;
  if (op == AtenOp::leaky_relu_default)
    return [slope = node.attributes.number("negative_slope")](double x) { return x < 0 ? x * slope : x; };
  const auto other = node.attributes.find("other");
  if (node.inputs.size() == 1 && other != nullptr) return with_number(node, node.attributes.number("other"));
  if (node.inputs.size() != 2) return node.inputs.size() == 1 ? plain_function(op) : nullptr;
  const auto number = constant_number(builder, node.inputs[1]);
  return number ? with_number(node, *number) : nullptr;
}

// The outputs for the inputs -128 to 127, 256 in all. Halves are rounded away from zero. Where the function is
// undefined, the nearest defined output is used, as in build_activation_lut of ExecuTorch's Cortex-M backend. The
// result is empty if the function is defined nowhere.
std::vector<int64_t> table_of(const Function& function, const Quantization& from, const Enclosed& enclosed) {
  std::vector<int64_t> table(256);
  std::vector<bool> defined(256);
  const Quantization& to = enclosed.to;
  for (int64_t code = -128; code < 128; ++code) {
    const auto at = static_cast<size_t>(code + 128);
    const double y = function(static_cast<double>(code - from.zero_point()) * from.scale());
    if (std::isnan(y)) continue;
    const double integer = std::round(y / to.scale() + static_cast<double>(to.zero_point()));
    table[at] = static_cast<int64_t>(
        std::clamp(integer, static_cast<double>(enclosed.low), static_cast<double>(enclosed.high)));
    defined[at] = true;
  }
  const auto distance = [&](size_t a, size_t b) { return a > b ? a - b : b - a; };
  for (size_t at = 0; at < table.size(); ++at) {
    if (defined[at]) continue;
    size_t nearest = table.size();
    for (size_t other = 0; other < table.size(); ++other) {
      if (defined[other] && (nearest == table.size() || distance(other, at) < distance(nearest, at))) nearest = other;
    }
    if (nearest == table.size()) return {};
    table[at] = table[nearest];
  }
  return table;
}

void call_table(IntegerBuilder& builder, ValueId from, const std::vector<int64_t>& table, ValueId output) {
  const ValueId values = builder.constant(builder.graph()[output].name + "_table", DType::kInt8, Shape{256}, table);
  const bool last = builder.is_channels_last(from);
  const ValueId in = last ? builder.channels_last(from) : builder.plain(from);
  builder.call("cortex_m::quantized_activation", {in, values}, last ? builder.written_channels_last(output) : output);
}

}  // namespace

std::optional<Interval64> limits_of(const ir::Node& node) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto bound = [&](std::string_view name, double otherwise) {
    return node.attributes.is_none(name) ? otherwise : node.attributes.number(name);
  };
  if (!node.op.is_aten()) return std::nullopt;
  switch (node.op.aten()) {
    case AtenOp::relu_default:
      return Interval64{.low = 0, .high = kInfinity};
    case AtenOp::relu6_default:
      return Interval64{.low = 0, .high = 6};
    case AtenOp::hardtanh_default:
      return Interval64{.low = bound("min_val", -1), .high = bound("max_val", 1)};
    case AtenOp::clamp_default:
      return Interval64{.low = bound("min", -kInfinity), .high = bound("max", kInfinity)};
    default:
      return std::nullopt;
  }
}

bool by_table(IntegerBuilder& builder, const Enclosed& enclosed) {
  if (enclosed.node.inputs.empty()) return false;
  const auto from = builder.integers_of(enclosed.node.inputs[0]);
  if (!from || !is_int8(from->quantization)) return false;
  const Function function = function_of(builder, enclosed.node);
  if (!function) return false;
  const std::vector<int64_t> table = table_of(function, from->quantization, enclosed);
  if (table.empty()) return false;
  call_table(builder, from->value, table, enclosed.output);
  return true;
}

bool requantized(IntegerBuilder& builder, const Integers& from, const Quantization& to, ValueId output) {
  if (!is_int8(from.quantization)) return false;
  const ir::Node none{
      .op = AtenOp::clone_default, .name = {}, .inputs = {}, .outputs = {}, .attributes = {}, .source = {}};
  const Enclosed same{.node = none, .to = to, .low = to.qmin, .high = to.qmax, .output = output};
  call_table(builder, from.value, table_of([](double x) { return x; }, from.quantization, same), output);
  return true;
}

IntegerKernel integer_elementwise(AtenOp op) {
  switch (op) {
    case AtenOp::add_Tensor:
    case AtenOp::sub_Tensor:
      return add;
    case AtenOp::mul_Tensor:
      return multiply;
    case AtenOp::maximum_default:
    case AtenOp::minimum_default:
      return extreme;
    default:
      return nullptr;
  }
}

}  // namespace carina::pte
