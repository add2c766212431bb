#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulate/machine_internal.h"

namespace carina::simulate {

// How much of each region holds something that is still to be read, operation by operation, as the run itself shows:
// from the write (or, of an input, the start) to the last read before the next write. Counted in granules of 16 bytes, the
// alignment of everything in memory; what is only written, a result, is held to the end. A region that nothing writes
// holds constants and is not counted.
class Occupancy {
 public:
  explicit Occupancy(const Memory& memory);

  // The next operation, with its operands checked.
  void kernel(const Prepared& prepared);
  void dma(const DmaEffect& effect);

  // Bytes by operation, in the order of the calls, for each region. Regions that are the same memory count once, for the
  // first of them.
  [[nodiscard]] std::array<std::vector<uint64_t>, 8> take() &&;

 private:
  static constexpr int32_t kNever = -1;
  struct Granule {
    int32_t since = kNever;      // operation that wrote it first, since it was last read; kNever: what was there before
    int32_t last_read = kNever;  // since then
  };
  struct Region {
    const std::byte* begin = nullptr;
    const std::byte* end = nullptr;
    std::vector<Granule> granules = {};  // made when first touched
    std::vector<int64_t> change = {};    // in granules, by operation
    bool written = false;
  };

  void read(const CheckedMap& map);
  void write(const CheckedMap& map);
  void read(const HostRange& range);
  void write(const HostRange& range);
  void hold(Region& region, int32_t from, int32_t to);
  // The granules of a range; empty where it is in no region.
  [[nodiscard]] std::span<Granule> granules_of(const HostRange& range, Region*& region);

  std::vector<Region> regions_;
  std::array<int, 8> region_of_{};  // its place in regions_, or -1
  int32_t operation_ = 0;
};

}  // namespace carina::simulate
