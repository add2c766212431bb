#include "frontend/tflite/to_tosa/lstm_internal.h"
#include "frontend/tflite/to_tosa/ops_internal.h"

// UNIDIRECTIONAL_SEQUENCE_LSTM with the bits of Vela's streams (lstm.py of Vela 5.2): its logistic function and tanh
// are those of LOGISTIC and TANH of int16, which NPUs have, and products are rounded as all others of TFLite.
//   sum    = W x + b + R h         each of the products saturates to int16 in Q3.12, and so does the sum
//   c      = forget * c + input * candidate, h = output * tanh(c)
// One thing is LiteRT's: a clip of the cell state that is no whole number. Vela drops the fraction.
namespace carina::tflite {

namespace {

constexpr int kGateLog2 = -12;
constexpr int kOneLog2 = -15;  // of the functions' results

class VelaLstm final : public UnrolledLstm {
 public:
  using UnrolledLstm::UnrolledLstm;

 private:
  void begin(ValueId /*cell*/) override {}
  ValueId next_cell(ValueId from_input, ValueId hidden, ValueId cell) override;
  ValueId next_hidden(ValueId cell) override;

  // a * b * 2^log2 in int16.
  ValueId scaled_product(ValueId a, ValueId b, int log2) {
    return call_.rescale(product(a, b, 0),
                         {.multipliers = {{.multiplier = 1 << 30, .exponent = log2 + 1}}, .to = DType::kInt16});
  }
};

ir::ValueId VelaLstm::next_cell(ValueId from_input, ValueId hidden, ValueId cell) {
  const ValueId from_state = wide(products(hidden, kOutputState, kRecurrentWeights, DType::kInt16));
  const ValueId sums = call_.narrowed(binary(TosaOp::ADD, from_input, from_state), DType::kInt16, 0);
  const size_t logistics = gates_.size() - 1;
  const Shape shape{batches_, static_cast<int64_t>(logistics) * cells_};
  const ValueId opened = logistic_16(call_, out_.slice(sums, {0, 0}, shape), kGateLog2);
  const ValueId candidate = hyperbolic_tangent_16(call_, columns(sums, logistics), kGateLog2);
  output_gate_ = columns(opened, logistics - 1);
  const ValueId kept = scaled_product(cell, columns(opened, logistics - 2), kOneLog2);
  const ValueId added = scaled_product(candidate, columns(opened, 0), 2 * kOneLog2 - cell_log2_);
  return clipped_cell(call_.narrowed(binary(TosaOp::ADD, wide(kept), wide(added)), DType::kInt16, 0));
}

ir::ValueId VelaLstm::next_hidden(ValueId cell) {
  return stored_hidden(product(hyperbolic_tangent_16(call_, cell, cell_log2_), output_gate_, 0));
}

}  // namespace

std::unique_ptr<UnrolledLstm> lstm_of_vela(Call& call, const KernelCall& checked) {
  return std::make_unique<VelaLstm>(call, checked);
}

}  // namespace carina::tflite
