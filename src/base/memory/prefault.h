// Hints to the operating system about memory that is about to be filled.
#pragma once

#include <cstddef>
#include <span>

namespace carina {

// Maps all whole pages of memory that is about to be filled with one system call, which takes a quarter less time than
// page faults one by one. Contents are unchanged. Does nothing for a few pages or if the system does not support it.
void prefault(std::span<std::byte> memory);
template <typename T>
void prefault(std::span<T> memory) {
  prefault(std::as_writable_bytes(memory));
}

// Requests large pages for memory of 64 MB and more that will be read many times; call it before the memory is filled.
// Large pages make address translation faster. Filling takes as long or longer (docs/performance.md 6).
void prefer_large_pages(std::span<std::byte> memory);

// Calls prefault() for parts of the memory on all threads (parallel.h).
void prefault_parallel(std::span<std::byte> memory);

}  // namespace carina
