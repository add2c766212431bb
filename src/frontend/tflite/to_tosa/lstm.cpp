#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "frontend/tflite/kernels/fixed_point_16_internal.h"
#include "frontend/tflite/kernels/lstm_internal.h"
#include "frontend/tflite/to_tosa/ops_internal.h"
#include "tensor/elements.h"

// UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with an int16 cell state, unrolled over time. kernels/lstm.cpp has the
// equations. The gates are one matrix product each for the inputs of all steps and for the state of one step.
//
// The logistic function and tanh are gemmlowp's, in 16 bits, and no function of an NPU has their bits. So their steps
// are nodes, which all gates share. w is |x| in Q3.12, doubled for tanh:
//   -w = rest - 1024 - 1024 * quarters      0 <= rest < 1024
//   e = exp(rest - 1024)                    two tables
//   e = e * f_0 * ... * f_3                 factors by `quarters`: exp(-1/4), exp(-1/2) ... for each bit that is set
//   r = 2 / (1 + e)                         three Newton steps in Q2.13
//   logistic(x) = (32767 + sign * (4 r - 32767)) / 2        tanh(x) = sign * (4 r - 32768)
// The differences saturate to int16. Every product is rounded half up to 15 bits. Only e / 2, rounded down, has an
// effect on r. The results of all 65,536 values of x are those of LiteRT. docs/adr/0112 and 0129 say what was tried
// instead.
//
// An NPU scales and adds 16-bit operands in one operation, so what fits 16 bits is stored so.
namespace carina::tflite {

namespace {

using ir::ValueId;

constexpr int64_t kQuarter = 1024;     // 1/4 in Q3.12
constexpr int64_t kOneQ15 = 32768;     // 1 in Q0.15
constexpr int64_t kMaxQuarters = 128;  // exp(-32) is 0
constexpr size_t kFactorSlots = 4;
// exp(-31/4) has five factors. These four give the same half of exp for all rests; found by a random search.
constexpr unsigned kFiveFactors = 31;
constexpr std::array<int64_t, kFactorSlots> kFourFactors = {19992, 4310, 11895, 484};

int64_t product_15(int64_t a, int64_t b) {
  return (a * b + (1 << 14)) >> 15;
}

// exp by the low 10 bits of the magnitude as a signed number v in [-512, 511], as the sum of two tables of 512 entries.
// One has the negative v, the other the rest. Where v belongs to the other table, the index saturates:
//   v                    -512 .. -1           0 .. 511
//   table of negatives   entry 512 + v        after the last entry: exp of v = 0
//   table of the rest    entry 0, which is 0  entry v: the difference to v = 0
struct ExpTables {
  std::vector<int64_t> negative, rest;
};
ExpTables exp_tables() {
  const auto exp = [](int64_t v) { return int64_t{exp_of_rest_16(static_cast<int>((511 - v) & (kQuarter - 1)))}; };
  ExpTables out;
  for (int64_t i = 0; i < kQuarter / 2; ++i) {
    out.negative.push_back(exp(i - kQuarter / 2));
    out.rest.push_back(exp(i) - exp(0));
  }
  out.negative.push_back(exp(0));
  out.rest.push_back(out.rest.back());
  return out;
}

// The factors of exp for each number of quarters below 0, the same number of them for all.
using Factors = std::array<int64_t, kFactorSlots>;
std::vector<Factors> factors_by_quarters() {
  std::vector<Factors> out;
  for (unsigned quarters = 0; quarters < kMaxQuarters; ++quarters) {
    Factors& factors = out.emplace_back();
    factors.fill(kOneQ15);
    // The exponential of the largest rest decides whether anything remains.
    int64_t largest = exp_of_rest_16(kQuarter - 1);
    size_t used = 0;
    for (unsigned left = quarters; left != 0; left &= left - 1) {
      const int64_t factor = exp_of_quarters_16(std::countr_zero(left));
      largest = product_15(largest, factor);
      if (used < kFactorSlots) factors[used] = factor;
      ++used;
    }
    if (largest == 0) factors = {0, kOneQ15, kOneQ15, kOneQ15};
    if (quarters == kFiveFactors) factors = kFourFactors;
    CARINA_CHECK(largest == 0 || used <= kFactorSlots || quarters == kFiveFactors, "{} quarters have too many factors",
                 quarters);
  }
  return out;
}

// The constants of all lookups.
struct Tables {
  ValueId negative, rest;
  // Of each factor less 2^14: the upper byte, and the lower one less 128, by the number of quarters and 1.
  std::array<ValueId, kFactorSlots> high, low;
};
constexpr int64_t kMiddle = kOneQ15 / 2;

Tables add_tables(ir::Emitter& out) {
  const ExpTables exps = exp_tables();
  Tables tables{.negative = out.integers(DType::kInt16, exps.negative),
                .rest = out.integers(DType::kInt16, exps.rest),
                .high = {},
                .low = {}};
  const std::vector<Factors> factors = factors_by_quarters();
  for (size_t slot = 0; slot < kFactorSlots; ++slot) {
    std::vector<int64_t> high, low;
    for (int64_t x = -128; x <= 127; ++x) {
      const int64_t factor = factors[static_cast<size_t>(x > 0 ? x - 1 : 0)][slot] - kMiddle;
      high.push_back(factor >> 8);
      low.push_back((factor & 0xff) - 128);
    }
    tables.high[slot] = out.integers(DType::kInt8, high);
    tables.low[slot] = out.integers(DType::kInt8, low);
  }
  return tables;
}

// The factor 2^log2 of a RESCALE.
Multiplier power_of_two(int log2) {
  return {.multiplier = 1 << 30, .exponent = log2 + 1};
}

// What differs between the functions of a row of gates.
struct Activations {
  std::vector<int64_t> w_of_magnitude;  // |x| times this is w
  std::vector<int64_t> more;            // added to 4 r
  void add(int64_t columns, bool is_tanh, int64_t w) {
    w_of_magnitude.insert(w_of_magnitude.end(), static_cast<size_t>(columns), w);
    more.insert(more.end(), static_cast<size_t>(columns), is_tanh ? -32768 : -32767);
  }
};

class Unrolled {
 public:
  Unrolled(Call& call, const KernelCall& checked)
      : call_(call),
        out_(call.out),
        time_first_(call.options().time_major),
        x_(call.in(0).shape),
        cells_(call.in(kCellState).shape[1]),
        tables_(add_tables(out_)) {
    // The gates that use the logistic function come first. Without weights of the input gate there is none.
    if (call.has(kInputWeights)) gates_.push_back(kInputGate);
    gates_.insert(gates_.end(), {kForgetGate, kOutputGate, kCellGate});
    const bool is_sequence = x_.rank() == 3;
    batches_ = is_sequence ? x_[time_first_ ? 1 : 0] : x_[0];
    steps_ = is_sequence ? x_[time_first_ ? 0 : 1] : 1;
    cell_log2_ = std::ilogb(Call::scale(call.in(kCellState)));
    hidden_ = &hidden_of(checked);
    for (const Gate gate : gates_) gate_activations_.add(cells_, gate == kCellGate, gate == kCellGate ? 2 : 1);
    cell_activations_.add(1, true, int64_t{1} << (13 + cell_log2_));
  }

