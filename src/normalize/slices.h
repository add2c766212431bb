#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "normalize/rewriter.h"

namespace carina::normalize {

// Permutes the axes.
ir::ValueId permuted_axes(Rewriter& in, ir::ValueId x, const std::vector<int64_t>& dims);
// The elements [start, end) of `x` along an axis.
ir::ValueId slice(Rewriter& in, ir::ValueId x, size_t axis, int64_t start, int64_t end);
// Concatenates the values along an axis.
ir::ValueId join(Rewriter& in, const std::vector<ir::ValueId>& parts, size_t axis);
// Repeats each element of `x` along an axis `times` times: [a, b] -> [a, a, b, b].
ir::ValueId repeat_each(Rewriter& in, ir::ValueId x, size_t axis, int64_t times);

// The elements of `x` at these indices of an axis, as concatenated slices. A run of adjacent indices is one slice; a
// repeated index is one slice that is broadcast. No value if it would take more than a few dozen slices.
std::optional<ir::ValueId> take(Rewriter& in, ir::ValueId x, size_t axis, std::span<const int64_t> indices);
// Returns whether take() would need too many slices.
bool is_long(std::span<const int64_t> indices);
// Like take(), but uses a gather if there would be too many slices.
ir::ValueId take_or_gather(Rewriter& in, ir::ValueId x, size_t axis, std::span<const int64_t> indices);

}  // namespace carina::normalize
