#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace carina {

// Copies all bytes of `from` to the beginning of `to`, which has at least as many and does not overlap.
// std::ranges::copy() of GCC 12's library copies constant bytes one at a time: 0.5 ms for a megabyte in place of 0.05.
inline void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

}  // namespace carina
