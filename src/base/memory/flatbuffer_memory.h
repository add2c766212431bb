#pragma once

#include <flatbuffers/allocator.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

namespace carina {

// The allocator of a FlatBuffer builder. take() returns the built bytes without a copy. It must outlive the builder.
class FlatbufferMemory : public flatbuffers::Allocator {
 public:
  uint8_t* allocate(size_t size) override;
  void deallocate(uint8_t* block, size_t size) override;
  // Returns the block that ends with `built`, shortened to it. The builder's pointers are invalid afterwards.
  std::vector<std::byte> take(std::span<const std::byte> built);

 private:
  std::list<std::vector<std::byte>> blocks_;
};

}  // namespace carina
