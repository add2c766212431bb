#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/network/layout.h"
#include "plan/schedule/schedule.h"

// Rows of feature maps and of their tensors: which rows a stripe writes, keeps and reads.
namespace carina::plan {

struct Rows {
  int64_t begin = 0;
  int64_t end = 0;
  [[nodiscard]] int64_t count() const { return end - begin; }
  bool operator==(const Rows&) const = default;
};

// The rows of its tensor that a map covers, in order. Nothing if the map addresses the tensor in another way.
std::optional<Rows> tensor_rows(const FeatureMap& map, const PlanTensor& tensor);

// Returns whether each row of a step's result depends on a window of operand rows, and rows have no other special role.
bool is_computed_by_rows(const Step& step);

// The rows of the first or second operand that these rows of the OFM (at least one) depend on.
Rows rows_of_first(const Step& step, const Rows& ofm);
Rows rows_of_second(const Step& step, const Rows& ofm);

// The address registers of an operand. Rows [0, upper_rows) of the map start at `upper`, the others at `lower`.
// Addresses are in bytes from the start of the space.
struct MapAddress {
  int64_t upper = 0;
  int64_t upper_rows = 0;
  int64_t lower = 0;  // 0 if there are no other rows
  int64_t stride_y = 0;
  int64_t stride_x = 0;
  int64_t stride_c = 0;
};
// The tensor must have an address. Its format and rolling rows must be able to express the map: rules 7 and 8.
MapAddress address_of(const Schedule& schedule, const FeatureMap& map);

// The bytes of the space that contain every element of the map: one range, or two if it wraps around in rolling rows.
std::vector<ByteRange> byte_ranges_of(const Schedule& schedule, const FeatureMap& map);

}  // namespace carina::plan
