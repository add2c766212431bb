#include <algorithm>
#include <cmath>

#include "frontend/tflite/tflite.h"
#include "frontend/tflite/to_tosa/lstm_internal.h"
#include "frontend/tflite/to_tosa/ops_internal.h"
#include "tensor/elements.h"

// UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with an int16 cell state, unrolled over time. kernels/lstm.cpp has the
// equations.
namespace carina::tflite {

using ir::ValueId;

UnrolledLstm::UnrolledLstm(Call& call, const KernelCall& checked)
    : call_(call),
      out_(call.out),
      time_first_(call.options().time_major),
      x_(call.in(0).shape),
      cells_(call.in(kCellState).shape[1]),
      cell_log2_(std::ilogb(Call::scale(call.in(kCellState)))),
      hidden_(&hidden_of(checked)) {
  // Without weights of the input gate there is none.
  if (call.has(kInputWeights)) gates_.push_back(kInputGate);
  gates_.insert(gates_.end(), {kForgetGate, kOutputGate, kCellGate});
  const bool is_sequence = x_.rank() == 3;
  batches_ = is_sequence ? x_[time_first_ ? 1 : 0] : x_[0];
  steps_ = is_sequence ? x_[time_first_ ? 0 : 1] : 1;
}

Result<void> UnrolledLstm::make() {
  const ValueId from_input = wide(products(call_.value(0), 0, kInputWeights, DType::kInt16));
  ValueId hidden = call_.value(kOutputState), cell = call_.value(kCellState);
  const int64_t columns = width();
  const ValueId rows =
      out_.reshape(from_input, time_first_ ? Shape{steps_, batches_, columns} : Shape{batches_, steps_, columns});
  std::vector<ValueId> results;
  begin(cell);
  for (int64_t t = 0; t < steps_; ++t) {
    const ValueId row = time_first_ ? out_.slice(rows, {t, 0, 0}, Shape{1, batches_, columns})
                                    : out_.slice(rows, {0, t, 0}, Shape{batches_, 1, columns});
    cell = next_cell(out_.reshape(row, Shape{batches_, columns}), hidden, cell);
    hidden = next_hidden(cell);
    results.push_back(out_.reshape(hidden, time_first_ ? Shape{1, batches_, cells_} : Shape{batches_, 1, cells_}));
  }
  call_.set_variable(kOutputState, hidden);
  call_.set_variable(kCellState, cell);
  return call_.set(results.size() == 1 ? results.front() : out_.concat(results, time_first_ ? 0 : 1));
}

ValueId UnrolledLstm::product(ValueId a, ValueId b, int shift) {
  const auto shape = broadcast(out_.shape(a), out_.shape(b));
  return out_.emit(TosaOp::MUL, {a, b, out_.integer(DType::kInt8, shift)}, {},
                   {.dtype = DType::kInt32, .shape = *shape, .suffix = "product"});
}

ValueId UnrolledLstm::products(ValueId input, size_t operand, size_t weights, DType type) {
  constexpr float kGateScale = 1.0F / 4096;
  const bool has_bias = operand == 0;
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
  return out_.reshape(call_.rescale(total, {.multipliers = multipliers, .to = type}), Shape{rows, width()});
}

ValueId UnrolledLstm::clipped_cell(ValueId next) {
  const float clip = call_.options().cell_clip;
  if (!(clip > 0)) return next;
  constexpr float kLargest = 32767;
  const auto steps = static_cast<int16_t>(std::min(clip / Call::scale(call_.in(kCellState)), kLargest));
  return steps > 0 && steps < kLargest ? out_.clamp(next, int64_t{-steps}, int64_t{steps}) : next;
}

ValueId UnrolledLstm::stored_hidden(ValueId product) {
  const float scale = KernelCall::scale(*hidden_);
  const Multiplier multiplier = multiplier_of(static_cast<float>(std::ldexp(1.0, -15) / scale * std::ldexp(1.0, -15)));
  return call_.rescale(
      product, {.multipliers = {multiplier}, .output_zp = KernelCall::zero_point(*hidden_), .to = DType::kInt8});
}

bool has_faster_lstm(const Model& model) {
  return std::ranges::any_of(model.subgraphs.front().operators, [&](const Operator& op) {
    return op.name == "UNIDIRECTIONAL_SEQUENCE_LSTM" && op.inputs.size() > kInputWeights &&
           op.inputs[kInputWeights] != kAbsent &&
           model.subgraphs.front().tensors[static_cast<size_t>(op.inputs[kInputWeights])].dtype == DType::kInt8;
  });
}

Result<void> sequence_lstm(Call& call) {
  const KernelCall known = call.kernel_call();
  CARINA_CHECKED(check_lstm(known, call.where()));
  const float cell_scale = Call::scale(call.in(kCellState));
  constexpr float kSmallest = 1.0F / 8192;
  if (cell_scale < kSmallest)
    return call.reject("the scale of the cell state is too small", "at least 2^-13", fmt::format("{}", cell_scale));
  // Vela leaves an LSTM without input gate on the CPU, which computes it as LiteRT does.
  const bool is_vela = call.rounding() == Rounding::kVela && call.has(kInputWeights);
  const auto lstm = is_vela ? lstm_of_vela(call, known) : lstm_of_litert(call, known);
  constexpr int64_t kMaxSteps = 1024;
  if (lstm->steps() > kMaxSteps)
    return call.reject("too many steps in time to unroll", fmt::format("at most {}", kMaxSteps),
                       fmt::to_string(lstm->steps()));
  return lstm->make();
}

}  // namespace carina::tflite
