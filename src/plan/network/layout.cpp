#include "plan/network/layout.h"

#include <algorithm>
#include <vector>

#include "base/checked_math.h"
#include "carina/check.h"
#include "facts/npu_targets.h"

namespace carina::plan {
namespace {

constexpr int64_t kBrick = npu::kBrickDepth;

// The distance between rows of a map in NHCWB16: whole rows of the tensor, or pixels for a column that lies in one row.
std::optional<int64_t> brick_row_stride(const FeatureMap& map, const PlanTensor& tensor, int64_t row_bytes,
                                        int64_t pixel_bytes) {
  const auto [height, width, depth] = tensor.extent;
  if (map.height == 1) return row_bytes;
  if (map.stride_y > 0 && map.stride_y % (width * depth) == 0) return map.stride_y / (width * depth) * row_bytes;
  if (map.stride_y > 0 && map.stride_y % depth == 0 && height == 1 && map.width == 1)
    return map.stride_y / depth * pixel_bytes;
  return std::nullopt;
}

std::optional<ByteMap> brick_bytes(const FeatureMap& map, const PlanTensor& tensor) {
  const auto [height, width, depth] = tensor.extent;
  const int64_t es = tensor.element_bytes;
  if (map.type.bytes() != es || map.offset < 0 || map.is_transposed()) return std::nullopt;
  const int64_t c0 = map.offset % depth, x0 = map.offset / depth % width, y0 = map.offset / depth / width;
  // A brick is addressed from its first channel, and is written whole unless the tensor ends in it.
  if (c0 % kBrick != 0 || c0 + map.depth > depth ||
      (map.depth % kBrick != 0 && c0 + map.depth != depth && map.depth != 1))
    return std::nullopt;
  if (map.width > 1 && (map.stride_x != depth || x0 + map.width > width)) return std::nullopt;
  const int64_t pixel_bytes = kBrick * es, row_bytes = es * width * round_up(depth, kBrick);
  const auto stride_y = brick_row_stride(map, tensor, row_bytes, pixel_bytes);
  if (!stride_y) return std::nullopt;
  return ByteMap{.offset = y0 * row_bytes + x0 * pixel_bytes + c0 / kBrick * pixel_bytes * width,
                 .stride_y = *stride_y,
                 .stride_x = pixel_bytes,
                 .stride_c = pixel_bytes * width};
}

}  // namespace

std::optional<ByteMap> bytes_of(const FeatureMap& map, const PlanTensor& tensor) {
  if (tensor.format == Format::kNhcwb16) return brick_bytes(map, tensor);
  const int64_t es = map.type.bytes();
  return ByteMap{.offset = map.offset * es,
                 .stride_y = map.stride_y * es,
                 .stride_x = map.stride_x * es,
                 .stride_c = map.stride_c * es};
}

ByteRange range_of(const FeatureMap& map, const PlanTensor& tensor) {
  const auto bytes = bytes_of(map, tensor);
  CARINA_CHECK(bytes.has_value(), "tensor {} cannot be addressed in its format", tensor.name);
  const bool brick = tensor.format == Format::kNhcwb16;
  const int64_t es = map.type.bytes();
  const int64_t last_channel = brick ? (ceil_div(map.depth, kBrick) - 1) * bytes->stride_c + kBrick * es
                                     : (map.depth - 1) * bytes->stride_c + es;
  ByteRange range{.begin = bytes->offset, .end = bytes->offset + last_channel};
  for (const int64_t step : {(map.height - 1) * bytes->stride_y, (map.width - 1) * bytes->stride_x})
    (step < 0 ? range.begin : range.end) += step;
  return range;
}

bool fits_bricks(const FeatureMap& map, const PlanTensor& tensor) {
  return brick_bytes(map, tensor).has_value();
}

}  // namespace carina::plan
