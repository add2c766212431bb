#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulate/kernels/checked_map.h"
#include "simulate/simulator.h"

namespace carina::simulate {

// Whether all bytes of a region hold data before the run: no range of it is listed, and it is not fast memory, which is
// never an input.
bool is_wholly_defined(const Memory& memory, size_t region);

// The bytes of a range; empty if it is not inside its region.
std::span<std::byte> bytes_of(const Memory& memory, const MemoryRange& range);

// Tracks which bytes hold data, for every byte that the NPU can reach. It uses host addresses, because two regions may
// be the same memory.
class ShadowMemory {
 public:
  ShadowMemory(const Memory& memory, std::span<const std::byte> internal);

  // Marks all bytes of the range as defined or undefined.
  void mark(std::span<const std::byte> bytes, bool defined);
  // Copies the state of one range to another of the same size.
  void copy(std::span<const std::byte> from, std::span<const std::byte> to);
  // The first undefined byte, or nullptr. Bytes outside all regions count as defined.
  [[nodiscard]] const std::byte* first_undefined(std::span<const std::byte> bytes) const;

 private:
  struct Block {
    const std::byte* begin;
    std::vector<uint8_t> defined;
  };
  void add(std::span<const std::byte> bytes, bool defined);
  // The shadow of a range; empty if it is not wholly inside one block.
  [[nodiscard]] std::span<uint8_t> shadow(std::span<const std::byte> bytes);
  [[nodiscard]] std::span<const uint8_t> shadow(std::span<const std::byte> bytes) const;

  std::vector<Block> blocks_;
};

}  // namespace carina::simulate
