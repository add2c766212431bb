#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace carina {

// Zeros of a size that a file may have chosen: pages that nobody touches take no memory.
class ZeroedPages {
 public:
  ZeroedPages() = default;
  // Throws std::bad_alloc when there is no such range of addresses.
  explicit ZeroedPages(size_t size);
  [[nodiscard]] std::span<std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  std::shared_ptr<std::byte> memory_;
  size_t size_ = 0;
};

}  // namespace carina
