#include "lower/ops/table_internal.h"
#include "lower/signs_internal.h"
#include "tensor/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

constexpr int kInterpolatedLog2 = 7;  // int16 tables: entries are 128 steps apart, and results have 7 extra bits
constexpr int64_t kEntries16 = 513;

// The function at x as a float32, as PyTorch computes it. If x is outside of the domain but within `step` of it, the
// result is the value in the middle of the part of the step that is inside.
float value_at(const RealFunction& function, float x, double step) {
  const auto value = static_cast<float>(function(x));
  if (!std::isnan(value)) return value;
  for (const double near : {x + step / 4, x - step / 4}) {
    const auto inside = static_cast<float>(function(near));
    if (!std::isnan(inside)) return inside;
  }
  return value;
}

// Entry i belongs to the i-th integer of the type, from the smallest.
std::vector<int64_t> entries8(const RealFunction& function, const Quantization& from, const Quantization& to) {
  std::vector<int64_t> entries;
  const auto scale = static_cast<float>(from.scale());
  for (int64_t q = -128; q <= 127; ++q) {
    const float x = static_cast<float>(q - from.zero_point()) * scale;
    entries.push_back(quantized(value_at(function, x, scale), to));
  }
  return entries;
}

struct Table16 {
  std::vector<int64_t> entries;
  int extra_log2;  // log2 of the entries per step of the result
};

double largest_magnitude(const std::vector<double>& values) {
  return std::abs(*std::ranges::max_element(values, {}, [](double v) { return std::abs(v); }));
}

double largest_rise(const std::vector<double>& values) {
  double rise = 0;
  for (size_t i = 1; i < values.size(); ++i) rise = std::max(rise, std::abs(values[i] - values[i - 1]));
  return rise;
}

// The number of extra bits of the entries. Of 32-bit and 8-bit results, as many as 16 bits allow for all values, and
// for the differences of neighbors. 16-bit results have none: an NPU would need several operations for them.
int extra_bits(const std::vector<double>& values, DType result) {
  constexpr double kMaxInt16 = 32767;
  const auto headroom = [](double max) {
    return static_cast<int>(std::floor(std::log2(kMaxInt16 / std::max(max, 1.0))));
  };
  const int bits = headroom(largest_magnitude(values)), rising = headroom(largest_rise(values));
  if (result == DType::kInt32) return std::min(bits, rising);
  if (rising < 0) return -1;
  return result == DType::kInt16 ? 0 : std::max(0, bits);
}

// Where the function is not defined, its values are those of the nearest entry where it is: a large step between
// entries would cost a bit.
void continue_undefined(std::vector<double>& values) {
  const auto from_neighbor = [](double& value, double neighbor) {
    if (std::isnan(value)) value = neighbor;
  };
  for (size_t i = 1; i < values.size(); ++i) from_neighbor(values[i], values[i - 1]);
  for (size_t i = values.size() - 1; i > 0; --i) from_neighbor(values[i - 1], values[i]);
  for (double& value : values) from_neighbor(value, 0);
}

// Entry i belongs to the integer 128 i - 32768. Its unit is the scale of the result, and its zero is the zero point.
// The entries of negative operands, if there are none, are the entry of 0: 1/x would step from one end of the range to
// the other there.
Table16 table16(const RealFunction& function, const Quantization& from, const Quantization& to, bool never_negative) {
  const double low = static_cast<double>(to.qmin - to.zero_point()),
               high = static_cast<double>(to.qmax - to.zero_point());
  std::vector<double> values;
  for (int64_t i = 0; i < kEntries16; ++i) {
    const auto x =
        static_cast<float>(static_cast<double>(-32768 + (i << kInterpolatedLog2) - from.zero_point()) * from.scale());
    const double steps = value_at(function, x, from.scale()) / to.scale();
    values.push_back(std::isnan(steps) ? steps : std::clamp(steps, low, high));
  }
  continue_undefined(values);
  if (never_negative) {
    const int64_t zero = (from.zero_point() + 32768) >> kInterpolatedLog2;  // the last entry at 0 or below
    std::fill_n(values.begin(), zero, values[static_cast<size_t>(zero)]);
  }
  Table16 table{.entries = {}, .extra_log2 = extra_bits(values, to.dtype)};
  // The rise between two neighbors may be the whole range of 16 bits. Half of the values are stored then, so that the
  // rise fits 16 bits.
  const bool halves = table.extra_log2 < 0 && to.dtype != DType::kInt32;
  const double max = halves ? 16383 : 32767, min = halves ? -16384 : -32768;
  for (const double v : values)
    table.entries.push_back(static_cast<int64_t>(std::clamp(std::round(std::ldexp(v, table.extra_log2)), min, max)));
  return table;
}

