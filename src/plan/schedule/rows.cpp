#include "plan/schedule/rows.h"

#include <algorithm>

#include "carina/check.h"

namespace carina::plan {
namespace {

int64_t row_elements(const PlanTensor& tensor) {
  return tensor.extent.width * tensor.extent.depth;
}
int64_t row_bytes(const PlanTensor& tensor) {
  return tensor.bytes() / tensor.extent.height;
}

}  // namespace

std::optional<Rows> tensor_rows(const FeatureMap& map, const PlanTensor& tensor) {
  const int64_t row = row_elements(tensor);
  if (row <= 0 || map.offset < 0 || map.stride_x < 0 || map.is_transposed() || map.type.bytes() != tensor.element_bytes)
    return std::nullopt;
  if (map.height > 1 && map.stride_y != row) return std::nullopt;
  const int64_t in_row = map.offset % row;
  const bool stays = in_row + (map.width - 1) * map.stride_x + map.depth <= row;
  const int64_t begin = map.offset / row;
  if (!stays || begin + map.height > tensor.extent.height) return std::nullopt;
  return Rows{.begin = begin, .end = begin + map.height};
}

bool is_computed_by_rows(const Step& step) {
  switch (step.kind) {
    case StepKind::kConv:
    case StepKind::kDepthwise:
    case StepKind::kPool:
      return step.upscale == 1;  // an odd row of the result begins in the middle of a row of the IFM
    case StepKind::kElementwise:
      return true;
    case StepKind::kDma:
    case StepKind::kResize:
      return false;
  }
  CARINA_UNREACHABLE("operation", step.kind);
}

Rows rows_of_first(const Step& step, const Rows& ofm) {
  if (step.kind == StepKind::kElementwise) return step.first_broadcast.height ? Rows{.begin = 0, .end = 1} : ofm;
  const WindowReach reach = reach_of(ofm.begin, ofm.count(),
                                     {.stride = step.kernel.stride_y,
                                      .extent = step.kernel.extent_h(),
                                      .before = step.padding.top,
                                      .inputs = step.ifm.height});
  return {.begin = reach.first, .end = reach.first + reach.size};
}

Rows rows_of_second(const Step& step, const Rows& ofm) {
  if (step.kind == StepKind::kElementwise && !step.broadcast.height) return ofm;
  return {.begin = 0, .end = step.ifm2.height};
}

namespace {

// Parts of a map whose rows stand one after the other, and where in the storage each begins.
struct Part {
  FeatureMap map;
  int64_t shift_bytes = 0;  // to be added to the places that the map would have in a whole tensor
};
std::vector<Part> parts_of(const Schedule& schedule, const FeatureMap& map) {
  const PlanTensor& tensor = schedule[map.tensor];
  const int64_t kept = tensor.storage.valid() ? schedule[tensor.storage].rolling_rows : 0;
  if (kept == 0) return {{.map = map}};
  const auto rows = tensor_rows(map, tensor);
  CARINA_CHECK(rows.has_value(), "tensor {} has rolling rows and is not addressed by rows", tensor.name);
  std::vector<Part> parts;
  for (int64_t row = rows->begin; row < rows->end;) {
    const int64_t end = std::min(rows->end, (row / kept + 1) * kept);
    FeatureMap part = map;
    part.offset += (row - rows->begin) * row_elements(tensor);
    part.height = end - row;
    parts.push_back({.map = part, .shift_bytes = -(row / kept * kept) * row_bytes(tensor)});
    row = end;
  }
  return parts;
}

}  // namespace

MapAddress address_of(const Schedule& schedule, const FeatureMap& map) {
  const PlanTensor& tensor = schedule[map.tensor];
  const std::vector<Part> parts = parts_of(schedule, map);
  CARINA_CHECK(parts.size() <= 2, "tensor {} has too few rolling rows", tensor.name);
  const auto bytes_in = [&](const Part& part) {
    auto bytes = bytes_of(part.map, tensor);
    CARINA_CHECK(bytes.has_value(), "tensor {} cannot be addressed in its format", tensor.name);
    bytes->offset += part.shift_bytes + schedule.address_of(map.tensor);
    return *bytes;
  };
  const ByteMap upper = bytes_in(parts.front());
  return {.upper = upper.offset,
          .upper_rows = parts.front().map.height,
          .lower = parts.size() == 2 ? bytes_in(parts.back()).offset : 0,
          .stride_y = bytes_of(map, tensor)->stride_y,
          .stride_x = upper.stride_x,
          .stride_c = upper.stride_c};
}

std::vector<ByteRange> byte_ranges_of(const Schedule& schedule, const FeatureMap& map) {
  const PlanTensor& tensor = schedule[map.tensor];
  if (!tensor.storage.valid() || schedule[tensor.storage].rolling_rows == 0) {
    const ByteRange range = range_of(map, tensor);
    const int64_t shift = schedule.address_of(map.tensor);
    return {{.begin = range.begin + shift, .end = range.end + shift}};
  }
  std::vector<ByteRange> ranges;
  for (const Part& part : parts_of(schedule, map)) {
    const ByteRange range = range_of(part.map, schedule[map.tensor]);
    const int64_t shift = part.shift_bytes + schedule.address_of(map.tensor);
    ranges.push_back({.begin = range.begin + shift, .end = range.end + shift});
  }
  return ranges;
}

}  // namespace carina::plan
