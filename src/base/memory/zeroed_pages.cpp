#include "base/memory/zeroed_pages.h"

#include <sys/mman.h>

#include <new>

namespace carina {

ZeroedPages::ZeroedPages(size_t size) : size_(size) {
  if (size == 0) return;
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = {static_cast<std::byte*>(memory), [size](std::byte* p) { ::munmap(p, size); }};
}

}  // namespace carina
