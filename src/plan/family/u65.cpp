#include <algorithm>

#include "plan/family/shram_internal.h"

namespace carina::plan {
namespace {

// In the modes with dedicated SRAM the arena lies in slow memory, and the cache is a space of its own.
Result<Spaces> u65_spaces(const Target& target) {
  constexpr int kAddressBits = 40;
  Spaces spaces;
  spaces[static_cast<size_t>(Space::kConstants)] =
      shram::location(npu::Region::kConstants, target.memory.constants_port, kAddressBits);
  spaces[static_cast<size_t>(Space::kArena)] =
      shram::location(npu::Region::kArena, target.memory.arena_port, kAddressBits);
  if (!npu::has_fast_scratch(target.memory)) return spaces;
  SpaceLocation cache = shram::location(npu::Region::kFastScratch, target.memory.cache_port, kAddressBits);
  if (target.memory.cache_bytes > 0) cache.limit_bytes = std::min(cache.limit_bytes, target.memory.cache_bytes);
  spaces[static_cast<size_t>(Space::kFastScratch)] = cache;
  return spaces;
}

}  // namespace

constinit const Family kU65{.name = "an ethos-u65",
                            .limits = npu::limits_of(npu::Product::kU65),
                            .spaces = u65_spaces,
                            .tables = shram::tables,
                            .operand_scaling = shram::operand_scaling,
                            .legal_blocks = shram::legal_blocks,
                            .input_block = shram::input_block,
                            .traversal = shram::traversal,
                            .encode = shram::encode,
                            .emitter = shram::emitter,
                            .abilities = {.written_weights = true}};

}  // namespace carina::plan
