#include "plan/network/weight_values.h"

#include <algorithm>
#include <limits>

namespace carina::plan {

namespace {

bool fits_int8(int16_t value) {
  return value >= std::numeric_limits<int8_t>::min() && value <= std::numeric_limits<int8_t>::max();
}

}  // namespace

WeightValues::WeightValues(const std::vector<int16_t>& values) : wide_(!std::ranges::all_of(values, fits_int8)) {
  if (wide_) {
    bytes_ = Buffer::copy_of(std::as_bytes(std::span(values)));
    return;
  }
  MutableBuffer narrow = MutableBuffer::allocate(values.size());
  std::ranges::transform(values, narrow.bytes().begin(), [](int16_t v) { return static_cast<std::byte>(v); });
  bytes_ = std::move(narrow).freeze();
}

std::vector<int16_t> WeightValues::widened() const {
  return visit([](const auto& values) { return std::vector<int16_t>(values.begin(), values.end()); });
}

bool WeightValues::operator==(const WeightValues& other) const {
  return wide_ == other.wide_ && std::ranges::equal(bytes(), other.bytes());
}

}  // namespace carina::plan
