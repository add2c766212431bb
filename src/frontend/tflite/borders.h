// Float inputs and outputs of models that are integers inside.
#pragma once

#include <vector>

#include "carina/dtype.h"
#include "carina/tensor.h"
#include "frontend/tflite/model.h"

namespace carina::tflite {

// One input or output: what the file declares, and what the graph has in its place. Floats are integers with these
// parameters there, uint8 is int8 with the same bits, and int64 is int32 with a last axis of 2.
struct Border {
  DType declared = DType::kUnknown;
  DType stored = DType::kUnknown;
  float scale = 1;         // of declared floats
  int64_t zero_point = 0;  // of declared floats, in the integers that QUANTIZE gives: those of `quantized`
  DType quantized = DType::kUnknown;
};

struct Borders {
  std::vector<Border> inputs;
  std::vector<Border> outputs;
};

// Replaces float inputs that only a QUANTIZE reads by its result, and float outputs of a DEQUANTIZE by its operand.
// Returns the borders as they were. Others stay.
//   x: f32 -> QUANTIZE -> i8 -> ... -> i8 -> DEQUANTIZE -> y: f32   becomes   i8 -> ... -> i8
Borders cut_float_borders(Model& model);

// The integers of a float input, as LiteRT's reference kernel quantizes; the bits of another type.
carina::Tensor to_stored(const carina::Tensor& declared, const Border& border);
// The inverse, for an output.
carina::Tensor to_declared(const carina::Tensor& stored, const Border& border);

}  // namespace carina::tflite
