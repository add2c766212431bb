#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "firmware/npu/operation.h"

namespace carina::firmware::npu_core {

// value * multiplier / 2^shift with the given rounding. It is exact for any 64-bit value. Source: docs/facts/ethosu.md
// 4.1.
int64_t apply(int64_t value, const Scaling& scaling);

// sum / count rounded half away from zero; 0 for a window of padding only.
int64_t divide_half_away(int64_t sum, int64_t count);

// The result of an elementwise operation for two operands whose zero points are subtracted.
int64_t combine(const Operation& op, int64_t a, int64_t b);

// The size of a lookup table. Source: docs/facts/ethosu.md 4.8.
size_t table_bytes(const ElementType& input, const ElementType& output);
int64_t look_up(std::span<const std::byte> table, const ElementType& input, const ElementType& output, int64_t value);

}  // namespace carina::firmware::npu_core
