#include "evaluate/memory_order.h"

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "carina/check.h"

namespace carina::evaluate {

namespace {

// An axis of a tensor, with its strides in elements in the order of the shape and in memory.
struct Axis {
  size_t count, step_in_shape, step_in_memory;
};

// Returns the axes in the order of the shape.
std::vector<Axis> axes_of(const runtime::Tensor& tensor) {
  std::vector<Axis> axes(tensor.rank());
  size_t in_memory = 1, in_shape = 1;
  for (size_t i = tensor.rank(); i-- > 0;) {
    Axis &last = axes[i], &next = axes[tensor.dim_order()[i]];
    last.count = static_cast<size_t>(tensor.sizes()[i]);
    last.step_in_shape = in_shape;
    in_shape *= last.count;
    next.step_in_memory = in_memory;
    in_memory *= static_cast<size_t>(tensor.sizes()[tensor.dim_order()[i]]);
  }
  return axes;
}

std::vector<Axis> in_memory(const runtime::Tensor& tensor, std::span<const Axis> axes) {
  std::vector<Axis> ordered;
  for (const uint8_t axis : tensor.dim_order()) ordered.push_back(axes[axis]);
  return ordered;
}

// Calls function(offset in shape order, offset in memory) for each index of all axes but the last two.
template <typename Function>
void for_places(std::span<const Axis> axes, size_t in_shape, size_t in_memory, const Function& function) {
  if (axes.size() == 2) return function(in_shape, in_memory);
  for (size_t i = 0; i < axes[0].count; ++i)
    for_places(axes.subspan(1), in_shape + i * axes[0].step_in_shape, in_memory + i * axes[0].step_in_memory, function);
}

enum class Direction : uint8_t { kToMemory, kFromMemory };

template <size_t kBytes>
void copy(std::span<const Axis> axes, Direction direction, const std::byte* from, std::byte* to) {
  const bool in = direction == Direction::kToMemory;
  const Axis outer = axes[axes.size() - 2], inner = axes.back();
  const size_t source_step = kBytes * (in ? inner.step_in_shape : inner.step_in_memory);
  const size_t target_step = kBytes * (in ? inner.step_in_memory : inner.step_in_shape);
  for_places(axes, 0, 0, [=](size_t in_shape, size_t in_memory) {
    for (size_t i = 0; i < outer.count; ++i, in_shape += outer.step_in_shape, in_memory += outer.step_in_memory) {
      const std::byte* source = from + kBytes * (in ? in_shape : in_memory);
      std::byte* target = to + kBytes * (in ? in_memory : in_shape);
      for (size_t k = 0; k < inner.count; ++k) std::memcpy(target + k * target_step, source + k * source_step, kBytes);
    }
  });
}

// Reorders the elements of a tensor with at least two axes. A tensor with one axis has only one order.
Buffer reordered(const runtime::Tensor& tensor, Direction direction, std::span<const std::byte> elements) {
  if (tensor.contiguous()) return Buffer::copy_of(elements);
  std::vector<Axis> axes = axes_of(tensor);
  if (direction == Direction::kToMemory) axes = in_memory(tensor, axes);
  // Elements that are adjacent in the destination are written together. The inner loop runs over the longer of the two
  // innermost axes.
  if (Axis& outer = axes[axes.size() - 2], &inner = axes.back(); inner.count < outer.count) std::swap(outer, inner);
  MutableBuffer buffer = MutableBuffer::allocate(elements.size());
  std::byte* to = buffer.bytes().data();
  switch (const size_t bytes = runtime::element_bytes(tensor.type)) {
    case 1:
      copy<1>(axes, direction, elements.data(), to);
      break;
    case 2:
      copy<2>(axes, direction, elements.data(), to);
      break;
    case 4:
      copy<4>(axes, direction, elements.data(), to);
      break;
    case 8:
      copy<8>(axes, direction, elements.data(), to);
      break;
    case 16:
      copy<16>(axes, direction, elements.data(), to);
      break;
    default:
      CARINA_UNREACHABLE("element bytes", bytes);
  }
  return std::move(buffer).freeze();
}

}  // namespace

Buffer to_memory_order(const runtime::Tensor& tensor, std::span<const std::byte> elements) {
  return reordered(tensor, Direction::kToMemory, elements);
}

Buffer from_memory_order(const runtime::Tensor& tensor, std::span<const std::byte> elements) {
  return reordered(tensor, Direction::kFromMemory, elements);
}

}  // namespace carina::evaluate
