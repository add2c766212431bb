#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "carina/shape.h"
#include "kernels/workers.h"

// Copies between strided views.
namespace carina::interpret {

// A copy between two strided views of the same sizes. Strides and offsets are in elements. Strides of the input may be
// negative or zero.
struct StridedCopy {
  struct Axis {
    int64_t size;
    int64_t in_stride;
    int64_t out_stride;
  };
  std::vector<Axis> axes;  // outermost first; simplify() merges them where possible
  int64_t in_offset = 0;
  int64_t out_offset = 0;
  size_t element_bytes = 1;  // 1, 2, 4 or 8

  // Drops axes of size 1 and merges axes that are contiguous in both views.
  void simplify();
  // Copies. The views must lie inside the buffers.
  void run(kernels::Workers& workers, const std::byte* in, std::byte* out) const;
};

// Row-major strides of a dense tensor.
std::vector<int64_t> dense_strides(const Shape& shape);

}  // namespace carina::interpret
