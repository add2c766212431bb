#include "base/memory/prefault.h"

// Windows maps pages at the first access, and has large pages for privileged users only.
namespace carina {

void prefault(std::span<std::byte> /*memory*/) {}

void prefer_large_pages(std::span<std::byte> /*memory*/) {}

void prefault_parallel(std::span<std::byte> /*memory*/) {}

}  // namespace carina
