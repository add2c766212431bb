// The operands of UNIDIRECTIONAL_SEQUENCE_LSTM.
#pragma once

#include <cstddef>

#include "frontend/tflite/kernels/kernel_call_internal.h"

namespace carina::tflite {

// The order of the gates among the operator's inputs.
enum Gate : size_t { kInputGate, kForgetGate, kCellGate, kOutputGate, kGates };

inline constexpr size_t kInputWeights = 1, kRecurrentWeights = 5, kPeephole = 9, kGateBiases = 12, kProjection = 16,
                        kOutputState = 18, kCellState = 19, kLayerNorm = 20, kLstmOperands = 24;

// The tensor with the quantization of the hidden state.
const Tensor& hidden_of(const KernelCall& call);

}  // namespace carina::tflite
