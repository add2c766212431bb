#include <fmt/format.h>

#include "plan/family/shram_internal.h"

namespace carina::plan {
namespace {

Result<Spaces> u55_spaces(const Target& target) {
  constexpr int kAddressBits = 32;
  if (target.memory.arena_port != 0) {
    return fail({.where = "target",
                 .what = fmt::format("memory mode {} puts the arena behind AXI port 1, which ethos-u55 only reads",
                                     target.memory.name),
                 .expected = "Shared_Sram or Sram_Only",
                 .hint = "an arena in DRAM with dedicated SRAM beside it is for ethos-u65 and ethos-u85",
                 .fault = Fault::kUsage});
  }
  Spaces spaces;
  spaces[static_cast<size_t>(Space::kConstants)] =
      shram::location(npu::Region::kConstants, target.memory.constants_port, kAddressBits);
  spaces[static_cast<size_t>(Space::kArena)] =
      shram::location(npu::Region::kArena, target.memory.arena_port, kAddressBits);
  return spaces;
}

}  // namespace

constinit const Family kU55{.name = "an ethos-u55",
                            .limits = npu::limits_of(npu::Product::kU55),
                            .spaces = u55_spaces,
                            .tables = shram::tables,
                            .operand_scaling = shram::operand_scaling,
                            .legal_blocks = shram::legal_blocks,
                            .input_block = shram::input_block,
                            .traversal = shram::traversal,
                            .encode = shram::encode,
                            .emitter = shram::emitter,
                            .abilities = {.written_weights = true}};

}  // namespace carina::plan
