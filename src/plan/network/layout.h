#pragma once

#include <cstdint>
#include <optional>

#include "plan/network/network.h"

namespace carina::plan {

// A feature map in bytes, from the start of its tensor.
struct ByteMap {
  int64_t offset = 0;
  int64_t stride_y = 0;
  int64_t stride_x = 0;
  int64_t stride_c = 0;
};

// The bytes of a feature map in the tensor's format. Nothing if the format cannot express it.
std::optional<ByteMap> bytes_of(const FeatureMap& map, const PlanTensor& tensor);

// Bytes [begin, end) of the tensor that contain every element of the map.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
  [[nodiscard]] bool overlaps(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};
ByteRange range_of(const FeatureMap& map, const PlanTensor& tensor);

// Whether bricks can express the map, in whatever format the tensor is now.
bool fits_bricks(const FeatureMap& map, const PlanTensor& tensor);

}  // namespace carina::plan
