#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace carina {

// Zero-initialized memory whose size may come from a file: pages that are never accessed take no memory.
class ZeroedPages {
 public:
  ZeroedPages() = default;
  // Throws std::bad_alloc if no address range of this size is free.
  explicit ZeroedPages(size_t size);
  [[nodiscard]] std::span<std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  std::shared_ptr<std::byte> memory_;
  size_t size_ = 0;
};

}  // namespace carina
