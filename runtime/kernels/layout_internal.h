#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "runtime/evalue.h"

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

// Visits all elements of a tensor in logical order.
inline Walk<1> walk_over(const Tensor& tensor) {
  const Layout layout = layout_of(tensor);
  return {.rank = layout.rank, .sizes = layout.sizes, .strides = {layout.strides}, .at = {}, .index = {}};
}

// The strides of `operand` along the axes of `out` after broadcasting (0 along repeated axes). Returns false if it does
// not broadcast.
bool broadcast(const Tensor& operand, const Tensor& out, Extents& strides);

// Copies one element per position of `walk` from tensor 0 to tensor 1. Converts the element if the types differ.
void copy_elements(const Tensor& from, const Tensor& to, Walk<2>& walk);

}  // namespace carina::runtime
