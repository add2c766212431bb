#include "driver/memory_order.h"

#include <cstring>
#include <vector>

namespace carina::driver {

namespace {

// The step in elements along each axis of the shape, where the axes lie in memory in the tensor's order.
std::vector<size_t> steps_in_memory(const runtime::Tensor& tensor) {
  std::vector<size_t> steps(tensor.rank());
  size_t step = 1;
  for (size_t i = tensor.rank(); i-- > 0;) {
    const size_t axis = tensor.dim_order()[i];
    steps[axis] = step;
    step *= static_cast<size_t>(tensor.sizes()[axis]);
  }
  return steps;
}

// function(element in the order of the shape, the same element in memory)
template <typename Function>
void for_elements(const runtime::Tensor& tensor, const Function& function) {
  const std::vector<size_t> steps = steps_in_memory(tensor);
  std::vector<int32_t> index(tensor.rank(), 0);
  size_t place = 0;
  const size_t count = tensor.elements();
  for (size_t i = 0; i < count; ++i) {
    function(i, place);
    for (size_t axis = tensor.rank(); axis-- > 0;) {
      place += steps[axis];
      if (++index[axis] < tensor.sizes()[axis]) break;
      place -= steps[axis] * static_cast<size_t>(index[axis]);
      index[axis] = 0;
    }
  }
}

}  // namespace

Buffer to_memory_order(const runtime::Tensor& tensor, std::span<const std::byte> elements) {
  if (tensor.contiguous()) return Buffer::copy_of(elements);
  MutableBuffer placed = MutableBuffer::allocate(elements.size());
  const size_t bytes = runtime::element_bytes(tensor.type);
  for_elements(tensor, [&](size_t from, size_t to) {
    std::memcpy(placed.bytes().data() + to * bytes, elements.data() + from * bytes, bytes);
  });
  return std::move(placed).freeze();
}

Buffer from_memory_order(const runtime::Tensor& tensor, std::span<const std::byte> elements) {
  if (tensor.contiguous()) return Buffer::copy_of(elements);
  MutableBuffer plain = MutableBuffer::allocate(elements.size());
  const size_t bytes = runtime::element_bytes(tensor.type);
  for_elements(tensor, [&](size_t to, size_t from) {
    std::memcpy(plain.bytes().data() + to * bytes, elements.data() + from * bytes, bytes);
  });
  return std::move(plain).freeze();
}

}  // namespace carina::driver
