#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "frontend/tflite/kernels/fixed_point_16_internal.h"
#include "frontend/tflite/to_tosa/lstm_internal.h"

// UNIDIRECTIONAL_SEQUENCE_LSTM with LiteRT's bits.
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

class LiteRtLstm final : public UnrolledLstm {
 public:
  LiteRtLstm(Call& call, const KernelCall& checked) : UnrolledLstm(call, checked), tables_(add_tables(out_)) {
    for (const Gate gate : gates_) gate_activations_.add(cells_, gate == kCellGate, gate == kCellGate ? 2 : 1);
    cell_activations_.add(1, true, int64_t{1} << (13 + cell_log2_));
  }

 private:
  struct Signed {
    ValueId sign;       // -1, 0 or 1, int16
    ValueId magnitude;  // int32
  };

  ValueId row_of(DType dtype, const std::vector<int64_t>& values) {
    const bool is_one = std::ranges::all_of(values, [&](int64_t value) { return value == values.front(); });
    const std::span<const int64_t> stored(values.data(), is_one ? 1 : values.size());
    return out_.reshape(out_.integers(dtype, stored), Shape{1, static_cast<int64_t>(stored.size())});
  }
  ValueId number_16(int64_t value) { return row_of(DType::kInt16, {value}); }
  // 4 times an int16 value, in int32.
  ValueId four_times(ValueId value) {
    return call_.rescale(value, {.multipliers = {power_of_two(2)}, .to = DType::kInt32, .rounding = ir::kSingleRound});
  }
  // value / 2^by, rounded half up, and saturated.
  ValueId fitted(ValueId value, int by = 0, DType to = DType::kInt16) {
    return call_.rescale(value, {.multipliers = {power_of_two(-by)}, .to = to, .rounding = ir::kSingleRound});
  }
  // A product of int16 operands, divided by 2^shift and rounded half up, in int16.
  ValueId product_16(ValueId a, ValueId b, int shift) { return fitted(product(a, b, 0), shift); }
  Signed split_sign(ValueId value) {
    const ValueId sign = out_.clamp(value, int64_t{-1}, int64_t{1});
    return {.sign = sign, .magnitude = product(value, sign, 0)};
  }

  void begin(ValueId cell) override { cell_ = split_sign(cell); }
  ValueId next_cell(ValueId from_input, ValueId hidden, ValueId cell) override;
  ValueId next_hidden(ValueId cell) override;

  ValueId table_entry(ValueId index, ValueId table);
  ValueId exponential(ValueId w);
  ValueId factor(ValueId quarters, size_t slot);
  ValueId reciprocal(ValueId e);
  ValueId unsigned_results(ValueId magnitude, const Activations& activations);

  Activations gate_activations_;
  Activations cell_activations_;
  Tables tables_;
  Signed cell_;
};

// One factor of exp by the number of quarters and 1: two tables of bytes, which are one on an NPU.
ValueId LiteRtLstm::factor(ValueId quarters, size_t slot) {
  const auto looked_up = [&](ValueId table) {
    return out_.emit(TosaOp::TABLE, {quarters, table}, {},
                     {.dtype = DType::kInt8, .shape = out_.shape(quarters), .suffix = "table"});
  };
  const ValueId high = looked_up(tables_.high[slot]), low = looked_up(tables_.low[slot]);
  const ValueId sum = binary(TosaOp::ADD, product(wide(high), number(256), 0), wide(low));
  return binary(TosaOp::ADD, sum, number(kMiddle + 128));
}

ValueId LiteRtLstm::table_entry(ValueId index, ValueId table) {
  const ValueId fine = out_.emit(TosaOp::TABLE, {index, table}, {},
                                 {.dtype = DType::kInt32, .shape = out_.shape(index), .suffix = "table"});
  return fitted(fine, 7);
}

// exp(-w) in Q0.15 of w in Q3.12, above 0.
ValueId LiteRtLstm::exponential(ValueId w) {
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
ValueId LiteRtLstm::reciprocal(ValueId e) {
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
ValueId LiteRtLstm::unsigned_results(ValueId magnitude, const Activations& activations) {
  const ValueId w = product(magnitude, row_of(DType::kInt32, activations.w_of_magnitude), 0);
  const ValueId more = row_of(DType::kInt16, activations.more);
  return fitted(binary(TosaOp::ADD, four_times(reciprocal(exponential(w))), wide(more)));
}

ValueId LiteRtLstm::next_cell(ValueId from_input, ValueId hidden, ValueId /*cell*/) {
  // LiteRT saturates the products of the inputs, but of those of the state only the sum.
  const ValueId from_state = products(hidden, kOutputState, kRecurrentWeights, DType::kInt32);
  const Signed gates = split_sign(call_.narrowed(binary(TosaOp::ADD, from_input, from_state), DType::kInt16, 0));
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
  const ValueId kept = product(fitted(product(wide(forget), cell_.magnitude, 15)), cell_.sign, 0);
  const ValueId added =
      product(product_16(input, columns(values, logistics), 30 + cell_log2_), columns(gates.sign, logistics), 0);
  return clipped_cell(fitted(binary(TosaOp::ADD, kept, added)));
}

ValueId LiteRtLstm::next_hidden(ValueId cell) {
  cell_ = split_sign(cell);
  const ValueId bent = product_16(unsigned_results(cell_.magnitude, cell_activations_), cell_.sign, 0);
  return stored_hidden(product(output_gate_, bent, 0));
}

}  // namespace

std::unique_ptr<UnrolledLstm> lstm_of_litert(Call& call, const KernelCall& checked) {
  return std::make_unique<LiteRtLstm>(call, checked);
}

}  // namespace carina::tflite
