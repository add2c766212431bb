#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "frontend/tflite/model.h"

namespace carina::tflite {

// One axis of a STRIDED_SLICE: where it begins, how many elements it takes, and how far apart they are.
struct Stretch {
  int64_t begin;
  int64_t count;
  int64_t stride;
};

struct Bounds {
  int64_t begin;
  int64_t end;
  int64_t stride;  // not 0, of at most 32 bits
  bool has_begin;
  bool has_end;
  bool is_single;  // one element, whose axis disappears
};

// Bounds as Python has them, negative ones from the end.
inline Stretch stretch_of(const Bounds& b, int64_t size) {
  const auto within = [&](int64_t at) {
    if (at < 0) at += size;
    return b.stride > 0 ? std::clamp<int64_t>(at, 0, size) : std::clamp<int64_t>(at, -1, size - 1);
  };
  const int64_t begin = b.has_begin ? within(b.begin) : (b.stride > 0 ? 0 : size - 1);
  if (b.is_single) return {.begin = begin, .count = 1, .stride = 1};
  const int64_t end = b.has_end ? within(b.end) : (b.stride > 0 ? size : -1);
  const int64_t distance = b.stride > 0 ? end - begin : begin - end;
  const int64_t step = b.stride > 0 ? b.stride : -b.stride;
  return {.begin = begin, .count = std::max<int64_t>(0, (distance + step - 1) / step), .stride = b.stride};
}

// Of one axis of an operator with these masks.
inline Stretch stretch_of(const Options& o, size_t axis, int64_t begin, int64_t end, int64_t stride, int64_t size) {
  const auto has = [&](int32_t mask) { return (mask >> axis & 1) != 0; };
  return stretch_of({.begin = begin,
                     .end = end,
                     .stride = stride,
                     .has_begin = !has(o.begin_mask),
                     .has_end = !has(o.end_mask),
                     .is_single = has(o.shrink_axis_mask)},
                    size);
}

}  // namespace carina::tflite
