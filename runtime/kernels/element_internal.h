#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "runtime/evalue.h"

namespace carina::runtime {

// Access to elements of any type as double or int64, so that one kernel works for all types. The result of one
// operation on floats, computed in double and rounded to float, is the correctly rounded float.

bool is_floating(PteScalarType type);
bool is_integer(PteScalarType type);  // uint8, int8, int16, int32, int64

// `index` is in elements.
using NumberLoader = double (*)(const void* data, size_t index);
using IntegerLoader = int64_t (*)(const void* data, size_t index);
using NumberStorer = void (*)(void* data, size_t index, double value);
using IntegerStorer = void (*)(void* data, size_t index, int64_t value);

// The result is never nullptr for tensors of a loaded method.
NumberLoader number_loader(PteScalarType type);
IntegerLoader integer_loader(PteScalarType type);  // floats are truncated and saturated
NumberStorer number_storer(PteScalarType type);    // to integers: truncated and saturated; NaN becomes 0
IntegerStorer integer_storer(PteScalarType type);  // to narrower integers: the low bits

// Rounds a value to the precision of this type.
double rounded_to(PteScalarType type, double value);
int64_t wrapped_to(PteScalarType type, int64_t value);

// A double as an int64: truncated and saturated; NaN becomes 0.
inline int64_t to_int64(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 9223372036854775808.0) return std::numeric_limits<int64_t>::max();
  if (value <= -9223372036854775808.0) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

}  // namespace carina::runtime
