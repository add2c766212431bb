#pragma once

#include <optional>
#include <vector>

#include "normalize/indexed_axes_internal.h"

namespace carina::normalize {

// x with `values` at places of one axis that a run gives, as selections: each element asks whether its place is the
// one. Every NPU can, and no element changes its place, so that a cache of keys or values is overwritten where it is.
// The values have the shape of x, but for the number of places. No value if more than one axis is indexed, or more than
// kMaxPlaces places: each takes an operation on all of x.
//   Example: x[:, :, pos] = v with 64 rows is where((0..63 == pos) or (-64..-1 == pos), v, x)
std::optional<ir::ValueId> with_selected_places(Rewriter& in, ir::ValueId x, const IndexedAxes& axes,
                                                ir::ValueId places, ir::ValueId values);

inline constexpr int64_t kMaxPlaces = 8;

}  // namespace carina::normalize
