#pragma once

#include <cstdint>

namespace carina {

// For loops that pass once over more than a cache holds: asks for the line that stands `kPrefetchBytes` behind `at`,
// which need not be anybody's. Not all machines, and hardly any virtual one, find out by themselves what is read next.
constexpr uintptr_t kPrefetchBytes = 1024;
constexpr uintptr_t kLineBytes = 64;
inline void prefetch_ahead(const void* at) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(at) + kPrefetchBytes));
}

}  // namespace carina
