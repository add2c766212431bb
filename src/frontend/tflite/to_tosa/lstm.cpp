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
// are nodes, which all gates share. z is -|x| in Q3.12, doubled for tanh:
//   z = 1024 * quarters + rest      0 <= rest < 1024
//   e = exp(rest - 1024)            two tables: of even rests, and of the differences to odd ones
//   e = e * f_0 * ... * f_4         factors by `quarters`: exp(-1/4), exp(-1/2) ... where its bit is set, else 1
//   r = 2 / (1 + e)                 three Newton steps in Q2.13
//   logistic(x) = (32767 + sign * (4 r - 32767)) / 2        tanh(x) = sign * (4 r - 32768)
// The differences saturate to int16. Every product is rounded half up to 15 bits. The results of all 65,536 values of x
// are those of LiteRT. docs/adr/0112 says what was tried instead.
namespace carina::tflite {

namespace {

using ir::ValueId;

constexpr int64_t kQuarter = 1024;     // 1/4 in Q3.12
constexpr int64_t kOneQ15 = 32768;     // 1 in Q0.15
constexpr int64_t kMaxQuarters = 128;  // exp(-32) is 0
constexpr size_t kFactorSlots = 5;

int64_t product_15(int64_t a, int64_t b) {
  return (a * b + (1 << 14)) >> 15;
}

// Entries of TOSA tables by rest / 2: the exponentials of even rests, and what an odd rest adds. Between two entries
// there are no indices, so the last one, of 1024, is never read.
struct RestTables {
  std::vector<int64_t> even, more;
};
RestTables rest_tables() {
  RestTables out;
  for (int rest = 0; rest < kQuarter; rest += 2) {
    out.even.push_back(exp_of_rest_16(rest));
    out.more.push_back(exp_of_rest_16(rest + 1) - exp_of_rest_16(rest));
  }
  out.even.push_back(out.even.back());
  out.more.push_back(out.more.back());
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
    if (largest == 0) factors = {0, kOneQ15, kOneQ15, kOneQ15, kOneQ15};
    CARINA_CHECK(largest == 0 || used <= kFactorSlots, "{} quarters have too many factors", quarters);
  }
  return out;
}

// What differs between the functions of a row of gates.
struct Activations {
  std::vector<int64_t> z_of_input;  // x times this is z
  std::vector<int64_t> less;        // taken from 4 r
  void add(int64_t columns, bool is_tanh, int64_t z) {
    z_of_input.insert(z_of_input.end(), static_cast<size_t>(columns), -z);
    less.insert(less.end(), static_cast<size_t>(columns), is_tanh ? 32768 : 32767);
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
        rests_(rest_tables()) {
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
    factors_ = factors_by_quarters();
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
  ValueId row_of(const std::vector<int64_t>& values) {
    const bool is_one = std::ranges::all_of(values, [&](int64_t value) { return value == values.front(); });
    if (is_one) return number(values.front());
    return out_.reshape(out_.integers(DType::kInt32, values), Shape{1, static_cast<int64_t>(values.size())});
  }
  ValueId columns(ValueId value, size_t gate) {
    return out_.slice(value, {0, static_cast<int64_t>(gate) * cells_}, Shape{batches_, cells_});
  }
  // a * b / 2^shift in int32, rounded half up. Operands of int16 have no shift.
  ValueId product(ValueId a, ValueId b, int shift) {
    const auto shape = broadcast(out_.shape(a), out_.shape(b));
    return out_.emit(TosaOp::MUL, {a, b, out_.integer(DType::kInt8, shift)}, {},
                     {.dtype = DType::kInt32, .shape = *shape, .suffix = "product"});
  }
  // value / 2^by, rounded half up or down.
  ValueId shifted_right(ValueId value, int by, bool round) {
    return out_.emit(TosaOp::ARITHMETIC_RIGHT_SHIFT, {value, number(by)}, {{"round", round}},
                     {.dtype = DType::kInt32, .shape = out_.shape(value), .suffix = "shifted"});
  }
  // A magnitude below 2^15 in int32 with this sign.
  ValueId with_sign(ValueId magnitude, ValueId sign) {
    return product(call_.narrowed(magnitude, DType::kInt16, 0), sign, 0);
  }
  Signed split_sign(ValueId value) {
    const ValueId sign = out_.clamp(value, int64_t{-1}, int64_t{1});
    return {.sign = sign, .magnitude = product(value, sign, 0)};
  }

  ValueId products(ValueId input, size_t operand, size_t weights, bool has_bias);
  ValueId gate_sums(ValueId from_input, ValueId hidden);
  ValueId table_entry(ValueId index, const std::vector<int64_t>& entries);
  ValueId exponential(ValueId z);
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
  RestTables rests_;
  std::vector<Factors> factors_;
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

// One factor of exp by the number of quarters, an int8 value below 0: two tables of bytes, which are one on an NPU.
ValueId Unrolled::factor(ValueId quarters, size_t slot) {
  constexpr int64_t kMiddle = kOneQ15 / 2;
  const auto of = [&](int64_t x) { return factors_[static_cast<size_t>(x < 0 ? -1 - x : 0)][slot] - kMiddle; };
  const ValueId high = call_.looked_up(quarters, [&](int64_t x) { return of(x) >> 8; });
  const ValueId low = call_.looked_up(quarters, [&](int64_t x) { return (of(x) & 0xff) - 128; });
  const ValueId sum =
      binary(TosaOp::ADD, product(out_.cast(high, DType::kInt32), number(256), 0), out_.cast(low, DType::kInt32));
  return binary(TosaOp::ADD, sum, number(kMiddle + 128));
}

ValueId Unrolled::table_entry(ValueId index, const std::vector<int64_t>& entries) {
  const ValueId fine = out_.emit(TosaOp::TABLE, {index, out_.integers(DType::kInt16, entries)}, {},
                                 {.dtype = DType::kInt32, .shape = out_.shape(index), .suffix = "table"});
  const Multiplier per_entry{.multiplier = 1 << 30, .exponent = -6};
  return out_.cast(call_.rescale(fine, {.multipliers = {per_entry}, .to = DType::kInt16, .rounding = ir::kSingleRound}),
                   DType::kInt32);
}

// exp(z) in Q0.15 of z in [-128, 0] in Q3.12; of 0 it is that of -1/4, and its sign is 0.
ValueId Unrolled::exponential(ValueId z) {
  const ValueId whole = shifted_right(z, 10, false);
  const ValueId pair = shifted_right(z, 1, false);
  const ValueId odd = binary(TosaOp::SUB, z, product(pair, number(2), 0));
  // rest / 2 * 128 - 32768: the first of a table's 513 entries belongs to -32768.
  const ValueId begin = binary(TosaOp::ADD, product(whole, number(kQuarter * 64), 0), number(kOneQ15));
  const ValueId index = call_.narrowed(binary(TosaOp::SUB, product(pair, number(128), 0), begin), DType::kInt16, 0);
  const ValueId more = binary(TosaOp::MUL, odd, table_entry(index, rests_.more));
  ValueId e = binary(TosaOp::ADD, table_entry(index, rests_.even), more);
  const ValueId quarters = out_.cast(whole, DType::kInt8);
  for (size_t slot = 0; slot < kFactorSlots; ++slot) e = product(e, factor(quarters, slot), 15);
  return e;
}

// 2 / (1 + e) in Q2.13 of e in Q0.15.
ValueId Unrolled::reciprocal(ValueId e) {
  constexpr int64_t k48Over17 = 23130, kMinus32Over17 = -15420, kOne = 1 << 13;
  const ValueId half = shifted_right(binary(TosaOp::ADD, e, number(kOneQ15 - 1)), 1, true);
  ValueId r = binary(TosaOp::ADD, product(half, number(kMinus32Over17), 15), number(k48Over17));
  for (int step = 0; step < 3; ++step) {
    const ValueId error = binary(TosaOp::SUB, number(kOne), product(half, r, 15));
    r = binary(TosaOp::ADD, r, product(product(r, error, 15), number(4), 0));
  }
  return r;
}

// 4 r - less in int16, saturated: tanh of a magnitude, and twice the logistic function less 1/2.
ValueId Unrolled::unsigned_results(ValueId magnitude, const Activations& activations) {
  ValueId z = product(magnitude, row_of(activations.z_of_input), 0);
  if (std::ranges::min(activations.z_of_input) * kOneQ15 < -kMaxQuarters * kQuarter)
    z = binary(TosaOp::MAXIMUM, z, number(-kMaxQuarters * kQuarter));
  const ValueId r = product(reciprocal(exponential(z)), number(4), 0);
  return call_.narrowed(binary(TosaOp::SUB, r, row_of(activations.less)), DType::kInt16, 0);
}

ValueId Unrolled::next_cell(ValueId sums, const Signed& cell) {
  const Signed gates = split_sign(sums);
  const ValueId values = unsigned_results(gates.magnitude, gate_activations_);
  const size_t logistics = gates_.size() - 1;
  const int64_t wide = static_cast<int64_t>(logistics) * cells_;
  const auto of_logistics = [&](ValueId value) { return out_.slice(value, {0, 0}, Shape{batches_, wide}); };
  const ValueId opened = shifted_right(
      binary(TosaOp::ADD, product(of_logistics(gates.sign), of_logistics(values), 0), number(kOneQ15 - 1)), 1, true);
  const ValueId forget = columns(opened, logistics - 2);
  output_gate_ = columns(opened, logistics - 1);
  const ValueId input =
      gates_.front() == kInputGate ? columns(opened, 0) : binary(TosaOp::SUB, number(kOneQ15 - 1), forget);
  // Products are rounded half away from zero: magnitudes are rounded, and get their signs afterwards.
  const ValueId candidate = out_.cast(columns(values, logistics), DType::kInt32);
  const ValueId kept = with_sign(product(forget, cell.magnitude, 15), cell.sign);
  const ValueId added = with_sign(product(input, candidate, 30 + cell_log2_), columns(gates.sign, logistics));
  const float clip = call_.options().cell_clip;
  int64_t low = -kOneQ15, high = kOneQ15 - 1;
  if (clip > 0) {
    const auto steps = static_cast<int16_t>(std::min(clip / Call::scale(call_.in(kCellState)), 32767.0F));
    if (steps > 0) low = -steps, high = steps;
  }
  ValueId next = call_.narrowed(binary(TosaOp::ADD, kept, added), DType::kInt16, 0);
  if (high < kOneQ15 - 1) next = out_.clamp(next, low, high);
  return next;
}

ValueId Unrolled::next_hidden(const Signed& cell) {
  const ValueId bent = product(unsigned_results(cell.magnitude, cell_activations_), cell.sign, 0);
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
