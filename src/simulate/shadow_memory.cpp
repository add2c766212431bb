#include "simulate/shadow_memory_internal.h"

#include <algorithm>

namespace carina::simulate {

bool is_wholly_defined(const Memory& memory, size_t region) {
  constexpr size_t kFastMemory = 2;
  // Two regions may be the same memory.
  const auto is_in_region = [&](const MemoryRange& range) {
    return range.region >= 0 && range.region < 8 &&
           memory.regions[static_cast<size_t>(range.region)].data() == memory.regions[region].data();
  };
  return region != kFastMemory && std::ranges::none_of(memory.defined, is_in_region);
}

std::span<std::byte> bytes_of(const Memory& memory, const MemoryRange& range) {
  if (range.region < 0 || range.region >= 8) return {};
  const std::span<std::byte> region = memory.regions[static_cast<size_t>(range.region)];
  if (range.offset > region.size() || range.bytes > region.size() - range.offset) return {};
  return region.subspan(range.offset, range.bytes);
}

ShadowMemory::ShadowMemory(const Memory& memory, std::span<const std::byte> internal) {
  for (size_t r = 0; r < memory.regions.size(); ++r) add(memory.regions[r], is_wholly_defined(memory, r));
  add(internal, false);
  for (const MemoryRange& range : memory.defined) mark(bytes_of(memory, range), true);
}

void ShadowMemory::add(std::span<const std::byte> bytes, bool defined) {
  if (bytes.empty() || !shadow(bytes).empty()) return;  // known under another region's name
  blocks_.push_back({.begin = bytes.data(), .defined = std::vector<uint8_t>(bytes.size(), defined ? 1 : 0)});
}

std::span<uint8_t> ShadowMemory::shadow(std::span<const std::byte> bytes) {
  for (Block& block : blocks_) {
    if (bytes.data() < block.begin || bytes.data() + bytes.size() > block.begin + block.defined.size()) continue;
    return std::span(block.defined).subspan(static_cast<size_t>(bytes.data() - block.begin), bytes.size());
  }
  return {};
}

std::span<const uint8_t> ShadowMemory::shadow(std::span<const std::byte> bytes) const {
  return const_cast<ShadowMemory*>(this)->shadow(bytes);
}

void ShadowMemory::mark(std::span<const std::byte> bytes, bool defined) {
  std::ranges::fill(shadow(bytes), defined ? 1 : 0);
}

void ShadowMemory::copy(std::span<const std::byte> from, std::span<const std::byte> to) {
  const std::span<const uint8_t> source = shadow(from);
  const std::span<uint8_t> destination = shadow(to);
  if (source.empty() || destination.empty()) return mark(to, true);
  const std::vector<uint8_t> held(source.begin(), source.end());
  std::ranges::copy(held, destination.begin());
}

const std::byte* ShadowMemory::first_undefined(std::span<const std::byte> bytes) const {
  const std::span<const uint8_t> known = shadow(bytes);
  const auto found = std::ranges::find(known, uint8_t{0});
  return found == known.end() ? nullptr : bytes.data() + (found - known.begin());
}

}  // namespace carina::simulate
