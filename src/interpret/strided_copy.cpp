#include "interpret/strided_copy_internal.h"

#include <algorithm>
#include <cstring>

#include "carina/check.h"
#include "interpret/kernel_internal.h"
#include "kernels/micro/microkernels.h"

namespace carina::interpret {

std::vector<int64_t> dense_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.rank(), 1);
  for (size_t axis = shape.rank(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

void StridedCopy::simplify() {
  std::vector<Axis> kept;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    if (!kept.empty() && kept.back().in_stride == axis.in_stride * axis.size &&
        kept.back().out_stride == axis.out_stride * axis.size) {
      kept.back() = {.size = kept.back().size * axis.size, .in_stride = axis.in_stride, .out_stride = axis.out_stride};
    } else {
      kept.push_back(axis);
    }
  }
  axes = std::move(kept);
}

namespace {

template <typename T>
void copy_row(const T* in, int64_t in_stride, T* out, int64_t out_stride, int64_t count) {
  if (in_stride == 1 && out_stride == 1) {
    std::memcpy(out, in, static_cast<size_t>(count) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < count; ++i) out[i * out_stride] = in[i * in_stride];
}

// Returns whether reads are contiguous along `a` and writes along `b`: a transposition.
bool is_crosswise(const StridedCopy::Axis& a, const StridedCopy::Axis& b) {
  return a.in_stride == 1 && b.out_stride == 1 && b.in_stride != 1;
}

// Whether the vector kernels transpose elements of this size.
template <typename T>
constexpr bool kHasTiles = sizeof(T) == 1 || sizeof(T) == 4;

// Copies the two innermost axes in tiles. If each side is contiguous along another axis (a transposition), both stay in
// the cache. Short rows get longer tiles, so that the inner loop is long enough.
template <typename T>
void copy_plane(const T* in, T* out, const StridedCopy::Axis& a, const StridedCopy::Axis& b) {
  constexpr int64_t kTile = 16;
  const int64_t tall = b.size < kTile ? 256 : kTile;
  if (!is_crosswise(a, b)) {
    for (int64_t i = 0; i < a.size; ++i)
      copy_row(in + i * a.in_stride, b.in_stride, out + i * a.out_stride, b.out_stride, b.size);
    return;
  }
  if constexpr (kHasTiles<T>) {
    if (a.size >= kernels::kTransposeTile && b.size >= kernels::kTransposeTile) {
      kernels::transpose(kernels::Transpose<T>{.in = in,
                                               .in_stride = b.in_stride,
                                               .out = out,
                                               .out_stride = a.out_stride,
                                               .rows = b.size,
                                               .columns = a.size});
      return;
    }
  }
  for (int64_t i0 = 0; i0 < a.size; i0 += tall) {
    const int64_t rows = std::min(tall, a.size - i0);
    for (int64_t j0 = 0; j0 < b.size; j0 += kTile) {
      const int64_t count = std::min(kTile, b.size - j0);
      for (int64_t j = j0; j < j0 + count; ++j) {
        copy_row(in + i0 + j * b.in_stride, 1, out + i0 * a.out_stride + j, a.out_stride, rows);
      }
    }
  }
}

template <typename T>
void run_typed(const StridedCopy& copy, Workers& workers, const std::byte* in_bytes, std::byte* out_bytes) {
  const T* in = reinterpret_cast<const T*>(in_bytes) + copy.in_offset;
  T* out = reinterpret_cast<T*>(out_bytes) + copy.out_offset;
  const size_t rank = copy.axes.size();
  const StridedCopy::Axis unit{.size = 1, .in_stride = 0, .out_stride = 0};
  const StridedCopy::Axis& b = rank >= 1 ? copy.axes[rank - 1] : unit;
  const StridedCopy::Axis& a = rank >= 2 ? copy.axes[rank - 2] : unit;
  int64_t planes = 1;
  for (size_t axis = 0; axis + 2 < rank; ++axis) planes *= copy.axes[axis].size;
  const auto plane = [&](int64_t index, const StridedCopy::Axis& rows, int64_t first_row) {
    int64_t in_at = first_row * a.in_stride;
    int64_t out_at = first_row * a.out_stride;
    for (size_t axis = rank < 2 ? 0 : rank - 2; axis-- > 0;) {
      in_at += index % copy.axes[axis].size * copy.axes[axis].in_stride;
      out_at += index % copy.axes[axis].size * copy.axes[axis].out_stride;
      index /= copy.axes[axis].size;
    }
    copy_plane(in + in_at, out + out_at, rows, b);
  };
  // Contiguous rows are copied many elements at a time, and some element sizes are transposed in tiles.
  const bool fast = (b.in_stride == 1 && b.out_stride == 1) || (kHasTiles<T> && is_crosswise(a, b));
  const int64_t grain = fast ? 65536 : 4096;
  if (planes == 1 && is_crosswise(a, b) && b.size > a.size) {
    split(workers, b.size, std::max<int64_t>(kernels::kTransposeTile, grain / (a.size + 1)),
          [&](int64_t begin, int64_t end) {
            copy_plane(in + begin * b.in_stride, out + begin, a,
                       {.size = end - begin, .in_stride = b.in_stride, .out_stride = b.out_stride});
          });
    return;
  }
  if (planes == 1) {
    split(workers, a.size, 1 + grain / (b.size + 1), [&](int64_t begin, int64_t end) {
      plane(0, {.size = end - begin, .in_stride = a.in_stride, .out_stride = a.out_stride}, begin);
    });
    return;
  }
  split(workers, planes, 1 + grain / (a.size * b.size + 1), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) plane(p, a, 0);
  });
}

}  // namespace

void StridedCopy::run(Workers& workers, const std::byte* in, std::byte* out) const {
  if (std::ranges::any_of(axes, [](const Axis& axis) { return axis.size == 0; })) return;
  switch (element_bytes) {
    case 1:
      return run_typed<uint8_t>(*this, workers, in, out);
    case 2:
      return run_typed<uint16_t>(*this, workers, in, out);
    case 4:
      return run_typed<uint32_t>(*this, workers, in, out);
    case 8:
      return run_typed<uint64_t>(*this, workers, in, out);
    default:
      CARINA_UNREACHABLE("element bytes", element_bytes);
  }
}

}  // namespace carina::interpret
