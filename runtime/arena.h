#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>

namespace carina::runtime {

// A bump allocator in memory of the caller. All allocations are freed at once.
class Arena {
 public:
  Arena() = default;
  explicit Arena(std::span<std::byte> memory) : memory_(memory) {}

  // Returns `bytes` bytes aligned to `alignment` (a power of two), or nullptr if they do not fit.
  [[nodiscard]] void* allocate(size_t bytes, size_t alignment = 16) {
    if (until_failure_ > 0 && --until_failure_ == 0) return nullptr;
    const auto base = reinterpret_cast<uintptr_t>(memory_.data());
    const uintptr_t aligned = (base + used_ + alignment - 1) & ~(uintptr_t{alignment} - 1);
    const size_t start = aligned - base;
    if (start > memory_.size() || bytes > memory_.size() - start) {
      missing_ = bytes > SIZE_MAX - start ? SIZE_MAX : start + bytes - memory_.size();
      return nullptr;
    }
    used_ = start + bytes;
    peak_ = used_ > peak_ ? used_ : peak_;
    return memory_.data() + start;
  }

  // Returns `count` default-constructed elements, or nullptr. Destructors are never called, so T must be trivially
  // destructible.
  template <typename T>
  [[nodiscard]] T* make_array(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count > SIZE_MAX / sizeof(T)) return nullptr;
    void* memory = allocate(count * sizeof(T), alignof(T) > 16 ? alignof(T) : 16);
    if (memory == nullptr) return nullptr;
    T* elements = static_cast<T*>(memory);
    for (size_t i = 0; i < count; ++i) new (elements + i) T();
    return elements;
  }

  void reset() { used_ = 0; }
  // The number of missing bytes of the last failed allocation; 0 if none failed.
  [[nodiscard]] size_t missing_bytes() const { return missing_; }
  // For tests: the `nth` allocation from now on (counted from 1) fails, and later ones succeed. 0: none fails.
  void fail_allocation(uint32_t nth) { until_failure_ = nth; }
  [[nodiscard]] size_t used_bytes() const { return used_; }
  [[nodiscard]] size_t peak_bytes() const { return peak_; }
  [[nodiscard]] size_t total_bytes() const { return memory_.size(); }

 private:
  std::span<std::byte> memory_;
  size_t used_ = 0;
  size_t peak_ = 0;
  size_t missing_ = 0;
  uint32_t until_failure_ = 0;
};

}  // namespace carina::runtime
