#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulate/machine_internal.h"

namespace carina::simulate {

// Computes, for each operation, how many bytes of each region hold data that is still to be read. Data is live from its
// write (an input: from the start) to its last read before the next write. Data that is written but never read is a
// result and lives to the end. Bytes are counted in granules of 16, the alignment of everything in memory. A region
// that nothing writes holds constants and is not counted.
//
// The planner knows the live ranges of its own streams, and Vela those of its streams. The figures are measured by a
// run instead, so that both have one definition. On U85, Vela also counts weight buffers before they are filled.
class Occupancy {
 public:
  explicit Occupancy(const Memory& memory);

  // Adds the next operation. Its operands have been checked.
  void kernel(const Prepared& prepared);
  void dma(const DmaEffect& effect);

  // Bytes by operation, in the order of the calls, for each region. Regions that share memory count once, for the first
  // of them.
  [[nodiscard]] std::array<std::vector<uint64_t>, 8> take() &&;

 private:
  static constexpr int32_t kNever = -1;
  struct Granule {
    int32_t since = kNever;      // first operation that wrote it since its last read; kNever: data from before the run
    int32_t last_read = kNever;  // since then
  };
  struct Region {
    const std::byte* begin = nullptr;
    const std::byte* end = nullptr;
    std::vector<Granule> granules = {};  // created on first access
    std::vector<int64_t> change = {};    // in granules, by operation
    bool written = false;
  };

  void read(const CheckedMap& map);
  void write(const CheckedMap& map);
  void read(const HostRange& range);
  void write(const HostRange& range);
  void hold(Region& region, int32_t from, int32_t to);
  // The granules of a range; empty if it is in no region.
  [[nodiscard]] std::span<Granule> granules_of(const HostRange& range, Region*& region);

  std::vector<Region> regions_;
  std::array<int, 8> region_of_{};  // index in regions_, or -1
  int32_t operation_ = 0;
};

}  // namespace carina::simulate
