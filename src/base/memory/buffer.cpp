#include "carina/buffer.h"

#include <algorithm>
#include <new>

#include "base/memory/copy_bytes.h"
#include "base/parallel/parallel.h"

namespace carina {

namespace {

constexpr std::align_val_t kAlignment{64};
constexpr size_t kMuch = size_t{1} << 20;  // bytes; freeing larger buffers takes noticeable time

void free_bytes(std::byte* p) {
  ::operator delete(p, kAlignment);
}

}  // namespace

MutableBuffer MutableBuffer::allocate(size_t size) {
  MutableBuffer buffer;
  auto* memory = static_cast<std::byte*>(::operator new(std::max<size_t>(size, 1), kAlignment));
  buffer.storage_ = std::shared_ptr<std::byte>(memory, [size](std::byte* p) {
    if (size < kMuch) return free_bytes(p);
    run_async([p] { free_bytes(p); });
  });
  buffer.size_ = size;
  return buffer;
}

Buffer Buffer::copy_of(std::span<const std::byte> bytes) {
  MutableBuffer copy = MutableBuffer::allocate(bytes.size());
  copy_bytes(bytes, copy.bytes());
  return std::move(copy).freeze();
}

}  // namespace carina
