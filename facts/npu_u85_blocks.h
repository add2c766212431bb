#pragma once

#include <array>
#include <cstdint>

#include "facts/npu_accelerators.h"

// Tables that limit the block sizes of U85. Source: the public mirror of Vela's regor.
namespace carina::npu {

// ---- U85: the unit in which the IFM memory is handed out (H x W x D, D in units of 128 bits of channels) ----
struct U85IfmAllocation {
  int macs_per_cycle;
  Microblock microblock;
  // For an IFM block depth of at most 128 bits, at most 256 bits, and more.
  std::array<Block3, 3> units;
};
// Source: ethos_u85.cpp of regor.
inline constexpr auto kU85IfmAllocation = std::to_array<U85IfmAllocation>({
    {.macs_per_cycle = 128, .microblock = Microblock::U1X2, .units = {{{1, 2, 1}, {1, 1, 2}, {1, 1, 2}}}},
    {.macs_per_cycle = 128, .microblock = Microblock::U1X1, .units = {{{1, 2, 1}, {1, 1, 2}, {1, 1, 2}}}},
    {.macs_per_cycle = 256, .microblock = Microblock::U2X2, .units = {{{2, 2, 1}, {1, 2, 2}, {1, 1, 4}}}},
    {.macs_per_cycle = 256, .microblock = Microblock::U1X2, .units = {{{2, 2, 1}, {1, 2, 2}, {1, 1, 4}}}},
    {.macs_per_cycle = 256, .microblock = Microblock::U1X4, .units = {{{1, 4, 1}, {1, 2, 2}, {1, 1, 4}}}},
    {.macs_per_cycle = 512, .microblock = Microblock::U2X2, .units = {{{2, 2, 1}, {1, 2, 2}, {1, 1, 4}}}},
    {.macs_per_cycle = 512, .microblock = Microblock::U1X4, .units = {{{1, 4, 1}, {1, 2, 2}, {1, 1, 4}}}},
    {.macs_per_cycle = 1024, .microblock = Microblock::U2X2, .units = {{{2, 4, 1}, {2, 2, 2}, {1, 2, 4}}}},
    {.macs_per_cycle = 1024, .microblock = Microblock::U2X4, .units = {{{2, 4, 1}, {2, 2, 2}, {1, 2, 4}}}},
    {.macs_per_cycle = 1024, .microblock = Microblock::U1X4, .units = {{{2, 4, 1}, {1, 4, 2}, {1, 2, 4}}}},
    {.macs_per_cycle = 2048, .microblock = Microblock::U2X2, .units = {{{4, 4, 1}, {2, 4, 2}, {2, 2, 4}}}},
    {.macs_per_cycle = 2048, .microblock = Microblock::U4X4, .units = {{{4, 4, 1}, {2, 4, 2}, {2, 2, 4}}}},
    {.macs_per_cycle = 2048, .microblock = Microblock::U1X4, .units = {{{4, 4, 1}, {2, 4, 2}, {1, 4, 4}}}},
});

// ---- U85: which microblock an operation may use, by IFM width ----
enum class U85OpClass : uint8_t {
  kConv,
  kMatmul,
  kFullyConnected,
  kDepthwise,
  kPool,
  kReduceSum,
  kElementwise,
  kReduceMinMax,
  kArgmax,
  kResize
};
constexpr uint16_t u85_op_bit(U85OpClass op) {
  return static_cast<uint16_t>(1u << static_cast<unsigned>(op));
}

struct U85UblockUse {
  int macs_per_cycle;
  Microblock microblock;
  uint16_t ops_ifm8;  // sets of u85_op_bit()
  uint16_t ops_ifm16;
  uint16_t ops_ifm32;
};
namespace detail {
template <typename... Ops>
constexpr uint16_t u85_ops(Ops... ops) {
  return static_cast<uint16_t>((0u | ... | u85_op_bit(ops)));
}
using enum U85OpClass;
inline constexpr uint16_t kU85AllOps = 0x3FF;
inline constexpr uint16_t kU85AllButMatmul = static_cast<uint16_t>(kU85AllOps & ~u85_op_bit(kMatmul));
inline constexpr uint16_t kU85Deep8 = u85_ops(kDepthwise, kPool, kElementwise, kReduceMinMax, kArgmax, kResize);
// 16-bit convolutions may use the deep microblock only with a 1x1 kernel and depth first. The planner checks that.
inline constexpr uint16_t kU85Deep16 = u85_ops(kConv, kFullyConnected, kElementwise, kResize);
inline constexpr uint16_t kU85Deep32 = u85_ops(kElementwise, kResize);
inline constexpr uint16_t kU85Flat8 = u85_ops(kConv, kMatmul, kFullyConnected, kReduceSum, kElementwise, kResize);
inline constexpr uint16_t kU85Wide32 = u85_ops(kReduceSum, kElementwise, kReduceMinMax, kResize);
inline constexpr uint16_t kU85Mac = u85_ops(kConv, kMatmul, kFullyConnected, kElementwise);
}  // namespace detail
// Source: ethos_u85.cpp of regor.
inline constexpr auto kU85UblockUse = std::to_array<U85UblockUse>({
    {.macs_per_cycle = 128,
     .microblock = Microblock::U1X2,
     .ops_ifm8 = detail::kU85Flat8,
     .ops_ifm16 = detail::kU85AllOps,
     .ops_ifm32 = detail::kU85Wide32},
    {.macs_per_cycle = 128,
     .microblock = Microblock::U1X1,
     .ops_ifm8 = detail::kU85Deep8,
     .ops_ifm16 = detail::kU85Deep16,
     .ops_ifm32 = detail::kU85Deep32},
    {.macs_per_cycle = 256,
     .microblock = Microblock::U2X2,
     .ops_ifm8 = detail::kU85Flat8,
     .ops_ifm16 = detail::kU85AllOps,
     .ops_ifm32 = detail::kU85Wide32},
    {.macs_per_cycle = 256,
     .microblock = Microblock::U1X4,
     .ops_ifm8 = detail::kU85Flat8,
     .ops_ifm16 = detail::kU85AllOps,
     .ops_ifm32 = detail::kU85Wide32},
    {.macs_per_cycle = 256,
     .microblock = Microblock::U1X2,
     .ops_ifm8 = detail::kU85Deep8,
     .ops_ifm16 = detail::kU85Deep16,
     .ops_ifm32 = detail::kU85Deep32},
    {.macs_per_cycle = 512,
     .microblock = Microblock::U2X2,
     .ops_ifm8 = detail::kU85AllOps,
     .ops_ifm16 = detail::kU85AllOps,
     .ops_ifm32 = detail::kU85Wide32},
    {.macs_per_cycle = 512,
     .microblock = Microblock::U1X4,
     .ops_ifm8 = detail::kU85AllOps,
     .ops_ifm16 = detail::kU85AllOps,
     .ops_ifm32 = detail::kU85Wide32},
    {.macs_per_cycle = 1024,
     .microblock = Microblock::U2X2,
     .ops_ifm8 = detail::kU85Mac,
     .ops_ifm16 = detail::kU85Mac,
     .ops_ifm32 = u85_op_bit(U85OpClass::kElementwise)},
    {.macs_per_cycle = 1024,
     .microblock = Microblock::U1X4,
     .ops_ifm8 = detail::kU85Mac,
     .ops_ifm16 = detail::kU85Mac,
     .ops_ifm32 = u85_op_bit(U85OpClass::kElementwise)},
    {.macs_per_cycle = 1024,
     .microblock = Microblock::U2X4,
     .ops_ifm8 = detail::kU85AllButMatmul,
     .ops_ifm16 = detail::kU85AllButMatmul,
     .ops_ifm32 = detail::kU85Wide32},
    {.macs_per_cycle = 2048,
     .microblock = Microblock::U2X2,
     .ops_ifm8 = detail::kU85Mac,
     .ops_ifm16 = detail::kU85Mac,
     .ops_ifm32 = u85_op_bit(U85OpClass::kElementwise)},
    {.macs_per_cycle = 2048,
     .microblock = Microblock::U1X4,
     .ops_ifm8 = detail::kU85Mac,
     .ops_ifm16 = detail::kU85Mac,
     .ops_ifm32 = u85_op_bit(U85OpClass::kElementwise)},
    {.macs_per_cycle = 2048,
     .microblock = Microblock::U4X4,
     .ops_ifm8 = detail::kU85AllButMatmul,
     .ops_ifm16 = detail::kU85AllButMatmul,
     .ops_ifm32 = detail::kU85Wide32},
});

}  // namespace carina::npu
