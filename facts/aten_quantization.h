#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "facts/aten_ops.h"

// The operators that convert floats to integers and back in a quantized model. Source: PyTorch's quantized_decomposed.
namespace carina {

enum class QuantizationStep : uint8_t {
  kQuantize,    // floats to quantized integers
  kDequantize,  // quantized integers to floats
};

struct QuantizationOpRow {
  AtenOp op;
  QuantizationStep step;
};
inline constexpr auto kQuantizationOps = std::to_array<QuantizationOpRow>({
    {.op = AtenOp::quantize_per_tensor_default, .step = QuantizationStep::kQuantize},
    {.op = AtenOp::quantize_per_tensor_tensor, .step = QuantizationStep::kQuantize},
    {.op = AtenOp::quantize_per_tensor_tensor2, .step = QuantizationStep::kQuantize},
    {.op = AtenOp::quantize_per_channel_default, .step = QuantizationStep::kQuantize},
    {.op = AtenOp::quantize_per_token_default, .step = QuantizationStep::kQuantize},
    {.op = AtenOp::quantize_per_channel_group_default, .step = QuantizationStep::kQuantize},
    {.op = AtenOp::dequantize_per_tensor_default, .step = QuantizationStep::kDequantize},
    {.op = AtenOp::dequantize_per_tensor_tensor, .step = QuantizationStep::kDequantize},
    {.op = AtenOp::dequantize_per_tensor_tensor2, .step = QuantizationStep::kDequantize},
    {.op = AtenOp::dequantize_per_channel_default, .step = QuantizationStep::kDequantize},
    {.op = AtenOp::dequantize_per_token_default, .step = QuantizationStep::kDequantize},
    {.op = AtenOp::dequantize_per_channel_group_default, .step = QuantizationStep::kDequantize},
});

constexpr std::optional<QuantizationStep> quantization_step_of(AtenOp op) {
  for (const QuantizationOpRow& row : kQuantizationOps) {
    if (row.op == op) return row.step;
  }
  return std::nullopt;
}

}  // namespace carina
