#pragma once

#include <flatbuffers/allocator.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

namespace carina {

// The memory of a FlatBuffer's builder, so that what it has built leaves without a copy. Must outlive the builder.
class FlatbufferMemory : public flatbuffers::Allocator {
 public:
  uint8_t* allocate(size_t size) override;
  void deallocate(uint8_t* block, size_t size) override;
  // The block that ends with `built`, cut to it. The builder's pointers mean nothing afterwards.
  std::vector<std::byte> take(std::span<const std::byte> built);

 private:
  std::list<std::vector<std::byte>> blocks_;
};

}  // namespace carina
