#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "normalize/rewriter.h"

namespace carina::normalize {

// The axes in another order.
ir::ValueId permuted_axes(Rewriter& in, ir::ValueId x, const std::vector<int64_t>& dims);
// The elements of `x` from `start` to before `end` along an axis.
ir::ValueId slice(Rewriter& in, ir::ValueId x, size_t axis, int64_t start, int64_t end);
// The values joined along an axis.
ir::ValueId join(Rewriter& in, const std::vector<ir::ValueId>& parts, size_t axis);
// Each element of `x` along an axis `times` times, one after the other.
ir::ValueId repeat_each(Rewriter& in, ir::ValueId x, size_t axis, int64_t times);

// The elements of `x` at these indices of an axis, as slices that are joined: neighbors in a row are one slice, an
// index again and again is one slice that is broadcast. Nothing where that would take more than a few dozen slices.
std::optional<ir::ValueId> take(Rewriter& in, ir::ValueId x, size_t axis, std::span<const int64_t> indices);
// Whether it would.
bool is_long(std::span<const int64_t> indices);
// The same with a gathering operator where there would be too many slices.
ir::ValueId take_or_gather(Rewriter& in, ir::ValueId x, size_t axis, std::span<const int64_t> indices);

}  // namespace carina::normalize
