#include <windows.h>

#include <new>

#include "base/memory/zeroed_pages.h"

// Source: the Windows API, memoryapi.h. Pages that are never accessed take no memory, but count as promised.
namespace carina {

ZeroedPages::ZeroedPages(size_t size) : size_(size) {
  if (size == 0) return;
  void* memory = ::VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (memory == nullptr) throw std::bad_alloc();
  memory_ = {static_cast<std::byte*>(memory), [](std::byte* p) { ::VirtualFree(p, 0, MEM_RELEASE); }};
}

}  // namespace carina