  [[nodiscard]] int64_t steps() const { return steps_; }

  Result<void> make() {
    const ValueId from_input = out_.cast(products(call_.value(0), 0, kInputWeights, true), DType::kInt32);
    ValueId hidden = call_.value(kOutputState), cell = call_.value(kCellState);
    const int64_t columns = width();
    const ValueId rows =
        out_.reshape(from_input, time_first_ ? Shape{steps_, batches_, columns} : Shape{batches_, steps_, columns});
    std::vector<ValueId> results;
    Signed kept = split_sign(cell);
    for (int64_t t = 0; t < steps_; ++t) {
      const ValueId row = time_first_ ? out_.slice(rows, {t, 0, 0}, Shape{1, batches_, columns})
                                      : out_.slice(rows, {0, t, 0}, Shape{batches_, 1, columns});
      const ValueId sums = gate_sums(out_.reshape(row, Shape{batches_, columns}), hidden);
      cell = next_cell(sums, kept);
      kept = split_sign(cell);
      hidden = next_hidden(kept);
      results.push_back(out_.reshape(hidden, time_first_ ? Shape{1, batches_, cells_} : Shape{batches_, 1, cells_}));
    }
    call_.set_variable(kOutputState, hidden);
    call_.set_variable(kCellState, cell);
    return call_.set(results.size() == 1 ? results.front() : out_.concat(results, time_first_ ? 0 : 1));
  }

