#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "carina/result.h"

namespace carina {

// Zero-initialized memory that this process shares with programs that it starts. It is freed when all have ended.
class SharedPages {
 public:
  // `name` is for lists of the system only. Errors: there is not so much memory.
  static Result<std::unique_ptr<SharedPages>> make(const char* name, size_t bytes);
  ~SharedPages();
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  SharedPages(int descriptor, std::span<std::byte> bytes) : descriptor_(descriptor), bytes_(bytes) {}
  int descriptor_;
  std::span<std::byte> bytes_;
};

}  // namespace carina
