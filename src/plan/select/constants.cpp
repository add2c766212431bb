#include <cstring>
#include <vector>

#include "plan/select/emit_internal.h"

// Layout changes of constants. They happen at compile time, not on the NPU.
namespace carina::plan {
namespace {

// Copies the view's elements to contiguous memory, in the view's order.
void gather(const View& view, size_t axis, int64_t offset, std::span<const std::byte> from, size_t element_bytes,
            std::byte*& to) {
  if (axis == view.rank()) {
    std::memcpy(to, from.data() + static_cast<size_t>(offset) * element_bytes, element_bytes);
    to += element_bytes;
    return;
  }
  for (int64_t i = 0; i < view.axes[axis].size; ++i)
    gather(view, axis + 1, offset + i * view.axes[axis].stride, from, element_bytes, to);
}

}  // namespace

bool is_constant(Selection& s, const Operand& operand) {
  return s.network()[operand.view.tensor].kind == TensorKind::kConstant;
}

Operand constant_in_order(Selection& s, const Operand& constant, std::span<const int64_t> order) {
  const View view = permuted(constant.view, order);
  const auto element_bytes = static_cast<size_t>(constant.type.bytes());
  std::vector<std::byte> bytes(static_cast<size_t>(view.elements()) * element_bytes);
  std::byte* to = bytes.data();
  gather(view, 0, view.offset, s.network().material.constants[view.tensor.index()].bytes(), element_bytes, to);
  const std::string name = s.network()[view.tensor].name;
  const TensorId tensor = s.new_constant(name, bytes, view.shape(), constant.type.bytes());
  std::vector<int64_t> axes(order.size());
  for (size_t i = 0; i < order.size(); ++i) axes[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  Operand laid = constant;
  laid.view = permuted(dense_view(tensor, view.shape()), axes);
  return laid;
}

}  // namespace carina::plan
