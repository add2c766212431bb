#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "carina/result.h"
#include "simulate/decode/operation.h"

// A feature map in host memory, with all of its addresses checked.
//   Example: NHWC int8 of 2x3x4 with stride_y 12, stride_x 4, base 100 takes bytes 100..123 of its region. A region of
//   120 bytes is an error that names byte 120, the first bad one.
namespace carina::simulate {

// Host addresses [begin, end). The simulator compares accesses by host address, because two regions may be the same
// memory.
struct HostRange {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  [[nodiscard]] bool overlaps(const HostRange& other) const { return begin < other.end && other.begin < end; }
  [[nodiscard]] bool empty() const { return begin >= end; }
};

// A part of one row of a feature map that is contiguous in x: columns [begin, end). `data` is the element at column
// `begin`, channel 0.
struct RowPart {
  std::byte* data = nullptr;
  int32_t begin = 0;
  int32_t end = 0;
};

// A feature map all of whose elements [0,h) x [0,w) x [0,d) were checked to lie inside its region. Source:
// docs/facts/ethosu.md 3.1, 3.2.
class CheckedMap {
 public:
  CheckedMap() = default;
  // Errors: an element outside `region`. The message names `role` ("IFM"), the region and the first bad address.
  static Result<CheckedMap> create(const FeatureMap& map, const Extent& box, std::span<std::byte> region,
                                   std::string_view role);

  [[nodiscard]] const Extent& box() const { return box_; }
  [[nodiscard]] const ElementType& type() const { return type_; }
  [[nodiscard]] bool brick() const { return format_ == Format::kNhcwb16; }
  [[nodiscard]] int64_t pixel_stride() const { return pixel_stride_; }  // bytes from one column to the next
  [[nodiscard]] int64_t brick_stride() const {
    return brick_stride_;
  }  // bytes from one group of 16 channels to the next
  [[nodiscard]] int64_t row_stride() const { return row_stride_; }  // bytes from one row to the next within a tile
  // Element (0,0,0) if one tile holds the whole map, otherwise nullptr.
  [[nodiscard]] std::byte* single_tile() const {
    const Tile& first = tiles_[0];
    const bool whole = first.y0 == 0 && first.y1 >= box_.height && first.x0 == 0 && first.x1 >= box_.width;
    return whole ? region_.data() + first.offset : nullptr;
  }
  // The parts of row y (at most two), in order of columns. Unused parts are empty.
  [[nodiscard]] std::array<RowPart, 2> row(int32_t y) const;
  // The smallest ranges that hold all elements, one per tile. Ranges of unused tiles are empty.
  [[nodiscard]] const std::array<HostRange, 4>& ranges() const { return ranges_; }

  // Bytes [begin, begin + size) from the start of each period of `bytes`, in which all elements lie.
  struct Period {
    int64_t bytes = 0;
    const std::byte* begin = nullptr;
    int64_t size = 0;
  };
  // Periods of one pixel and of one row, or column; only periods with size <= bytes say something.
  [[nodiscard]] std::array<Period, 2> periods() const;

 private:
  struct Tile {
    int64_t offset = 0;  // of its element (0,0,0) in the region
    int32_t y0 = 0, y1 = 0, x0 = 0, x1 = 0;
  };
  [[nodiscard]] std::array<Tile, 4> tiles(const FeatureMap& map) const;
  Result<void> check_tile(const Tile& tile, size_t index, const FeatureMap& map, std::string_view role);

  std::span<std::byte> region_;
  Extent box_;
  ElementType type_;
  Format format_ = Format::kNhwc;
  std::array<Tile, 4> tiles_{};
  int64_t row_stride_ = 0;
  int64_t pixel_stride_ = 0;
  int64_t brick_stride_ = 0;
  std::array<HostRange, 4> ranges_{};
};

// Returns whether the maps may share a byte. Maps that lie beside each other in the channels of one tensor do not,
// although their ranges overlap.
bool overlap(const CheckedMap& a, const CheckedMap& b);
// Returns whether each element has the same address and width in both maps (an in-place operation).
bool same_elements(const FeatureMap& a, const FeatureMap& b);

}  // namespace carina::simulate
