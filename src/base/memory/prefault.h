#pragma once

#include <cstddef>
#include <span>

namespace carina {

// Brings the whole pages of memory that is about to be filled into the process: at once, which takes a quarter less time
// than one by one. Contents stay. It does nothing to a few pages, and where the system cannot.
void prefault(std::span<std::byte> memory);
template <typename T>
void prefault(std::span<T> memory) {
  prefault(std::as_writable_bytes(memory));
}

// Asks for large pages, before it is filled, for memory of 64 MB and more that will be passed over many times: addresses
// are found sooner. Filling it takes as long or longer (docs/adr/0109).
void prefer_large_pages(std::span<std::byte> memory);

// prefault() in parts on all threads (parallel.h).
void prefault_parallel(std::span<std::byte> memory);

}  // namespace carina
