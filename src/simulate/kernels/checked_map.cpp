#include "simulate/kernels/checked_map.h"

#include <fmt/format.h>

#include <algorithm>

namespace carina::simulate {

std::array<CheckedMap::Tile, 4> CheckedMap::tiles(const FeatureMap& map) const {
  const int32_t h = box_.height;
  const int32_t w = box_.width;
  const auto base = [&](size_t i) { return static_cast<int64_t>(map.base[i]); };
  if (map.storage == Storage::kTile3x1) {  // three tiles above each other (docs/npu-open-points.md)
    const int32_t first = std::min(h, map.height0);
    const int32_t second =
        std::min<int32_t>(h, static_cast<int32_t>(std::min<int64_t>(h, int64_t{map.height0} + map.height1)));
    return {Tile{.offset = base(0), .y0 = 0, .y1 = first, .x0 = 0, .x1 = w},
            Tile{.offset = base(1), .y0 = first, .y1 = second, .x0 = 0, .x1 = w},
            Tile{.offset = base(2), .y0 = second, .y1 = h, .x0 = 0, .x1 = w}, Tile{}};
  }
  const int32_t left = std::min(w, map.width0);
  const int32_t top0 = std::min(h, map.height0);
  const int32_t top1 = std::min(h, map.height1);
  return {Tile{.offset = base(0), .y0 = 0, .y1 = top0, .x0 = 0, .x1 = left},
          Tile{.offset = base(1), .y0 = 0, .y1 = top1, .x0 = left, .x1 = w},
          Tile{.offset = base(2), .y0 = top0, .y1 = h, .x0 = 0, .x1 = left},
          Tile{.offset = base(3), .y0 = top1, .y1 = h, .x0 = left, .x1 = w}};
}

Result<void> CheckedMap::check_tile(const Tile& tile, size_t index, const FeatureMap& map, std::string_view role) {
  if (tile.y0 >= tile.y1 || tile.x0 >= tile.x1 || box_.depth <= 0) return {};
  int64_t low = tile.offset;
  int64_t high = tile.offset;
  const auto extend = [&](int64_t count, int64_t stride) { (stride < 0 ? low : high) += (count - 1) * stride; };
  extend(tile.y1 - tile.y0, row_stride_);
  extend(tile.x1 - tile.x0, pixel_stride_);
  if (brick()) {
    extend((box_.depth + 15) / 16, brick_stride_);
    high += int64_t{std::min(box_.depth, brick_stride_ < 0 ? 16 : (box_.depth - 1) % 16 + 1)} * type_.bytes;
  } else {
    high += int64_t{box_.depth} * type_.bytes;
  }
  const auto size = static_cast<int64_t>(region_.size());
  if (low < 0 || high > size) {
    return fail(Diagnostic{.where = {},
                           .what = fmt::format("{} reaches outside region {}", role, map.region),
                           .expected = fmt::format("addresses 0x0..0x{:x} ({} bytes)", size, size),
                           .got = fmt::format("tile {} of {}x{}x{} from 0x{:x} spans {}0x{:x}..0x{:x}", index,
                                              tile.y1 - tile.y0, tile.x1 - tile.x0, box_.depth, tile.offset,
                                              low < 0 ? "-" : "", low < 0 ? -low : low, high)});
  }
  ranges_[index] = {.begin = region_.data() + low, .end = region_.data() + high};
  return {};
}

Result<CheckedMap> CheckedMap::create(const FeatureMap& map, const Extent& box, std::span<std::byte> region,
                                      std::string_view role) {
  CheckedMap result;
  result.region_ = region;
  result.box_ = box;
  result.type_ = map.type;
  result.format_ = map.format;
  result.row_stride_ = map.stride_y;
  result.pixel_stride_ = map.format == Format::kNhcwb16 ? int64_t{16} * map.type.bytes : map.stride_x;
  result.brick_stride_ = map.stride_c;
  result.tiles_ = result.tiles(map);
  for (size_t i = 0; i < result.tiles_.size(); ++i) CARINA_CHECKED(result.check_tile(result.tiles_[i], i, map, role));
  return result;
}

std::array<RowPart, 2> CheckedMap::row(int32_t y) const {
  std::array<RowPart, 2> parts;
  size_t used = 0;
  for (const Tile& tile : tiles_) {
    if (y < tile.y0 || y >= tile.y1 || tile.x0 >= tile.x1) continue;
    parts[used++] = {
        .data = region_.data() + tile.offset + int64_t{y - tile.y0} * row_stride_, .begin = tile.x0, .end = tile.x1};
    if (used == 2) break;
  }
  if (used == 2 && parts[1].begin < parts[0].begin) std::swap(parts[0], parts[1]);
  return parts;
}

// The channels of a tensor repeat with each pixel, or with each row if they are in bricks. Rows and columns may have
// changed places.
//   Example: NHWC int8, 24 channels per pixel. An operation reads channels 0-11 and writes 12-23: bytes 0-11 and 12-23
//   of each 24.
//   Example: a copy of rows to twice the height: bytes 0-111 of each 224 are read and bytes 112-223 written.
std::array<CheckedMap::Period, 2> CheckedMap::periods() const {
  const std::byte* const first = single_tile();
  if (first == nullptr || row_stride_ <= 0 || pixel_stride_ <= 0 || (brick() && brick_stride_ <= 0)) return {};
  const int64_t pixel = brick() ? pixel_stride_ : int64_t{box_.depth} * type_.bytes;
  const int64_t bricks = brick() ? (box_.depth + 15) / 16 : 1;
  const bool by_rows = brick() || row_stride_ >= pixel_stride_;
  const int64_t inner = by_rows ? pixel_stride_ : row_stride_, outer = by_rows ? row_stride_ : pixel_stride_;
  const int64_t count = by_rows ? box_.width : box_.height;  // of pixels within the outer stride
  const int64_t line = (bricks - 1) * brick_stride_ + (count - 1) * inner + pixel;
  const bool repeats = !brick() && outer % inner == 0;
  return {Period{.bytes = repeats ? inner : 0, .begin = first, .size = pixel},
          Period{.bytes = outer, .begin = first, .size = line}};
}

namespace {

bool are_apart(const CheckedMap::Period& a, const CheckedMap::Period& b) {
  if (a.bytes == 0 || a.bytes != b.bytes || a.size > a.bytes || b.size > b.bytes) return false;
  const int64_t distance = (b.begin - a.begin) % a.bytes, from_a = distance < 0 ? distance + a.bytes : distance;
  return from_a >= a.size && from_a + b.size <= a.bytes;
}

bool ranges_overlap(const CheckedMap& a, const CheckedMap& b) {
  for (const HostRange& x : a.ranges()) {
    if (x.empty()) continue;
    for (const HostRange& y : b.ranges()) {
      if (!y.empty() && x.overlaps(y)) return true;
    }
  }
  return false;
}

}  // namespace

bool overlap(const CheckedMap& a, const CheckedMap& b) {
  if (!ranges_overlap(a, b)) return false;
  const auto of_a = a.periods(), of_b = b.periods();
  return !are_apart(of_a[0], of_b[0]) && !are_apart(of_a[1], of_b[1]);
}

bool same_elements(const FeatureMap& a, const FeatureMap& b) {
  return a.base == b.base && a.stride_y == b.stride_y && a.stride_x == b.stride_x && a.stride_c == b.stride_c &&
         a.width0 == b.width0 && a.height0 == b.height0 && a.height1 == b.height1 && a.region == b.region &&
         a.type.bytes == b.type.bytes && a.format == b.format && a.storage == b.storage;
}

}  // namespace carina::simulate
