#pragma once

#include <cstdint>
#include <optional>

#include "interpret/kernel_internal.h"
#include "kernels/integer_epilogue.h"

// The epilogue of integer products: a fused RESCALE and CLAMP.
namespace carina::interpret {

using kernels::IntegerEpilogue;

// The factors of a RESCALE with constant parameters, for inputs minus zero point in [-bound - 1, bound]. Returns
// nothing if each element must be checked, or for types that the vector kernels do not support.
std::optional<kernels::Scales> constant_scales(const NodePlan& rescale, int64_t bound);

// The epilogue for the tail: RESCALE and CLAMP in that order. The sums are within `bound`. Returns nothing if they
// cannot be fused.
std::optional<IntegerEpilogue> integer_epilogue(const TailPlan& plan, int64_t bound);

}  // namespace carina::interpret
