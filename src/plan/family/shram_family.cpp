#include "plan/family/shram_internal.h"

namespace carina::plan {

SpaceLocation shram::location(npu::Region region, int port, int address_bits) {
  return {.region = static_cast<int>(region),
          .port = static_cast<size_t>(port),
          .limit_bytes = (int64_t{1} << (address_bits - 1)) - 1};
}

TableMemory shram::tables(const Target& target) {
  const npu::Shram& shram = target.accelerator.shram;
  return {.slots = npu::kLutBytes / npu::kLutSlotBytes,
          .shared_with_accumulators = shram.reserved_end_banks == 0,
          .address = int64_t{npu::kShramBankBytes} * (shram.banks - npu::kShramLutBanks)};
}

// The scaling of two operands: two 16-bit factors; or one 32-bit factor with a shift, where the other operand is
// shifted left by 19 (8 bits) or 14 (16 bits). With two roundings, the first one is where TFLite's ADD has it: as if
// the operand had been shifted left by 20 (8 bits) or 15 (16 bits).
std::optional<OperandScaling> shram::operand_scaling(const Scaling& a, const Scaling& b, const ElementType& type) {
  using Precise = OperandScaling::Precise;
  constexpr uint32_t kMax16 = 0xFFFF;
  const Scaling first = simplified(a), second = simplified(b);
  const auto whole_a = whole_factor(a), whole_b = whole_factor(b);
  if (whole_a && whole_b && *whole_a <= kMax16 && *whole_b <= kMax16)
    return OperandScaling{.first = first, .second = second, .precise = Precise::kBothAlike};
  const uint32_t fixed = uint32_t{1} << (type.bits == 8 ? 19 : 14);
  const int first_shift = type.bits == 8 ? 20 : 15;
  const auto is_rounded_so = [&](const Scaling& scaling) {
    return scaling.rounding == Rounding::kSingle || scaling.first_shift == first_shift;
  };
  if (whole_b == fixed && is_rounded_so(first))
    return OperandScaling{.first = first, .second = second, .precise = Precise::kFirst};
  if (whole_a == fixed && is_rounded_so(second))
    return OperandScaling{.first = first, .second = second, .precise = Precise::kSecond};
  return std::nullopt;
}

}  // namespace carina::plan
