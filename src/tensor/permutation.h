#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace carina {

// TOSA's perms: axis i of the result is axis perms[i] of the input.
using Perms = std::vector<int64_t>;

Perms inverse_of(const Perms& perms);
// First `first`, then `second`.
Perms composed(const Perms& first, const Perms& second);
bool is_identity(const Perms& perms);
// Axes of size 1 may go anywhere: whether the order of the elements stays, so that a reshape does the same.
bool keeps_element_order(const Shape& shape, const Perms& perms);

// What a value is called that stands for `name` with its axes in another order, and back; nothing for other names.
std::string reordered_name(std::string_view name);
std::optional<std::string_view> name_before_reordering(std::string_view name);

template <typename T>
std::vector<T> permuted(const std::vector<T>& list, const Perms& perms) {
  std::vector<T> result;
  for (const int64_t axis : perms) result.push_back(list[static_cast<size_t>(axis)]);
  return result;
}
Shape permuted(const Shape& shape, const Perms& perms);
// The tensor itself, transposed at compile time.
Tensor permuted(const Tensor& tensor, const Perms& perms);
// For each element of the result of a transposition, in order, where it stands in the input.
std::vector<size_t> source_indices(const Shape& shape, const Perms& perms);

}  // namespace carina
