#include "runtime/kernels/layout.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/element_internal.h"
#include "runtime/kernels/int8_dot_internal.h"

namespace carina::runtime {

Layout layout_of(const Tensor& tensor) {
  Layout layout{.rank = tensor.rank(), .sizes = {}, .strides = {}};
  for (size_t axis = 0; axis < layout.rank; ++axis) layout.sizes[axis] = tensor.sizes()[axis];
  int64_t step = 1;
  for (size_t i = layout.rank; i-- > 0;) {
    const size_t axis = tensor.dim_order()[i];
    layout.strides[axis] = step;
    step *= std::max<int64_t>(layout.sizes[axis], 1);
  }
  return layout;
}

bool same_sizes(const Tensor& a, const Tensor& b) {
  return std::ranges::equal(a.sizes(), b.sizes());
}

bool same_layout(const Tensor& a, const Tensor& b) {
  return same_sizes(a, b) && std::ranges::equal(a.dim_order(), b.dim_order());
}

bool takes_sizes_of(const Tensor& out, const Tensor& other) {
  Extents sizes{};
  std::ranges::copy(other.sizes(), sizes.begin());
  return out.resize({sizes.data(), other.rank()});
}

void fit_to_broadcast(const Tensor& out, std::initializer_list<const Tensor*> operands) {
  if (!out.resizable) return;
  Extents sizes{};
  std::fill_n(sizes.begin(), out.rank(), 1);
  for (const Tensor* operand : operands) {
    if (operand->rank() > out.rank()) return;
    const size_t lead = out.rank() - operand->rank();
    for (size_t axis = 0; axis < operand->rank(); ++axis) {
      if (operand->sizes()[axis] != 1) sizes[lead + axis] = operand->sizes()[axis];
    }
  }
  // Operands that do not broadcast, or not to the output's sizes, are reported later by broadcast().
  static_cast<void>(out.resize({sizes.data(), out.rank()}));
}

bool axis_of(int64_t dim, size_t rank, size_t& axis) {
  const auto limit = static_cast<int64_t>(rank);
  if (dim < -limit || dim >= limit) return false;
  axis = static_cast<size_t>(dim < 0 ? dim + limit : dim);
  return true;
}

bool broadcast(const Tensor& operand, const Tensor& out, Extents& strides) {
  if (operand.rank() > out.rank()) return false;
  const Layout layout = layout_of(operand);
  const size_t lead = out.rank() - operand.rank();
  for (size_t axis = 0; axis < lead; ++axis) strides[axis] = 0;
  for (size_t axis = 0; axis < operand.rank(); ++axis) {
    const bool repeated = layout.sizes[axis] == 1;
    if (!repeated && layout.sizes[axis] != out.sizes()[lead + axis]) return false;
    strides[lead + axis] = repeated ? 0 : layout.strides[axis];
  }
  return true;
}

namespace {

// copy_block() for few bytes
[[gnu::always_inline]] inline void copy_adjacent(const std::byte* from, std::byte* to, size_t count) {
#if defined(__ARM_FEATURE_MVE)
  if (to <= from || to >= from + count) {
    return copy_bytes(reinterpret_cast<const int8_t*>(from), reinterpret_cast<int8_t*>(to),
                      static_cast<int32_t>(count));
  }
#endif
  if (count > 0) std::memmove(to, from, count);
}

}  // namespace

void copy_block(const std::byte* from, std::byte* to, size_t count) {
  copy_adjacent(from, to, count);
}

namespace {

// Copies `count` elements that are a constant number of bytes apart.
template <size_t kBytes>
void copy_row(const std::byte* from, ptrdiff_t from_step, std::byte* to, ptrdiff_t to_step, size_t count) {
  constexpr auto kStep = static_cast<ptrdiff_t>(kBytes);
  if (from_step == kStep && to_step == kStep) return copy_adjacent(from, to, count * kBytes);
  repeat(count, [&] {
    std::memcpy(to, from, kBytes);
    from += from_step;
    to += to_step;
  });
}

template <size_t kBytes>
void copy_bytes(const Tensor& from, const Tensor& to, Walk<2> walk) {
  constexpr auto kStep = static_cast<ptrdiff_t>(kBytes);
  order_axes(walk);
  const auto stride = [&](size_t tensor, size_t axis) {
    return static_cast<ptrdiff_t>(walk.strides[tensor][axis]) * kStep;
  };
  if (walk.rank == 2 && stride(0, 1) == kStep && stride(1, 1) == kStep && walk.count() > 0) {  // blocks
    const auto bytes = static_cast<size_t>(walk.sizes[1]) * kBytes;
    const auto* source = from.as<std::byte>() + static_cast<ptrdiff_t>(walk.at[0]) * kStep;
    auto* target = to.as<std::byte>() + static_cast<ptrdiff_t>(walk.at[1]) * kStep;
    const ptrdiff_t source_step = stride(0, 0), target_step = stride(1, 0);
    return repeat(static_cast<size_t>(walk.sizes[0]), [&] {
      copy_adjacent(source, target, bytes);
      source += source_step;
      target += target_step;
    });
  }
  for_rows(walk, [&](const auto& at, const auto& steps, size_t count) {
    copy_row<kBytes>(
        from.as<std::byte>() + static_cast<ptrdiff_t>(at[0]) * kStep, static_cast<ptrdiff_t>(steps[0]) * kStep,
        to.as<std::byte>() + static_cast<ptrdiff_t>(at[1]) * kStep, static_cast<ptrdiff_t>(steps[1]) * kStep, count);
  });
}

void convert(const Tensor& from, const Tensor& to, Walk<2>& walk) {
  const int64_t count = walk.count();
  const bool numbers = is_floating(from.type) || is_floating(to.type);
  for (int64_t i = 0; i < count; ++i, walk.next()) {
    const auto source = static_cast<size_t>(walk.at[0]);
    const auto target = static_cast<size_t>(walk.at[1]);
    if (numbers) {
      number_storer(to.type)(to.data, target, number_loader(from.type)(from.data, source));
    } else {
      integer_storer(to.type)(to.data, target, integer_loader(from.type)(from.data, source));
    }
  }
}

}  // namespace

void copy_elements(const Tensor& from, const Tensor& to, Walk<2>& walk) {
  if (from.type != to.type) return convert(from, to, walk);
  switch (element_bytes(from.type)) {
    case 1:
      return copy_bytes<1>(from, to, walk);
    case 2:
      return copy_bytes<2>(from, to, walk);
    case 4:
      return copy_bytes<4>(from, to, walk);
    case 16:
      return copy_bytes<16>(from, to, walk);
    default:
      return copy_bytes<8>(from, to, walk);
  }
}

}  // namespace carina::runtime
