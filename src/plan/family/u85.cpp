#include <fmt/format.h>

#include "plan/family/u85_internal.h"

namespace carina::plan {
namespace {

// Addresses have 40 bits, but tensors are limited to 31 bits.
constexpr int64_t kAddressSpaceBytes = (int64_t{1} << 31) - 1;

std::optional<SpaceLocation> space(npu::Region region, int port) {
  return SpaceLocation{
      .region = static_cast<int>(region), .port = static_cast<size_t>(port), .limit_bytes = kAddressSpaceBytes};
}

// An arena in slow memory comes with fast memory of the cache's size.
Result<Spaces> spaces(const Target& target) {
  const npu::MemoryMode& memory = target.memory;
  Spaces spaces;
  spaces[static_cast<size_t>(Space::kConstants)] = space(npu::Region::kConstants, memory.constants_port);
  spaces[static_cast<size_t>(Space::kArena)] = space(npu::Region::kArena, memory.arena_port);
  if (memory.cache_port != memory.arena_port) {
    auto fast = space(npu::Region::kFastScratch, memory.cache_port);
    if (memory.cache_bytes > 0) fast->limit_bytes = memory.cache_bytes;
    spaces[static_cast<size_t>(Space::kFastScratch)] = fast;
  }
  spaces[static_cast<size_t>(Space::kChaining)] =
      SpaceLocation{.limit_bytes = npu::kChainingBuffers * kChainingSlotBytes};
  return spaces;
}

// Lookup tables have a memory of their own.
TableMemory tables(const Target& /*target*/) {
  return {.slots = npu::kLutBytes / npu::kLutSlotBytes, .shared_with_accumulators = false, .address = 0};
}

// Each operand has a multiplier of 31 bits, a shift and a rounding.
std::optional<OperandScaling> operand_scaling(const Scaling& a, const Scaling& b, const ElementType& /*type*/) {
  return OperandScaling{
      .first = simplified(a), .second = simplified(b), .precise = OperandScaling::Precise::kBothAlike};
}

}  // namespace

constinit const Family kU85{.name = "an ethos-u85",
                            .limits = npu::limits_of(npu::Product::kU85),
                            .spaces = spaces,
                            .tables = tables,
                            .operand_scaling = operand_scaling,
                            .legal_blocks = u85::legal_blocks,
                            .input_block = u85::input_block,
                            .traversal = u85::traversal,
                            .encode = u85::encode,
                            .emitter = u85::emitter,
                            .abilities = {.wide_elements = true,
                                          .wide_tables = true,
                                          .transposed_results = true,
                                          .fast_weights = true,
                                          .symmetric_operands = true,
                                          .scalar_bits = 32,
                                          .built_ins_read_tables = true,
                                          .argmax_pools = true,
                                          .min_pools = true,
                                          .sums_narrow_channels = true}};

}  // namespace carina::plan
