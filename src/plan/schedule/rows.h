#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/network/layout.h"
#include "plan/schedule/schedule.h"

// Rows of feature maps and of the tensors they address: what is made, kept and read when steps are computed by stripes.
namespace carina::plan {

struct Rows {
  int64_t begin = 0;
  int64_t end = 0;
  [[nodiscard]] int64_t count() const { return end - begin; }
  bool operator==(const Rows&) const = default;
};

// Which rows of its tensor a map goes through, one after the other; nothing where it addresses the tensor otherwise.
std::optional<Rows> tensor_rows(const FeatureMap& map, const PlanTensor& tensor);

// Whether each row of a step's result needs a window of rows of its operands, and nothing else is special about rows.
bool is_computed_by_rows(const Step& step);

// The rows of the first or second operand that these rows of the OFM (at least one) are computed from.
Rows rows_of_first(const Step& step, const Rows& ofm);
Rows rows_of_second(const Step& step, const Rows& ofm);

// What the registers of an operand say: rows [0, upper_rows) of the map start at `upper`, the others at `lower`. Bytes
// from the start of the space.
struct MapAddress {
  int64_t upper = 0;
  int64_t upper_rows = 0;
  int64_t lower = 0;  // 0 where there are no others
  int64_t stride_y = 0;
  int64_t stride_x = 0;
  int64_t stride_c = 0;
};
// The tensor must have an address, and a format (and rolling rows) that can express the map: rules 7 and 8.
MapAddress address_of(const Schedule& schedule, const FeatureMap& map);

// Bytes of the space that contain every element of the map: one range, or two where it goes around rolling rows.
std::vector<ByteRange> byte_ranges_of(const Schedule& schedule, const FeatureMap& map);

}  // namespace carina::plan
