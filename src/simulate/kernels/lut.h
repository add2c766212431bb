#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "simulate/decode/operation.h"

// Lookup tables and the built-in functions of the output stage.
namespace carina::simulate {

// The bytes of internal memory that a table lookup of this kind may read.
size_t lut_bytes(const ElementType& input, const ElementType& output);

// The table's result for a clamped value: one entry per 8-bit value, or interpolation between 512 entries of (base,
// slope) for 16-bit values. Bytes beyond the end of `table` read as zero. Source: docs/facts/ethosu.md 4.8.
int64_t look_up(std::span<const std::byte> table, const ElementType& input, const ElementType& output, int64_t value);

// The built-in functions of 16-bit values: `value` is in units of 1/0x3000, the result in units of 1/32768. Source:
// TensorFlow Lite's int16 reference, which the hardware is said to follow (docs/npu-open-points.md).
int64_t tanh_q15(int64_t value);
int64_t sigmoid_q15(int64_t value);

}  // namespace carina::simulate
