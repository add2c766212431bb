#pragma once

#include <cstdint>
#include <optional>

#include "plan/network/network.h"

// Byte addresses of feature maps in a tensor's format (NHWC or NHCWB16).
namespace carina::plan {

// A feature map in bytes, relative to the start of its tensor.
struct ByteMap {
  int64_t offset = 0;
  int64_t stride_y = 0;
  int64_t stride_x = 0;
  int64_t stride_c = 0;
};

// Converts a feature map to bytes in the tensor's format. Returns nothing if the format cannot express the map.
std::optional<ByteMap> bytes_of(const FeatureMap& map, const PlanTensor& tensor);

// Bytes [begin, end) of the tensor that contain every element of the map.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
  [[nodiscard]] bool overlaps(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};
ByteRange range_of(const FeatureMap& map, const PlanTensor& tensor);

// Returns whether NHCWB16 can express the map, whatever format the tensor has now.
bool fits_bricks(const FeatureMap& map, const PlanTensor& tensor);

}  // namespace carina::plan