ValueId by_table8(Lowering& in, const Node& node, const RealFunction& function) {
  const Quantization& from = in.quantization(node.inputs[0]);
  const Quantization& to = in.quantization(node.outputs[0]);
  const ValueId table =
      in.out.constant(node.name + ".table", integer_tensor(DType::kInt8, Shape{256}, entries8(function, from, to)));
  const ValueId input = in.operand(node.inputs[0]);
  return in.out.emit(TosaOp::TABLE, {input, table}, {},
                     {.dtype = DType::kInt8, .shape = in.out.shape(input), .suffix = "out"});
}

// An int8 quantization as int16: a scale 128 times finer, and zero point 0.
Quantization widened(const Quantization& q) {
  constexpr double kFiner = 128;
  Quantization wide = q;
  wide.dtype = DType::kInt16;
  wide.scales = {q.scale() / kFiner};
  wide.zero_points = {0};
  wide.qmin = -32768;
  wide.qmax = 32767;
  return wide;
}

ValueId by_table16(Lowering& in, const Node& node, const RealFunction& function) {
  const Quantization& given = in.quantization(node.inputs[0]);
  const Quantization& to = in.quantization(node.outputs[0]);
  const Quantization from = given.dtype == DType::kInt16 ? given : widened(given);
  const ValueId input = in.requantize(in.operand(node.inputs[0]), given, from);
  const Table16 table = table16(function, from, to, is_never_negative(in, node.inputs[0]));
  const ValueId entries =
      in.out.constant(node.name + ".table", integer_tensor(DType::kInt16, Shape{kEntries16}, table.entries));
  const ValueId wide = in.out.emit(TosaOp::TABLE, {input, entries}, {},
                                   {.dtype = DType::kInt32, .shape = in.out.shape(input), .suffix = "acc"});
  ValueId result = wide;
  int fraction_log2 = kInterpolatedLog2 + table.extra_log2;
  // NPUs look up 16 bits in one operation, and 23 in several. Eight bits need no more than 16 before they are rounded.
  if (to.dtype == DType::kInt8) {
    result = in.out.rescale(
        wide, {.scales = {std::ldexp(1.0, -kInterpolatedLog2)}, .input_zp = 0, .output_zp = 0, .to = DType::kInt16});
    fraction_log2 = table.extra_log2;
  }
  const double factor = std::ldexp(1.0, -fraction_log2);
  return in.within_range(
      in.out.rescale(result, {.scales = {factor}, .input_zp = 0, .output_zp = to.zero_point(), .to = to.dtype}), to);
}

}  // namespace

ValueId by_table(Lowering& in, const Node& node, const RealFunction& function) {
  const bool narrow =
      in.quantization(node.inputs[0]).dtype == DType::kInt8 && in.quantization(node.outputs[0]).dtype == DType::kInt8;
  return narrow ? by_table8(in, node, function) : by_table16(in, node, function);
}

Rejected takes_table(const Candidate& c) {
  for (const ir::Value* value : {&c.input(0), &c.output()}) {
    const DType type = Candidate::type_of(*value);
    if (type == DType::kInt8 || type == DType::kInt16 || (type == DType::kInt32 && value == &c.output())) continue;
    return rejected(
        "types.table",
        fmt::format("{} is {}, {} has tables for int8 and int16", value->name, name_of(type), c.target.name),
        "quantize to int8");
  }
  return std::nullopt;
}

}  // namespace carina::lower