 private:
  struct Signed {
    ValueId sign;       // -1, 0 or 1, int16
    ValueId magnitude;  // int32
  };

  [[nodiscard]] int64_t width() const { return static_cast<int64_t>(gates_.size()) * cells_; }
  ValueId number(int64_t value) { return out_.splat(DType::kInt32, static_cast<double>(value), 2); }
  ValueId binary(TosaOp op, ValueId a, ValueId b) { return out_.binary(op, a, b); }
  ValueId row_of(DType dtype, const std::vector<int64_t>& values) {
    const bool is_one = std::ranges::all_of(values, [&](int64_t value) { return value == values.front(); });
    const std::span<const int64_t> stored(values.data(), is_one ? 1 : values.size());
    return out_.reshape(out_.integers(dtype, stored), Shape{1, static_cast<int64_t>(stored.size())});
  }
  ValueId number_16(int64_t value) { return row_of(DType::kInt16, {value}); }
  ValueId columns(ValueId value, size_t gate) {
    return out_.slice(value, {0, static_cast<int64_t>(gate) * cells_}, Shape{batches_, cells_});
  }
  ValueId wide(ValueId value) { return out_.cast(value, DType::kInt32); }
  // 4 times an int16 value, in int32.
  ValueId four_times(ValueId value) {
    return call_.rescale(value, {.multipliers = {power_of_two(2)}, .to = DType::kInt32, .rounding = ir::kSingleRound});
  }
  // value / 2^by, rounded half up, and saturated.
  ValueId fitted(ValueId value, int by = 0, DType to = DType::kInt16) {
    return call_.rescale(value, {.multipliers = {power_of_two(-by)}, .to = to, .rounding = ir::kSingleRound});
  }
  // a * b / 2^shift in int32, rounded half up. Operands of int16 have no shift.
  ValueId product(ValueId a, ValueId b, int shift) {
    const auto shape = broadcast(out_.shape(a), out_.shape(b));
    return out_.emit(TosaOp::MUL, {a, b, out_.integer(DType::kInt8, shift)}, {},
                     {.dtype = DType::kInt32, .shape = *shape, .suffix = "product"});
  }
  // The same of int16 operands, in int16.
  ValueId product_16(ValueId a, ValueId b, int shift) { return fitted(product(a, b, 0), shift); }
  Signed split_sign(ValueId value) {
    const ValueId sign = out_.clamp(value, int64_t{-1}, int64_t{1});
    return {.sign = sign, .magnitude = product(value, sign, 0)};
  }

  ValueId products(ValueId input, size_t operand, size_t weights, bool has_bias);
  ValueId gate_sums(ValueId from_input, ValueId hidden);
  ValueId table_entry(ValueId index, ValueId table);
  ValueId exponential(ValueId w);
  ValueId factor(ValueId quarters, size_t slot);
  ValueId reciprocal(ValueId e);
  ValueId unsigned_results(ValueId magnitude, const Activations& activations);
  ValueId next_cell(ValueId sums, const Signed& cell);
  ValueId next_hidden(const Signed& cell);

