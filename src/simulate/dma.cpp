#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "simulate/kernels/rows.h"
#include "simulate/machine_internal.h"

// Executes transfers: rows in up to three dimensions, and gathers and scatters by an index table.
namespace carina::simulate {

namespace {

void include(HostRange& range, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const std::byte* end = bytes.data() + bytes.size();
  if (range.empty()) {
    range = {.begin = bytes.data(), .end = end};
    return;
  }
  range = {.begin = std::min(range.begin, bytes.data()), .end = std::max(range.end, end)};
}

// One row's address: base + i * stride0 + j * stride1, negative sums included (they fail the range check as huge).
uint64_t row_address(uint64_t base, int64_t i, int64_t stride0, int64_t j, int64_t stride1) {
  return base + static_cast<uint64_t>(i) * static_cast<uint64_t>(stride0) +
         static_cast<uint64_t>(j) * static_cast<uint64_t>(stride1);
}

struct Cursor {
  const DmaTransfer& dma;
  MemoryMap& memory;
  DmaEffect effect;
  uint64_t index_address;

  Result<std::span<std::byte>> at(bool internal, int region, uint64_t address, std::string_view role) {
    return internal ? memory.internal_range(address, dma.length, role)
                    : memory.range(region, address, dma.length, role);
  }

  // The element that the next index selects.
  Result<int64_t> next_index() {
    CARINA_TRY(const std::span<std::byte> bytes, memory.range(dma.index_region, index_address, 4, "DMA index"));
    include(effect.index, bytes);
    const int64_t index = load<int32_t>(bytes.data());
    if (index < 0 || index > dma.index_max) {
      return fail(Diagnostic{.where = {},
                             .what = "a DMA index is beyond its limit",
                             .expected = fmt::format("0..{}", dma.index_max),
                             .got = fmt::format("{} at 0x{:x} of region {}", index, index_address, dma.index_region)});
    }
    index_address += 4;
    return index;
  }

  Result<void> move(int64_t i, int64_t j) {
    int64_t from = i;
    int64_t to = i;
    if (dma.gather || dma.scatter) {
      CARINA_TRY(const int64_t index, next_index());
      (dma.gather ? from : to) = index;
    }
    CARINA_TRY(const auto source,
               at(dma.source_internal, dma.source_region,
                  row_address(dma.source, from, dma.source_stride0, j, dma.source_stride1), "DMA source"));
    CARINA_TRY(
        const auto destination,
        at(dma.destination_internal, dma.destination_region,
           row_address(dma.destination, to, dma.destination_stride0, j, dma.destination_stride1), "DMA destination"));
    include(effect.source, source);
    include(effect.destination, destination);
    if (!source.empty()) std::memmove(destination.data(), source.data(), source.size());
    effect.bytes += dma.length;
    return {};
  }
};

}  // namespace

uint64_t dma_work(const DmaTransfer& dma) {
  const uint64_t rows = static_cast<uint64_t>(dma.count0) * static_cast<uint64_t>(dma.count1);
  return checked_mul<uint64_t>(rows, dma.length + 1).value_or(~uint64_t{0});
}

Result<DmaEffect> execute_dma(const DmaTransfer& dma, MemoryMap& memory) {
  if (!dma.destination_internal) CARINA_CHECKED(memory.check_writable(dma.destination_region, "DMA destination"));
  Cursor cursor{.dma = dma, .memory = memory, .effect = {}, .index_address = dma.index};
  for (int64_t j = 0; j < dma.count1; ++j) {
    for (int64_t i = 0; i < dma.count0; ++i) CARINA_CHECKED(cursor.move(i, j));
    cursor.index_address += static_cast<uint64_t>(dma.index_skip1);
  }
  return cursor.effect;
}

}  // namespace carina::simulate
