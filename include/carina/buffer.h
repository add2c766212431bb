// Declares shared read-only bytes and their builder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace carina {

// Read-only bytes with shared ownership of their storage (a mapped file, an allocation). Copying copies the handle,
// never the bytes.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  // A part of this buffer with the same owner. `offset + size` must lie inside.
  [[nodiscard]] Buffer slice(size_t offset, size_t size) const { return {owner_, bytes_.subspan(offset, size)}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] const std::byte* data() const { return bytes_.data(); }
  [[nodiscard]] size_t size() const { return bytes_.size(); }

  // Copies `bytes` into a new allocation, aligned to 64 bytes.
  static Buffer copy_of(std::span<const std::byte> bytes);

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

// Bytes under construction, aligned to 64 bytes; freeze() hands them over as a Buffer.
class MutableBuffer {
 public:
  MutableBuffer() = default;
  // Uninitialized memory. Allocations of user-given size must be bounded by the caller.
  static MutableBuffer allocate(size_t size);
  [[nodiscard]] std::span<std::byte> bytes() { return {storage_.get(), size_}; }
  [[nodiscard]] Buffer freeze() && {
    const std::span<const std::byte> bytes{storage_.get(), size_};
    return {std::move(storage_), bytes};
  }

 private:
  std::shared_ptr<std::byte> storage_;
  size_t size_ = 0;
};

}  // namespace carina
