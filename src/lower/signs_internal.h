#pragma once

#include "lower/lowering_internal.h"

namespace carina::lower {

// Whether no element of an ATen value can be negative, as its operators say: abs(x), x * x, and sums of such values.
bool is_never_negative(const Lowering& in, ir::ValueId id);

}  // namespace carina::lower
