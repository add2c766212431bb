#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulate/checked_map_internal.h"
#include "simulate/simulator.h"

namespace carina::simulate {

// Which bytes hold data, for every byte that the NPU can reach; by host address, since regions may be the same memory.
class ShadowMemory {
 public:
  ShadowMemory(const Memory& memory, std::span<const std::byte> internal);

  // All bytes of the range become defined (or garbage).
  void mark(std::span<const std::byte> bytes, bool defined);
  // What is known of one range becomes what is known of another of the same size.
  void copy(std::span<const std::byte> from, std::span<const std::byte> to);
  // The first undefined byte, or nullptr. Bytes that belong to no region count as defined.
  [[nodiscard]] const std::byte* first_undefined(std::span<const std::byte> bytes) const;

 private:
  struct Block {
    const std::byte* begin;
    std::vector<uint8_t> defined;
  };
  void add(std::span<const std::byte> bytes, bool defined);
  // The shadow of a range; empty when it is not wholly inside one block.
  [[nodiscard]] std::span<uint8_t> shadow(std::span<const std::byte> bytes);
  [[nodiscard]] std::span<const uint8_t> shadow(std::span<const std::byte> bytes) const;

  std::vector<Block> blocks_;
};

}  // namespace carina::simulate
