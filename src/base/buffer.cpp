#include "base/buffer.h"

#include <algorithm>
#include <new>

namespace carina {

namespace {
constexpr std::align_val_t kAlignment{64};
}

MutableBuffer MutableBuffer::allocate(size_t size) {
  MutableBuffer buffer;
  auto* memory = static_cast<std::byte*>(::operator new(std::max<size_t>(size, 1), kAlignment));
  buffer.storage_ = std::shared_ptr<std::byte>(memory, [](std::byte* p) { ::operator delete(p, kAlignment); });
  buffer.size_ = size;
  return buffer;
}

Buffer Buffer::copy_of(std::span<const std::byte> bytes) {
  MutableBuffer copy = MutableBuffer::allocate(bytes.size());
  std::ranges::copy(bytes, copy.bytes().begin());
  return std::move(copy).freeze();
}

}  // namespace carina
