#include <fmt/format.h>

#include "simulate/machine_internal.h"

namespace carina::simulate {

namespace {

Diagnostic outside(std::string_view role, std::string where, uint64_t base, uint64_t bytes, size_t size) {
  return {.where = {},
          .what = fmt::format("{} reaches outside {}", role, where),
          .expected = fmt::format("addresses 0x0..0x{:x} ({} bytes)", size, size),
          .got = fmt::format("0x{:x}..0x{:x}", base, base + bytes)};
}

}  // namespace

Result<std::span<std::byte>> MemoryMap::range(int region, uint64_t base, uint64_t bytes, std::string_view role) const {
  if (bytes == 0) return std::span<std::byte>();  // a sticky address of something that this operation does not have
  const std::span<std::byte> all = regions_[static_cast<size_t>(region)];
  if (base > all.size() || bytes > all.size() - base)
    return fail(outside(role, fmt::format("region {}", region), base, bytes, all.size()));
  return all.subspan(base, bytes);
}

Result<void> MemoryMap::check_writable(int region, std::string_view role) const {
  if (!read_only_[static_cast<size_t>(region)]) return {};
  return fail(Diagnostic{.where = {},
                         .what = fmt::format("{} would be written to region {}, which is read only", role, region)});
}

Result<std::span<std::byte>> MemoryMap::internal_range(uint64_t base, uint64_t bytes, std::string_view role) {
  if (base > internal_.size() || bytes > internal_.size() - base) {
    return fail(outside(role, "internal memory", base, bytes, internal_.size()));
  }
  return std::span(internal_).subspan(base, bytes);
}

}  // namespace carina::simulate
