#include "base/memory/flatbuffer_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/memory/prefault.h"
#include "carina/check.h"

namespace carina {

uint8_t* FlatbufferMemory::allocate(size_t size) {
  std::vector<std::byte>& block = blocks_.emplace_back();
  block.reserve(size);
  prefault_parallel({block.data(), size});
  block.resize(size);
  return reinterpret_cast<uint8_t*>(block.data());
}

void FlatbufferMemory::deallocate(uint8_t* block, size_t /*size*/) {
  std::erase_if(blocks_, [&](const auto& own) { return own.data() == reinterpret_cast<std::byte*>(block); });
}

std::vector<std::byte> FlatbufferMemory::take(std::span<const std::byte> built) {
  const auto found = std::ranges::find_if(
      blocks_, [&](const auto& own) { return own.data() + own.size() == built.data() + built.size(); });
  CARINA_CHECK(found != blocks_.end(), "{} bytes were built elsewhere", built.size());
  std::vector<std::byte> block = std::exchange(*found, {});
  std::memmove(block.data(), built.data(), built.size());
  block.resize(built.size());
  return block;
}

}  // namespace carina
