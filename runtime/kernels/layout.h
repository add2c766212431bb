#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

#include "runtime/evalue.h"

// Axes, strides and memory order of tensors.
//   Example: sizes [2,3] with dim_order (1,0) have the strides (1,2): element (i,j) is at i + 2 * j.
namespace carina::runtime {

inline constexpr size_t kMaxRank = 16;  // Method::load() rejects larger ranks
using Extents = std::array<int64_t, kMaxRank>;

// The axes of a tensor in logical order, with the stride of each in elements.
struct Layout {
  size_t rank = 0;
  Extents sizes{};
  Extents strides{};
};

Layout layout_of(const Tensor& tensor);

// Returns whether the elements of two tensors have the same memory order.
bool same_layout(const Tensor& a, const Tensor& b);
bool same_sizes(const Tensor& a, const Tensor& b);

// Gives a resizable output the sizes of another tensor. Returns false if the sizes differ and cannot change.
bool takes_sizes_of(const Tensor& out, const Tensor& other);

// Gives a resizable output the broadcast sizes of the operands. Other outputs stay unchanged.
void fit_to_broadcast(const Tensor& out, std::initializer_list<const Tensor*> operands);

// Converts a dimension in [-rank, rank) to an axis. Returns false if it is out of range.
bool axis_of(int64_t dim, size_t rank, size_t& axis);

// Visits all positions of an index space, the last axis fastest, with the offset of the element in each of N tensors.
template <size_t N>
struct Walk {
  size_t rank = 0;
  Extents sizes{};
  std::array<Extents, N> strides{};
  std::array<int64_t, N> at{};  // offset from each tensor's start, in elements
  Extents index{};

  [[nodiscard]] int64_t count() const {
    int64_t product = 1;
    for (size_t axis = 0; axis < rank; ++axis) product *= sizes[axis];
    return product;
  }
  void add_axis(int64_t size, const std::array<int64_t, N>& steps) {
    sizes[rank] = size;
    for (size_t n = 0; n < N; ++n) strides[n][rank] = steps[n];
    ++rank;
  }
  void next() {
    for (size_t axis = rank; axis-- > 0;) {
      for (size_t n = 0; n < N; ++n) at[n] += strides[n][axis];
      if (++index[axis] < sizes[axis]) return;
      for (size_t n = 0; n < N; ++n) at[n] -= strides[n][axis] * sizes[axis];
      index[axis] = 0;
    }
  }
};

// Joins neighboring axes that are one axis in the memory of every tensor, and drops axes of size 1. The elements and
// their order stay. Example: sizes [2, 3, 4] with the strides [12, 4, 1] and [0, 4, 1] become [2, 12], [12, 1] and
// [0, 1].
template <size_t N>
void merge_axes(Walk<N>& walk) {
  size_t rank = 0;
  const auto continues = [&](size_t outer, size_t inner) {
    for (size_t n = 0; n < N; ++n) {
      if (walk.strides[n][outer] != walk.strides[n][inner] * walk.sizes[inner]) return false;
    }
    return true;
  };
  for (size_t axis = 0; axis < walk.rank; ++axis) {
    if (walk.sizes[axis] == 1) continue;
    int64_t size = walk.sizes[axis];
    if (rank > 0 && continues(rank - 1, axis)) size *= walk.sizes[--rank];
    for (size_t n = 0; n < N; ++n) walk.strides[n][rank] = walk.strides[n][axis];
    walk.sizes[rank++] = size;
  }
  walk.rank = rank;
}

// Sorts the axes by their strides in the last tensor, the smallest one last, and merges them. The walk visits the same
// elements in another order.
template <size_t N>
void order_axes(Walk<N>& walk) {
  for (size_t end = walk.rank; end > 1; --end) {
    for (size_t axis = 0; axis + 1 < end; ++axis) {
      if (walk.strides[N - 1][axis] >= walk.strides[N - 1][axis + 1]) continue;
      std::swap(walk.sizes[axis], walk.sizes[axis + 1]);
      for (size_t n = 0; n < N; ++n) std::swap(walk.strides[n][axis], walk.strides[n][axis + 1]);
    }
  }
  merge_axes(walk);
}

// Offsets and strides in each of N tensors, as wide as an address.
template <size_t N>
using Steps = std::array<ptrdiff_t, N>;

template <size_t N>
Steps<N> steps_along(const Walk<N>& walk, size_t axis) {
  Steps<N> steps;
  for (size_t n = 0; n < N; ++n) steps[n] = static_cast<ptrdiff_t>(walk.strides[n][axis]);
  return steps;
}

// Calls row(offsets, strides, number of elements) for each run of one or more elements along the last axis. The walk
// advances once per run of rows.
template <size_t N, typename Function>
void for_rows(Walk<N>& walk, const Function& row) {
  if (walk.count() == 0) return;
  const size_t rank = walk.rank;
  const bool has_row = walk.rank > 0, has_rows = walk.rank > 1;
  const Steps<N> steps = has_row ? steps_along(walk, walk.rank - 1) : Steps<N>{};
  const Steps<N> next = has_rows ? steps_along(walk, walk.rank - 2) : Steps<N>{};
  const auto count = has_row ? static_cast<size_t>(walk.sizes[walk.rank - 1]) : 1;
  const auto rows = has_rows ? static_cast<size_t>(walk.sizes[walk.rank - 2]) : 1;
  walk.rank -= has_rows ? 2 : has_row ? 1 : 0;
  for (int64_t left = walk.count(); left > 0; --left, walk.next()) {
    Steps<N> at;
    for (size_t n = 0; n < N; ++n) at[n] = static_cast<ptrdiff_t>(walk.at[n]);
    for (size_t i = 0; i < rows; ++i) {
      row(at, steps, count);
      for (size_t n = 0; n < N; ++n) at[n] += next[n];
    }
  }
  walk.rank = rank;
}

// Calls function() `count` times, at least once. Compilers that optimize for size leave a loop of this form without a
// jump to its test.
template <typename Function>
inline void repeat(size_t count, const Function& function) {
  do function();
  while (--count != 0);
}

// Visits all elements of a tensor in logical order.
inline Walk<1> walk_over(const Tensor& tensor) {
  const Layout layout = layout_of(tensor);
  return {.rank = layout.rank, .sizes = layout.sizes, .strides = {layout.strides}, .at = {}, .index = {}};
}

// The strides of `operand` along the axes of `out` after broadcasting (0 along repeated axes). Returns false if it does
// not broadcast.
bool broadcast(const Tensor& operand, const Tensor& out, Extents& strides);

// Copies adjacent bytes; the blocks may overlap. The C library of firmware copies byte by byte.
void copy_block(const std::byte* from, std::byte* to, size_t count);

// Copies one element per position of `walk` from tensor 0 to tensor 1. Converts the element if the types differ.
void copy_elements(const Tensor& from, const Tensor& to, Walk<2>& walk);

}  // namespace carina::runtime
