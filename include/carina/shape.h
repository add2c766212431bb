// Defines Shape, the sizes of a tensor's axes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "carina/check.h"

namespace carina {

// The sizes of a tensor's axes, outermost first; rank 0 is a scalar. -1 stands for a size that is not known.
class Shape {
 public:
  static constexpr size_t kMaxRank = 16;  // ExecuTorch's limit, the largest of the supported formats

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims) : rank_(dims.size()) {
    CARINA_CHECK(dims.size() <= kMaxRank, "rank {}", dims.size());
    std::ranges::copy(dims, dims_.begin());
  }

  [[nodiscard]] size_t rank() const { return rank_; }
  [[nodiscard]] std::span<const int64_t> dims() const { return {dims_.data(), rank_}; }
  [[nodiscard]] int64_t operator[](size_t axis) const { return dims_[axis]; }
  int64_t& operator[](size_t axis) { return dims_[axis]; }
  // The number of elements. Readers have checked that it fits int64_t.
  [[nodiscard]] int64_t elements() const;
  bool operator==(const Shape& other) const { return std::ranges::equal(dims(), other.dims()); }

 private:
  std::array<int64_t, kMaxRank> dims_{};
  size_t rank_ = 0;
};

// Formats a shape: "[1,3,224,224]".
std::string to_string(const Shape& shape);

// Returns the shape of two operands after broadcasting. No value if they cannot be broadcast. Ranks must be equal, and
// the sizes of each axis equal or 1: [1,3] and [2,1] give [2,3]. Source: TOSA 1.0, broadcasting.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);

}  // namespace carina
