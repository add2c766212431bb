#include "base/crc32.h"

#include <zlib.h>

#include "base/crc32_internal.h"

namespace carina {

uint32_t crc32_of(std::span<const std::byte> bytes, uint32_t before) {
  const size_t whole = bytes.size() - bytes.size() % kCrcBlockBytes;
  if (whole >= kCrcLeastBytes) {
    if (const auto crc = crc32_in_hardware(bytes.first(whole), before)) {
      before = *crc;
      bytes = bytes.subspan(whole);
    }
  }
  return static_cast<uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace carina
