#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "plan/select/emit_internal.h"
#include "plan/select/rules.h"

// TABLE as the NPU's lookup tables.
namespace carina::plan {
namespace {

constexpr size_t kSteps = 512;  // of an int16 table: one entry per 128 inputs
constexpr int kFractionBits = 7;

TensorId table_constant(Selection& s, std::span<const std::byte> bytes) {
  return s.new_constant("table", bytes, {static_cast<int64_t>(bytes.size())}, 1);
}

// 512 words: base in the low half, slope in the high half; result = base + slope * fraction / 128, rounded half up.
TensorId interpolation_table(Selection& s, const std::function<int16_t(size_t)>& base,
                             const std::function<int16_t(size_t)>& slope) {
  std::array<uint32_t, kSteps> words{};
  for (size_t i = 0; i < kSteps; ++i) {
    words[i] = static_cast<uint16_t>(base(i)) | static_cast<uint32_t>(static_cast<uint16_t>(slope(i))) << 16;
  }
  return table_constant(s, std::as_bytes(std::span(words)));
}

// The low 16 bits of the step after entry i. A step with more bits has no result in TOSA (note_steep_tables()).
int16_t slope_at(const std::vector<int64_t>& values, size_t i) {
  return static_cast<int16_t>(values[i + 1] - values[i]);
}

std::optional<LookupTable> table_of_8(Selection& s, const ir::Node& node, const std::vector<int64_t>& values) {
  constexpr size_t kEntries = 256;
  if (values.size() != kEntries) return std::nullopt;
  std::array<int8_t, kEntries> bytes{};
  for (size_t i = 0; i < kEntries; ++i) bytes[i] = static_cast<int8_t>(values[i]);
  return LookupTable{
      .tensor = table_constant(s, std::as_bytes(std::span(bytes))), .in = kSigned8, .value = node.outputs[0]};
}

std::optional<LookupTable> table_of_16(Selection& s, const ir::Node& node, const std::vector<int64_t>& values) {
  if (values.size() != kSteps + 1) return std::nullopt;
  // The table's result has 7 fraction bits; the NPU's is already rounded, so a RESCALE by exactly 2^-7 must follow.
  const ir::NodeId next = s.sole_user(node.outputs[0]);
  if (!next.valid() || s.graph().nodes[next.index()].op != ir::Op(TosaOp::RESCALE)) return std::nullopt;
  const auto r = s.rescale_of(s.graph().nodes[next.index()]);
  const Scaling expected{{.multiplier = 1, .shift = kFractionBits}, Rounding::kSingle};
  if (!r || r->per_channel || r->input_zp != 0 || r->output_zp != 0 || r->out != kSigned16 ||
      simplified(r->scaling()) != expected)
    return std::nullopt;
  const TensorId tensor = interpolation_table(
      s, [&](size_t i) { return static_cast<int16_t>(values[i]); }, [&](size_t i) { return slope_at(values, i); });
  return LookupTable{
      .tensor = tensor, .in = kSigned16, .value = s.graph().nodes[next.index()].outputs[0], .second = next};
}

}  // namespace

std::optional<LookupTable> table_of(Selection& s, ir::NodeId table) {
  const ir::Node& node = s.graph().nodes[table.index()];
  const auto values = s.constant(node.inputs[1], "table");
  if (!values) return std::nullopt;
  switch (s.value(node.inputs[0]).dtype) {
    case DType::kInt8:
      return table_of_8(s, node, *values);
    case DType::kInt16:
      return table_of_16(s, node, *values);
    default:
      return std::nullopt;
  }
}

namespace {

View look_up(Selection& s, const Operand& a, TensorId table) {
  const View out = s.new_tensor("looked up", a.view.shape(), a.type);
  Epilogue epilogue = store_only({}, a.type);
  epilogue.activation.table = table;
  emit_requantize(s, out, a, epilogue);
  return out;
}

// All 23 bits of an interpolated result: base * 128 + slope * fraction. If the NPU's own results have 16 bits, each
// part is looked up on its own.
Result<void> full_table_16(Selection& s, const Operand& a) {
  CARINA_TRY(const std::vector<int64_t> values, s.constant(s.input(1), "table"));
  if (values.size() != kSteps + 1)
    return s.reject("the table has another size", std::to_string(kSteps + 1), std::to_string(values.size()));
  const auto base_at = [&](size_t i) { return static_cast<int16_t>(values[i]); };
  const auto slope_of = [&](size_t i) { return slope_at(values, i); };
  if (s.family().abilities.wide_tables) {
    const View out = s.open_like(s.output(), a.view);
    Epilogue epilogue = store_only(s.output(), kSigned32);
    epilogue.activation.table = interpolation_table(s, base_at, slope_of);
    emit_requantize(s, out, a, epilogue);
    s.close(s.output(), out, kSigned32);
    return {};
  }
  const auto zero = [](size_t) { return int16_t{0}; };
  const View base = look_up(s, a, interpolation_table(s, base_at, zero));
  const View slope = look_up(s, a, interpolation_table(s, slope_of, zero));
  const View fraction = look_up(s, a, interpolation_table(s, zero, [](size_t) { return int16_t{1 << kFractionBits}; }));
  const Shape shape = s.shape(s.output());
  const Epilogue store = store_only(s.output(), kSigned32);
  const auto wide = [&](const View& view) { return Operand{.view = view, .type = kSigned32}; };
  const auto narrow = [&](const View& view) { return Operand{.view = view, .type = kSigned16}; };
  const View shifted = s.new_tensor("base", shape, kSigned32), product = s.new_tensor("slope", shape, kSigned32);
  emit_elementwise(s, shifted,
                   {.mode = npu::ElementwiseMode::MUL,
                    .a = narrow(base),
                    .b = {.view = {}, .type = kSigned16},
                    .scalar = 1 << kFractionBits,
                    .operands = {}},
                   store);
  emit_elementwise(s, product,
                   {.mode = npu::ElementwiseMode::MUL, .a = narrow(slope), .b = narrow(fraction), .operands = {}},
                   store);
  const View out = s.open(s.output(), shape);
  emit_elementwise(s, out, {.mode = npu::ElementwiseMode::ADD, .a = wide(shifted), .b = wide(product), .operands = {}},
                   store);
  s.close(s.output(), out, kSigned32);
  return {};
}

// A table of bytes as arithmetic: clamp(scaling * d + zero_point, min, max), where d is x - input_zero_point, or its
// magnitude.
struct Line {
  bool of_magnitude = false;
  int64_t input_zero_point = 0;
  int64_t zero_point = 0;
  Scaling scaling = {};
  int64_t min = 0;
  int64_t max = 0;

