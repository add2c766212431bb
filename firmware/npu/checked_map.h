#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "firmware/npu/operation.h"

namespace carina::firmware::npu_core {

// A feature map in memory. create() checks that all its elements are inside of the region, so that they can be accessed
// without further checks. Source: docs/facts/ethosu.md 3.1.
class CheckedMap {
 public:
  // Returns false if a part of `box` is outside of the region, and prints the reason on the console.
  bool create(const FeatureMap& map, const Extent& box, std::span<std::byte> region, std::string_view role);

  // The channels of one pixel.
  class Pixel {
   public:
    [[nodiscard]] int64_t load(int32_t c) const;
    void store(int32_t c, int64_t value) const;

   private:
    friend class CheckedMap;
    [[nodiscard]] std::byte* at(int32_t c) const {
      if (!bricks_) return data_ + c * type_.bytes;
      return data_ + (c / kBrick) * brick_stride_ + (c % kBrick) * type_.bytes;
    }
    std::byte* data_ = nullptr;
    int32_t brick_stride_ = 0;
    ElementType type_{};
    bool bricks_ = false;
  };
  [[nodiscard]] Pixel pixel(int32_t y, int32_t x) const;

 private:
  static constexpr int32_t kBrick = 16;
  [[nodiscard]] int64_t pixel_stride() const { return map_->bricks ? kBrick * map_->type.bytes : map_->stride_x; }
  [[nodiscard]] bool holds_tile(size_t tile, int32_t height, int32_t width, int32_t depth) const;

  const FeatureMap* map_ = nullptr;
  std::span<std::byte> region_;
};

}  // namespace carina::firmware::npu_core
