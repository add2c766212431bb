#include "plan/network/network.h"

#include <algorithm>
#include <span>

#include "base/checked_math.h"
#include "facts/npu_targets.h"

namespace carina::plan {

int64_t PlanTensor::bytes() const {
  if (kind == TensorKind::kConstant) return constant_bytes;
  const int64_t depth = format == Format::kNhcwb16 ? round_up<int64_t>(extent.depth, npu::kBrickDepth) : extent.depth;
  return extent.height * extent.width * depth * element_bytes;
}

Extent extent_of(const Shape& shape) {
  Extent extent;
  if (shape.rank() == 0) return extent;
  extent.depth = shape[shape.rank() - 1];
  bool width_taken = false;
  for (size_t i = shape.rank() - 1; i-- > 0;) {
    if (shape[i] == 1) continue;
    (width_taken ? extent.height : extent.width) *= shape[i];
    width_taken = true;
  }
  return extent;
}

namespace {

constexpr size_t kGroup = 4;

// Whether a group has at most two values other than zero.
template <typename T>
bool has_two_zeros(std::span<const T> group) {
  return std::ranges::count_if(group, [](T value) { return value != 0; }) <= 2;
}

}  // namespace

TwoOfFour two_of_four(const Weights& weights) {
  TwoOfFour found;
  const auto channels = static_cast<size_t>(weights.in_channels);
  if (channels == 0 || weights.values.empty()) return found;
  weights.values.visit([&](const auto& values) {
    constexpr int kLeast = -127;
    found.groups = values.size() / channels * ((channels + kGroup - 1) / kGroup);
    for (size_t filter = 0; filter < values.size(); filter += channels) {
      for (size_t c = 0; c < channels; c += kGroup) {
        if (has_two_zeros(values.subspan(filter + c, std::min(kGroup, channels - c)))) continue;
        if (++found.full_groups > found.groups / 20) return;
      }
    }
    found.fits = std::ranges::all_of(values, [](auto value) { return value >= kLeast && value <= -kLeast; });
  });
  return found;
}

}  // namespace carina::plan
