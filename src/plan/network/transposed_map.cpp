#include "plan/network/transposed_map.h"

namespace carina::plan {

TransposedMap transposed_map(const FeatureMap& map) {
  if (!map.is_transposed()) return {.stored = map};
  struct MapAxis {
    int64_t size;
    int64_t stride;
  };
  const MapAxis y{map.height, map.stride_y}, x{map.width, map.stride_x}, c{map.depth, map.stride_c};
  const bool by_columns = x.stride == 1;
  const MapAxis inner = by_columns ? x : y, other = by_columns ? y : x;
  // The longer stride is that of the rows, so that columns are close to each other.
  const bool channels_are_rows = c.stride >= other.stride;
  const MapAxis rows = channels_are_rows ? c : other, columns = channels_are_rows ? other : c;
  FeatureMap stored = map;
  stored.height = rows.size;
  stored.stride_y = rows.stride;
  stored.width = columns.size;
  stored.stride_x = columns.stride;
  stored.depth = inner.size;
  stored.stride_c = 1;
  using enum npu::ActivationTranspose;
  if (by_columns) return {.transpose = channels_are_rows ? CHW : HCW, .stored = stored};
  return {.transpose = channels_are_rows ? CWH : WCH, .stored = stored};
}

}  // namespace carina::plan
