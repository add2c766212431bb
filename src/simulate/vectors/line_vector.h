#pragma once

#include <cstddef>
#include <new>
#include <vector>

// Vectors whose first element begins a cache line.
namespace carina::simulate {

// A vector that begins at a cache line. Vector accesses of 64 bytes that cross a line take twice the loads, and
// malloc() alone would give addresses that vary with earlier allocations.
template <typename T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <typename U>
  explicit LineAllocator(const LineAllocator<U>& /*other*/) {}

  [[nodiscard]] T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* values, size_t count) { ::operator delete(values, count * sizeof(T), kLine); }
  bool operator==(const LineAllocator&) const = default;
};

template <typename T>
using LineVector = std::vector<T, LineAllocator<T>>;

}  // namespace carina::simulate
