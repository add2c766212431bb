#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "interpret/workers_internal.h"
#include "tensor/shape.h"

namespace carina::interpret {

// A copy between two strided views of the same sizes; strides and offsets in elements, negative and zero ones allowed
// on the input side.
struct StridedCopy {
  struct Axis {
    int64_t size;
    int64_t in_stride;
    int64_t out_stride;
  };
  std::vector<Axis> axes;  // outermost first, after simplify() without axes that can be merged
  int64_t in_offset = 0;
  int64_t out_offset = 0;
  size_t element_bytes = 1;  // 1, 2, 4 or 8

  // Drops axes of size 1 and merges those that are contiguous on both sides.
  void simplify();
  // The views must lie inside the buffers.
  void run(Workers& workers, const std::byte* in, std::byte* out) const;
};

// Row-major strides of a dense tensor.
std::vector<int64_t> dense_strides(const Shape& shape);

}  // namespace carina::interpret
