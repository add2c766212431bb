// UNIDIRECTIONAL_SEQUENCE_LSTM, unrolled over time, apart from its functions.
#pragma once

#include <memory>
#include <vector>

#include "frontend/tflite/kernels/lstm_internal.h"
#include "frontend/tflite/to_tosa/call_internal.h"

namespace carina::tflite {

// The gates are one matrix product each for the inputs of all steps and for the state of one step. Gates that use the
// logistic function come first.
class UnrolledLstm {
 public:
  UnrolledLstm(Call& call, const KernelCall& checked);
  UnrolledLstm(const UnrolledLstm&) = delete;
  UnrolledLstm& operator=(const UnrolledLstm&) = delete;
  virtual ~UnrolledLstm() = default;

  [[nodiscard]] int64_t steps() const { return steps_; }
  Result<void> make();

 protected:
  using ValueId = ir::ValueId;

  // Called once with the cell state before the first step.
  virtual void begin(ValueId cell) = 0;
  // The next cell state and, kept for next_hidden(), the output gate. `from_input` are the products of the inputs, in
  // int32.
  virtual ValueId next_cell(ValueId from_input, ValueId hidden, ValueId cell) = 0;
  // The next hidden state of the cell state that next_cell() gave.
  virtual ValueId next_hidden(ValueId cell) = 0;

  [[nodiscard]] int64_t width() const { return static_cast<int64_t>(gates_.size()) * cells_; }
  ValueId number(int64_t value) { return out_.splat(DType::kInt32, static_cast<double>(value), 2); }
  ValueId binary(TosaOp op, ValueId a, ValueId b) { return out_.binary(op, a, b); }
  ValueId columns(ValueId value, size_t gate) {
    return out_.slice(value, {0, static_cast<int64_t>(gate) * cells_}, Shape{batches_, cells_});
  }
  ValueId wide(ValueId value) { return out_.cast(value, DType::kInt32); }
  // a * b / 2^shift in int32, rounded half up. Operands of int16 have no shift.
  ValueId product(ValueId a, ValueId b, int shift);
  // The products of the rows of `input` and the weights of all gates, in Q3.12, saturated to `type`.
  ValueId products(ValueId input, size_t operand, size_t weights, DType type);
  // The cell state within what the operator and int16 allow.
  ValueId clipped_cell(ValueId next);
  // The hidden state of a product of two int16 values in Q0.15.
  ValueId stored_hidden(ValueId product);

  Call& call_;
  ir::Emitter& out_;
  bool time_first_;
  Shape x_;
  int64_t cells_;
  int64_t batches_ = 1;
  int64_t steps_ = 1;
  int cell_log2_ = 0;  // of the cell state's scale
  std::vector<Gate> gates_;
  const Tensor* hidden_;
  ValueId output_gate_;
};

// With LiteRT's bits, and with those of Vela's streams.
std::unique_ptr<UnrolledLstm> lstm_of_litert(Call& call, const KernelCall& checked);
std::unique_ptr<UnrolledLstm> lstm_of_vela(Call& call, const KernelCall& checked);

}  // namespace carina::tflite
