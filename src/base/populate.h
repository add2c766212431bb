#pragma once

#include <cstddef>
#include <span>

namespace carina {

// Brings the whole pages of memory that is about to be filled into the process: at once, which takes a quarter less time
// than one by one. Contents stay. It does nothing to a few pages, and where the system cannot.
void populate(std::span<std::byte> memory);
template <typename T>
void populate(std::span<T> memory) {
  populate(std::as_writable_bytes(memory));
}

// The same in parts on all threads (parallel.h).
void populate_in_parallel(std::span<std::byte> memory);

}  // namespace carina
