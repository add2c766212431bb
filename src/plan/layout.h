#pragma once

#include <cstdint>
#include <optional>

#include "plan/compile.h"
#include "plan/network.h"

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

// Chooses NHCWB16 for each intermediate tensor that all operations address as that format can.
void choose_formats(Network& network, const Variation& variation);

}  // namespace carina::plan
