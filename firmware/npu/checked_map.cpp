#include "firmware/npu/checked_map.h"

#include <algorithm>
#include <cstring>

#include "firmware/board/console.h"

namespace carina::firmware::npu_core {

namespace {

template <typename T>
int64_t load_as(const std::byte* at) {
  T value{};
  std::memcpy(&value, at, sizeof value);
  return static_cast<int64_t>(value);
}

}  // namespace

bool CheckedMap::holds_tile(size_t tile, int32_t height, int32_t width, int32_t depth) const {
  if (height <= 0 || width <= 0) return true;
  int64_t low = map_->base[tile];
  int64_t high = low;
  const auto extend = [&](int64_t count, int64_t stride) { (stride < 0 ? low : high) += (count - 1) * stride; };
  extend(height, map_->stride_y);
  extend(width, pixel_stride());
  if (map_->bricks) {
    extend((depth + kBrick - 1) / kBrick, map_->stride_c);
    high += kBrick * map_->type.bytes;
    if (map_->stride_c >= 0) high -= (kBrick - 1 - (depth - 1) % kBrick) * map_->type.bytes;
  } else {
    high += int64_t{depth} * map_->type.bytes;
  }
  return low >= 0 && high <= static_cast<int64_t>(region_.size());
}

bool CheckedMap::create(const FeatureMap& map, const Extent& box, std::span<std::byte> region, std::string_view role) {
  map_ = &map;
  region_ = region;
  const int32_t left = std::min(box.width, map.width0);
  const int32_t top0 = std::min(box.height, map.height0);
  const int32_t top1 = std::min(box.height, map.height1);
  if (holds_tile(0, top0, left, box.depth) && holds_tile(1, top1, box.width - left, box.depth) &&
      holds_tile(2, box.height - top0, left, box.depth) &&
      holds_tile(3, box.height - top1, box.width - left, box.depth))
    return true;
  error()
      .text("ethosu: ")
      .text(role)
      .text(" reaches outside region ")
      .number(map.region)
      .text(" of ")
      .number(static_cast<int64_t>(region.size()))
      .text(" bytes");
  return false;
}

CheckedMap::Pixel CheckedMap::pixel(int32_t y, int32_t x) const {
  size_t tile = 0;
  if (x >= map_->width0) {
    x -= map_->width0;
    tile = 1;
  }
  const int32_t height = tile == 0 ? map_->height0 : map_->height1;
  if (y >= height) {
    y -= height;
    tile += 2;
  }
  Pixel pixel;
  pixel.data_ = region_.data() + map_->base[tile] + y * map_->stride_y + static_cast<ptrdiff_t>(x * pixel_stride());
  pixel.brick_stride_ = map_->stride_c;
  pixel.type_ = map_->type;
  pixel.bricks_ = map_->bricks;
  return pixel;
}

int64_t CheckedMap::Pixel::load(int32_t c) const {
  const std::byte* at = this->at(c);
  switch (type_.bytes) {
    case 1:
      return type_.is_signed ? load_as<int8_t>(at) : load_as<uint8_t>(at);
    case 2:
      return type_.is_signed ? load_as<int16_t>(at) : load_as<uint16_t>(at);
    default:
      return type_.is_signed ? load_as<int32_t>(at) : load_as<uint32_t>(at);
  }
}

void CheckedMap::Pixel::store(int32_t c, int64_t value) const {
  std::memcpy(at(c), &value, type_.bytes);
}

}  // namespace carina::firmware::npu_core
