#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "simulate/vectors/line_vector.h"

// Scratch memory per thread.
namespace carina::simulate {

// Memory that a thread reuses for its next task. The contents are not preserved.
template <typename T>
class Reusable {
 public:
  std::span<T> get(size_t count) {
    if (values_.size() < count) {
      values_ = {};  // freed before the new one is allocated
      values_ = LineVector<T>(count);
    }
    return std::span(values_).first(count);
  }

 private:
  LineVector<T> values_;
};

// The scratch of a window with elements of this type.
template <typename T>
struct WindowScratch {
  Reusable<T> window;
  Reusable<T> row;
  Reusable<const T*> pixels;
};

struct Scratch {
  WindowScratch<int16_t> shorts;
  WindowScratch<uint8_t> bytes;
  Reusable<int32_t> acc;
  Reusable<int32_t> part;
  Reusable<int64_t> wide;
  Reusable<int64_t> wide_second;
  Reusable<int64_t> wide_part;
  Reusable<std::byte> scaled;
  Reusable<std::byte> looked_up;
  Reusable<int32_t> first;
  Reusable<int32_t> second;
};

inline Scratch& thread_scratch() {
  thread_local Scratch scratch;
  return scratch;
}

}  // namespace carina::simulate
