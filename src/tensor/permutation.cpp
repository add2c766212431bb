#include "tensor/permutation.h"

#include <algorithm>
#include <span>

#include "base/memory/prefault.h"
#include "base/parallel/parallel.h"

namespace carina {

namespace {
constexpr std::string_view kReordered = ".nhwc";
}  // namespace

std::string reordered_name(std::string_view name) {
  return std::string(name) + std::string(kReordered);
}

std::optional<std::string_view> name_before_reordering(std::string_view name) {
  if (!name.ends_with(kReordered)) return std::nullopt;
  return name.substr(0, name.size() - kReordered.size());
}

Perms inverse_of(const Perms& perms) {
  Perms inverse(perms.size());
  for (size_t i = 0; i < perms.size(); ++i) inverse[static_cast<size_t>(perms[i])] = static_cast<int64_t>(i);
  return inverse;
}

Perms composed(const Perms& first, const Perms& second) {
  return permuted(first, second);
}

bool is_identity(const Perms& perms) {
  return std::ranges::is_sorted(perms);
}

bool keeps_element_order(const Shape& shape, const Perms& perms) {
  int64_t last = -1;
  for (const int64_t axis : perms) {
    if (shape[static_cast<size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

Shape permuted(const Shape& shape, const Perms& perms) {
  Shape result = shape;
  for (size_t i = 0; i < perms.size(); ++i) result[i] = shape[static_cast<size_t>(perms[i])];
  return result;
}

std::vector<size_t> source_indices(const Shape& shape, const Perms& perms) {
  std::vector<size_t> stride(shape.rank(), 1);
  for (size_t axis = shape.rank(); axis-- > 1;) stride[axis - 1] = stride[axis] * static_cast<size_t>(shape[axis]);
  std::vector<size_t> indices{0};
  for (const int64_t axis : perms) {
    std::vector<size_t> next;
    next.reserve(indices.size() * static_cast<size_t>(shape[static_cast<size_t>(axis)]));
    for (const size_t base : indices) {
      for (int64_t i = 0; i < shape[static_cast<size_t>(axis)]; ++i)
        next.push_back(base + static_cast<size_t>(i) * stride[static_cast<size_t>(axis)]);
    }
    indices = std::move(next);
  }
  return indices;
}

namespace {

constexpr size_t kPartElements = size_t{1} << 17;  // elements per thread

// Copies elements in the order of the result. `sizes` and `strides` (in elements of `from`) are those of the result's
// axes, at least one. Fills `to`, which may end before the end of the outermost axis.
template <typename T>
void copy_permuted(const T* from, std::span<T> to, const Perms& sizes, const Perms& strides) {
  const size_t last = sizes.size() - 1;
  std::vector<int64_t> at(sizes.size(), 0);
  for (size_t next = 0; next < to.size();) {
    for (int64_t i = 0; i < sizes[last]; ++i) to[next++] = from[i * strides[last]];
    for (size_t axis = last; axis-- > 0;) {
      from += strides[axis];
      if (++at[axis] < sizes[axis]) break;
      from -= strides[axis] * sizes[axis];
      at[axis] = 0;
    }
  }
}

// Transposes parts of the outermost axis on all threads.
template <typename T>
void copy_permuted_parts(const T* from, std::span<T> to, const Perms& sizes, const Perms& strides) {
  if (to.empty()) return;
  const auto rows = static_cast<size_t>(sizes.front());
  const size_t each = to.size() / rows;
  parallel_for_chunks(rows, std::max<size_t>(1, kPartElements / each), [&](size_t begin, size_t end) {
    prefault(to.subspan(begin * each, (end - begin) * each));
    copy_permuted(from + static_cast<int64_t>(begin) * strides.front(), to.subspan(begin * each, (end - begin) * each),
                  sizes, strides);
  });
}

}  // namespace

Tensor permuted(const Tensor& tensor, const Perms& perms) {
  if (is_identity(perms)) return tensor;
  const Shape& shape = tensor.shape;
  if (keeps_element_order(shape, perms))
    return {.dtype = tensor.dtype, .shape = permuted(shape, perms), .data = tensor.data};
  Perms steps(shape.rank(), 1);
  for (size_t axis = shape.rank(); axis-- > 1;) steps[axis - 1] = steps[axis] * shape[axis];
  const Shape to = permuted(shape, perms);
  MutableTensor result(tensor.dtype, to);
  const Perms sizes(to.dims().begin(), to.dims().end()), strides = permuted(steps, perms);
  const auto copy = [&]<typename T>(T) {
    copy_permuted_parts(reinterpret_cast<const T*>(tensor.data.data()), result.values<T>(), sizes, strides);
  };
  switch (element_bytes(tensor.dtype)) {
    case 1:
      copy(uint8_t{});
      break;
    case 2:
      copy(uint16_t{});
      break;
    case 4:
      copy(uint32_t{});
      break;
    default:
      copy(uint64_t{});
  }
  return std::move(result).freeze();
}

}  // namespace carina
