#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "carina/tensor.h"

namespace carina {

// TOSA's perms: axis i of the result is axis perms[i] of the input.
using Perms = std::vector<int64_t>;

Perms inverse_of(const Perms& perms);
// Returns the permutation that applies `first` and then `second`.
Perms composed(const Perms& first, const Perms& second);
bool is_identity(const Perms& perms);
// Returns whether a transposition keeps the order of the elements, so that a reshape does the same. Axes of size 1 do
// not matter.
bool keeps_element_order(const Shape& shape, const Perms& perms);

// Returns the name of a value that holds `name` with permuted axes, and the reverse; nothing for other names.
std::string reordered_name(std::string_view name);
std::optional<std::string_view> name_before_reordering(std::string_view name);

template <typename T>
std::vector<T> permuted(const std::vector<T>& list, const Perms& perms) {
  std::vector<T> result;
  for (const int64_t axis : perms) result.push_back(list[static_cast<size_t>(axis)]);
  return result;
}
Shape permuted(const Shape& shape, const Perms& perms);
// Transposes a tensor at compile time.
Tensor permuted(const Tensor& tensor, const Perms& perms);
// Returns for each element of a transposed tensor, in order, its index in the input.
std::vector<size_t> source_indices(const Shape& shape, const Perms& perms);

}  // namespace carina