  Call& call_;
  ir::Emitter& out_;
  bool time_first_;
  Shape x_;
  int64_t cells_;
  int64_t batches_ = 1;
  int64_t steps_ = 1;
  int cell_log2_ = 0;
  std::vector<Gate> gates_;
  Activations gate_activations_;
  Activations cell_activations_;
  Tables tables_;
  const Tensor* hidden_ = nullptr;
  ValueId output_gate_;
};

// The products of the rows of `input` and the weights of all gates, in int16 of Q3.12, which saturates.
ValueId Unrolled::products(ValueId input, size_t operand, size_t weights, bool has_bias) {
  constexpr float kGateScale = 1.0F / 4096;
  const int64_t depth = call_.in(weights + kForgetGate).shape[1], rows = out_.shape(input).elements() / depth;
  std::vector<int64_t> matrix, bias;
  std::vector<Multiplier> multipliers;
  for (const Gate gate : gates_) {
    const Tensor& from = call_.in(weights + gate);
    const auto values = values_of<int8_t>(from.data.bytes());
    matrix.insert(matrix.end(), values.begin(), values.end());
    // LiteRT computes the scale in float.
    multipliers.resize(multipliers.size() + static_cast<size_t>(cells_),
                       multiplier_of(Call::scale(from) * Call::scale(call_.in(operand)) / kGateScale));
    if (has_bias) {
      const auto biases = values_of<int32_t>(call_.in(kGateBiases + gate).data.bytes());
      bias.insert(bias.end(), biases.begin(), biases.end());
    }
  }
  if (!has_bias) bias.assign(static_cast<size_t>(width()), 0);
  const ValueId filters = out_.constant(call_.in(weights + kForgetGate).name,
                                        integer_tensor(DType::kInt8, Shape{width(), 1, 1, depth}, matrix));
  const ValueId total = row_products(
      call_, {.rows = input, .matrix = filters, .bias = bias, .rows_zp = Call::zero_point(call_.in(operand))});
  // LiteRT saturates the products of the inputs, but of those of the state only the sum.
  const DType type = has_bias ? DType::kInt16 : DType::kInt32;
  return out_.reshape(call_.rescale(total, {.multipliers = multipliers, .to = type}), Shape{rows, width()});
}

ValueId Unrolled::gate_sums(ValueId from_input, ValueId hidden) {
  const ValueId from_state = products(hidden, kOutputState, kRecurrentWeights, false);
  return call_.narrowed(binary(TosaOp::ADD, from_input, from_state), DType::kInt16, 0);
}

// One factor of exp by the number of quarters and 1: two tables of bytes, which are one on an NPU.
ValueId Unrolled::factor(ValueId quarters, size_t slot) {
  const auto looked_up = [&](ValueId table) {
    return out_.emit(TosaOp::TABLE, {quarters, table}, {},
                     {.dtype = DType::kInt8, .shape = out_.shape(quarters), .suffix = "table"});
  };
  const ValueId high = looked_up(tables_.high[slot]), low = looked_up(tables_.low[slot]);
  const ValueId sum = binary(TosaOp::ADD, product(wide(high), number(256), 0), wide(low));
  return binary(TosaOp::ADD, sum, number(kMiddle + 128));
}

ValueId Unrolled::table_entry(ValueId index, ValueId table) {
  const ValueId fine = out_.emit(TosaOp::TABLE, {index, table}, {},
                                 {.dtype = DType::kInt32, .shape = out_.shape(index), .suffix = "table"});
  return fitted(fine, 7);
}

// exp(-w) in Q0.15 of w in Q3.12, above 0.
ValueId Unrolled::exponential(ValueId w) {
  const auto shift = [&](TosaOp op, ValueId value, int by, ir::Attributes attributes) {
    return out_.emit(op, {value, number(by)}, std::move(attributes),
                     {.dtype = DType::kInt32, .shape = out_.shape(value), .suffix = "shifted"});
  };
  constexpr int kQuarterLog2 = 10, kIndexLog2 = 7, kSpare = 2;
  // w and the number that makes a division by 1024, rounded half up, one that is rounded up.
  const ValueId u = binary(TosaOp::ADD, w, number(kQuarter / 2 - 1));
  const ValueId quarters = fitted(u, kQuarterLog2, DType::kInt8);
  // v * 2^20, and the indices of the tables: v * 128 + 32768 and v * 128 - 32768, which saturate.
  const ValueId v = shift(TosaOp::ARITHMETIC_RIGHT_SHIFT, shift(TosaOp::LOGICAL_LEFT_SHIFT, u, 32 - kQuarterLog2, {}),
                          kSpare, {{"round", true}});
  constexpr int kDown = 32 - kQuarterLog2 - kSpare - kIndexLog2;
  const ValueId half = number(kOneQ15 << kDown);
  const ValueId negative = table_entry(fitted(binary(TosaOp::ADD, v, half), kDown), tables_.negative);
  const ValueId rest = table_entry(fitted(binary(TosaOp::SUB, v, half), kDown), tables_.rest);
  ValueId e = binary(TosaOp::ADD, wide(negative), wide(rest));
  for (size_t slot = 0; slot < kFactorSlots; ++slot) e = product(e, factor(quarters, slot), 15);
  return e;
}

// 2 / (1 + e) in Q2.13 of e in Q0.15.
ValueId Unrolled::reciprocal(ValueId e) {
  constexpr int64_t k48Over17 = 23130, kMinus32Over17 = -15420, kOne = 1 << 13;
  const ValueId half = fitted(binary(TosaOp::ADD, e, number(kOneQ15 - 1)), 1);
  ValueId r =
      fitted(binary(TosaOp::ADD, wide(product_16(half, number_16(kMinus32Over17), 15)), wide(number_16(k48Over17))));
  for (int step = 0; step < 3; ++step) {
    const ValueId error = fitted(binary(TosaOp::SUB, wide(number_16(kOne)), wide(product_16(half, r, 15))));
    r = fitted(binary(TosaOp::ADD, four_times(product_16(r, error, 15)), wide(r)));
  }
  return r;
}

// 4 r - 32768 or 4 r - 32767 in int16, saturated: tanh of a magnitude, and twice the logistic function less 1/2.
ValueId Unrolled::unsigned_results(ValueId magnitude, const Activations& activations) {
  const ValueId w = product(magnitude, row_of(DType::kInt32, activations.w_of_magnitude), 0);
  const ValueId more = row_of(DType::kInt16, activations.more);
  return fitted(binary(TosaOp::ADD, four_times(reciprocal(exponential(w))), wide(more)));
}

ValueId Unrolled::next_cell(ValueId sums, const Signed& cell) {
  const Signed gates = split_sign(sums);
  const ValueId values = unsigned_results(gates.magnitude, gate_activations_);
  const size_t logistics = gates_.size() - 1;
  const int64_t width_of_logistics = static_cast<int64_t>(logistics) * cells_;
  const auto of_logistics = [&](ValueId value) {
    return out_.slice(value, {0, 0}, Shape{batches_, width_of_logistics});
  };
  const ValueId largest = wide(number_16(kOneQ15 - 1));
  const ValueId bent = product_16(of_logistics(gates.sign), of_logistics(values), 0);
  const ValueId opened = fitted(binary(TosaOp::ADD, wide(bent), largest), 1);
  const ValueId forget = columns(opened, logistics - 2);
  output_gate_ = columns(opened, logistics - 1);
  const ValueId input =
      gates_.front() == kInputGate ? columns(opened, 0) : fitted(binary(TosaOp::SUB, largest, wide(forget)));
  // Products are rounded half away from zero: magnitudes are rounded, and get their signs afterwards.
  const ValueId kept = product(fitted(product(wide(forget), cell.magnitude, 15)), cell.sign, 0);
  const ValueId added =
      product(product_16(input, columns(values, logistics), 30 + cell_log2_), columns(gates.sign, logistics), 0);
  const float clip = call_.options().cell_clip;
  int64_t low = -kOneQ15, high = kOneQ15 - 1;
  if (clip > 0) {
    const auto steps = static_cast<int16_t>(std::min(clip / Call::scale(call_.in(kCellState)), 32767.0F));
    if (steps > 0) low = -steps, high = steps;
  }
  ValueId next = fitted(binary(TosaOp::ADD, kept, added));
  if (high < kOneQ15 - 1) next = out_.clamp(next, low, high);
  return next;
}

ValueId Unrolled::next_hidden(const Signed& cell) {
  const ValueId bent = product_16(unsigned_results(cell.magnitude, cell_activations_), cell.sign, 0);
  const float scale = KernelCall::scale(*hidden_);
  const Multiplier multiplier = multiplier_of(static_cast<float>(std::ldexp(1.0, -15) / scale * std::ldexp(1.0, -15)));
  return call_.rescale(
      product(output_gate_, bent, 0),
      {.multipliers = {multiplier}, .output_zp = KernelCall::zero_point(*hidden_), .to = DType::kInt8});
}

}  // namespace

Result<void> sequence_lstm(Call& call) {
  const KernelCall known = call.kernel_call();
  CARINA_CHECKED(check_lstm(known, call.where()));
  const float cell_scale = Call::scale(call.in(kCellState));
  constexpr float kSmallest = 1.0F / 8192;
  if (cell_scale < kSmallest)
    return call.reject("the scale of the cell state is too small", "at least 2^-13", fmt::format("{}", cell_scale));
  constexpr int64_t kMaxSteps = 1024;
  Unrolled lstm(call, known);
  if (lstm.steps() > kMaxSteps)
    return call.reject("too many steps in time to unroll", fmt::format("at most {}", kMaxSteps),
                       fmt::to_string(lstm.steps()));
  return lstm.make();
}

}  // namespace carina::tflite
