#include "tensor/finite.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "base/memory/prefetch.h"
#include "base/parallel/parallel.h"

namespace carina {

namespace {

// Returns whether all elements are finite: the difference of a value and itself is 0 only for finite values. The loop
// has lanes, so that compilers vectorize it.
bool is_part_finite(std::span<const float> values) {
  constexpr size_t kLanes = kLineBytes / sizeof(float);
  std::array<float, kLanes> left{};
  const size_t whole = values.size() - values.size() % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    prefetch_ahead(values.data() + i);
    for (size_t lane = 0; lane < kLanes; ++lane) left[lane] += values[i + lane] - values[i + lane];
  }
  for (size_t i = whole; i < values.size(); ++i) left[0] += values[i] - values[i];
  return std::ranges::all_of(left, [](float l) { return l == 0; });
}

}  // namespace

bool are_finite(std::span<const float> values) {
  constexpr size_t kPart = size_t{1} << 18;  // elements per thread
  if (values.size() <= kPart) return is_part_finite(values);
  std::atomic<bool> finite = true;
  parallel_for_chunks(values.size(), kPart, [&](size_t begin, size_t end) {
    if (!is_part_finite(values.subspan(begin, end - begin))) finite = false;
  });
  return finite;
}

}  // namespace carina
