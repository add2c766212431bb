#include <fmt/format.h>

#include "plan/family/u55_internal.h"

namespace carina::plan {
namespace {

// Bases have 32 bits, strides a sign.
constexpr int64_t kAddressSpaceBytes = (int64_t{1} << 31) - 1;

std::optional<SpacePlace> space(npu::Region region, int port) {
  return SpacePlace{
      .region = static_cast<int>(region), .port = static_cast<size_t>(port), .limit_bytes = kAddressSpaceBytes};
}

Result<Spaces> spaces(const Target& target) {
  if (target.memory.arena_port != 0) {
    return fail({.where = "target",
                 .what = fmt::format("memory mode {} is not supported for ethos-u55", target.memory.name),
                 .expected = "Shared_Sram or Sram_Only",
                 .fault = Fault::kUsage});
  }
  Spaces spaces;
  spaces[static_cast<size_t>(Space::kConstants)] = space(npu::Region::kConstants, target.memory.constants_port);
  spaces[static_cast<size_t>(Space::kArena)] = space(npu::Region::kArena, target.memory.arena_port);
  return spaces;
}

TableMemory tables(const Target& target) {
  const npu::Shram& shram = target.accelerator.shram;
  return {.slots = npu::kLutBytes / npu::kLutSlotBytes,
          .shared_with_accumulators = shram.reserved_end_banks == 0,
          .address = int64_t{npu::kShramBankBytes} * (shram.banks - npu::kShramLutBanks)};
}

// Two factors of 16 bits, or one of 32 bits with a shift while the other operand is shifted left by 19 (8 bits) or 14
// (16 bits).
std::optional<OperandScaling> operand_scaling(const Scaling& a, const Scaling& b, const ElementType& type) {
  using Precise = OperandScaling::Precise;
  constexpr uint32_t kMax16 = 0xFFFF;
  const Scaling first = simplified(a), second = simplified(b);
  const auto whole_a = whole_factor(a), whole_b = whole_factor(b);
  if (whole_a && whole_b && *whole_a <= kMax16 && *whole_b <= kMax16)
    return OperandScaling{.first = first, .second = second, .precise = Precise::kBothAlike};
  const uint32_t fixed = uint32_t{1} << (type.bits == 8 ? 19 : 14);
  if (whole_b == fixed && first.rounding == Rounding::kNatural)
    return OperandScaling{.first = first, .second = second, .precise = Precise::kFirst};
  if (whole_a == fixed && second.rounding == Rounding::kNatural)
    return OperandScaling{.first = first, .second = second, .precise = Precise::kSecond};
  return std::nullopt;
}

}  // namespace

constinit const Family kU55{.name = "an ethos-u55",
                            .rules = u55::rules,
                            .limits = npu::limits_of(npu::Product::kU55),
                            .spaces = spaces,
                            .tables = tables,
                            .operand_scaling = operand_scaling,
                            .legal_blocks = u55::legal_blocks,
                            .input_block = u55::input_block,
                            .traversal = u55::traversal,
                            .encode = u55::encode,
                            .emitter = u55::emitter};

}  // namespace carina::plan