  [[nodiscard]] int64_t distance(int64_t x) const {
    const int64_t d = x - input_zero_point;
    return of_magnitude ? std::abs(d) : d;
  }
  [[nodiscard]] int64_t operator()(int64_t x) const {
    const int64_t half = int64_t{1} << (scaling.shift - 1);
    const int64_t scaled = (distance(x) * static_cast<int64_t>(scaling.multiplier) + half) >> scaling.shift;
    return std::clamp(scaled + zero_point, min, max);
  }
};

constexpr int64_t kFirst8 = -128, kLast8 = 127;

// The factors with which every entry rounds to its value, from the first to before the second; empty if they are not in
// order.
//   Example: 3 at distance 2 from a zero of 1 allows 0.75 <= factor < 1.25.
std::pair<double, double> factors_of(const Line& line, const std::vector<int64_t>& values) {
  double low = 0, high = 256;
  for (int64_t x = kFirst8; x <= kLast8; ++x) {
    const int64_t value = values[static_cast<size_t>(x - kFirst8)], d = line.distance(x);
    // A value at a limit may be clamped, so that it bounds one side only.
    const double least = value == line.min ? -1e9 : static_cast<double>(value - line.zero_point) - 0.5;
    const double most = value == line.max ? 1e9 : static_cast<double>(value - line.zero_point) + 0.5;
    if (d == 0 && (least > 0 || most <= 0)) return {1, 0};
    if (d == 0) continue;
    const auto steps = static_cast<double>(d);
    low = std::max(low, (d > 0 ? least : most) / steps);
    high = std::min(high, (d > 0 ? most : least) / steps);
    if (low >= high) break;
  }
  return {low, high};
}

// Whether the entries between the limits may lie on a line: then two neighbors differ by the factor, rounded down or
// up.
//   Example: 2, 3, 3, 4, 5 may (differences 1, 0, 1, 1). A sigmoid's entries differ by 0 to 4, so no line is sought.
bool may_be_line(const std::vector<int64_t>& values, int64_t min, int64_t max) {
  int64_t least = std::numeric_limits<int64_t>::max(), most = 0;
  const auto is_between = [&](int64_t value) { return min < value && value < max; };
  for (size_t i = 1; i < values.size(); ++i) {
    if (!is_between(values[i - 1]) || !is_between(values[i])) continue;
    const int64_t difference = std::abs(values[i] - values[i - 1]);
    least = std::min(least, difference);
    most = std::max(most, difference);
  }
  return least > most || most - least <= 1;
}

// The line through all entries, if there is one. Its zero is at one of the 256 inputs, of which the entry is the zero
// point of the result.
std::optional<Line> line_of(const std::vector<int64_t>& values) {
  constexpr int kMultiplierBits = 24;
  const auto [least, most] = std::ranges::minmax(values);
  if (least == most || !may_be_line(values, least, most)) return std::nullopt;
  for (const bool of_magnitude : {false, true}) {
    for (int64_t zero = kFirst8; zero <= kLast8; ++zero) {
      Line line{.of_magnitude = of_magnitude,
                .input_zero_point = zero,
                .zero_point = values[static_cast<size_t>(zero - kFirst8)],
                .min = least,
                .max = most};
      const auto [low, high] = factors_of(line, values);
      if (low >= high) continue;
      int exponent = 0;
      const double mantissa = std::frexp((low + high) / 2, &exponent);
      const int shift = kMultiplierBits - exponent;
      if (mantissa <= 0 || shift < 2 || shift > 40) continue;
      line.scaling = {
          {.multiplier = static_cast<uint32_t>(std::lround(std::ldexp(mantissa, kMultiplierBits))), .shift = shift},
          Rounding::kSingle};
      int64_t x = kFirst8;
      if (std::ranges::all_of(values, [&](int64_t value) { return line(x++) == value; })) return line;
    }
  }
  return std::nullopt;
}

// A lookup of bytes without its table, which takes time to load, where a scaling and limits give the same: one of RELU
// or ABS, for example.
std::optional<Line> line_of_table(const Selection& s, const Operand& a) {
  if (a.type != kSigned8 || !s.options().uses(Optimization::kActivations)) return std::nullopt;
  const auto values = s.constant(s.node().inputs[1], "table");
  return values && values->size() == static_cast<size_t>(kLast8 - kFirst8 + 1) ? line_of(*values) : std::nullopt;
}

void emit_line(Selection& s, const View& out, Operand from, const Line& line) {
  Epilogue epilogue = store_only(s.output(), from.type);
  epilogue.zero_point = line.zero_point;
  epilogue.factors = {line.scaling};
  epilogue.scaled = true;
  epilogue.activation.min = line.min;
  epilogue.activation.max = line.max;
  from.zero_point = line.input_zero_point;
  if (!line.of_magnitude) return emit_requantize(s, out, from, epilogue);
  emit_elementwise(s, out, {.mode = npu::ElementwiseMode::ABS, .a = from, .b = {}, .has_b = false, .operands = {}},
                   epilogue);
}

}  // namespace

void Selection::note_steep_tables() const {
  for (const ir::Node& node : graph_.nodes) {
    if (node.op != ir::Op(TosaOp::TABLE) || value(node.inputs[0]).dtype != DType::kInt16) continue;
    const auto values = constant(node.inputs[1], "table");
    if (!values || values->size() != kSteps + 1) continue;
    size_t steep = 0, first = 0;
    for (size_t i = kSteps; i-- > 0;) {
      if ((*values)[i + 1] - (*values)[i] == slope_at(*values, i)) continue;
      ++steep;
      first = i;
    }
    if (steep == 0) continue;
    const auto lowest = (static_cast<int64_t>(first) << kFractionBits) - 32768;
    log_.note(
        {.where = place_of(node),
         .what = fmt::format("{} of {} steps of the table need more than 16 bits: TOSA defines no result for such "
                             "inputs, and the NPU uses the low 16 bits of the step, as in Vela's streams",
                             steep, kSteps),
         .got = fmt::format("entry {} is {}, entry {} is {} (inputs {} to {})", first, (*values)[first], first + 1,
                            (*values)[first + 1], lowest, lowest + (1 << kFractionBits) - 1),
         .hint = "`carina interpret` reports inputs that reach such a step",
         .severity = Severity::kWarning});
  }
}

Result<void> select_table(Selection& s) {
  const Operand a = s.plain(s.input(0));
  if (const auto line = line_of_table(s, a)) {
    const View out = s.open_like(s.output(), a.view);
    emit_line(s, out, a, *line);
    s.close(s.output(), out, a.type);
    return {};
  }
  const auto table = table_of(s, s.node_id());
  if (!table) {
    if (a.type == kSigned16) return full_table_16(s, a);
    return s.reject("this table is not supported", "a constant table of int8 or int16");
  }
  if (table->second.valid()) s.absorb(table->second);
  Epilogue epilogue = store_only(table->value, a.type);
  epilogue.activation.table = table->tensor;
  const View out = s.open_like(table->value, a.view);
  emit_requantize(s, out, a, epilogue);
  s.close(table->value, out, a.type);
  return {};
}

}  // namespace carina::plan
