// A cache prefetch for sequential loops.
#pragma once

#include <cstdint>

namespace carina {

// Prefetches the cache line `kPrefetchBytes` after `at`, for loops that pass once over more data than a cache holds.
// The address need not be valid. Explicit prefetches help because some machines, and most virtual machines, do not
// prefetch sequential accesses in hardware.
constexpr uintptr_t kPrefetchBytes = 1024;
constexpr uintptr_t kLineBytes = 64;
inline void prefetch_ahead(const void* at) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(at) + kPrefetchBytes));
}

}  // namespace carina
