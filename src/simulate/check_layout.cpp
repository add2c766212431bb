#include <fmt/format.h>

#include <algorithm>

#include "base/checked_math.h"
#include "simulate/checker_internal.h"
#include "simulate/kernels/work.h"

// The rules of docs/facts/ethosu.md 6.1, 6.2 and 6.4.
namespace carina::simulate {

namespace {

int granule_of_ifm(const npu::Shram& shram, const Operation& op) {
  const bool elementwise = op.kind == OperationKind::kElementwise;
  switch (op.ifm.type.bytes) {
    case 1:
      return elementwise ? shram.ifm8_elementwise_granule_banks : shram.ifm8_granule_banks;
    case 2:
      return elementwise ? shram.ifm16_elementwise_granule_banks : shram.ifm16_granule_banks;
    default:
      return shram.ifm32_granule_banks;
  }
}

int64_t double_buffer_banks(int64_t bytes, int granule) {
  return round_up<int64_t>(2 * ceil_div<int64_t>(bytes, npu::kShramBankBytes), granule);
}

// Bytes of the IFM that one OFM block reads.
int64_t ifm_block_bytes(const Operation& op, const npu::Block3& ublock) {
  const Kernel& k = op.kernel;
  const int up = op.upscale == Upscale::kNone ? 1 : 2;
  const int extra = op.upscale == Upscale::kNearest ? 1 : 0;
  const auto along = [&](int64_t block, int64_t stride, int64_t extent, int64_t unit) {
    return round_up(ceil_div((block - 1) * stride + std::min<int64_t>(extent, npu::kSubkernelSize) + extra,
                             static_cast<int64_t>(up)),
                    unit);
  };
  if (op.kind == OperationKind::kElementwise) {
    return int64_t{op.block.height} * op.block.width *
           round_up<int64_t>(int64_t{op.block.depth} * op.ifm.type.bytes, 8);
  }
  // Rows beyond the OFM take no space.
  const int64_t height = along(std::min(op.block.height, op.ofm_extent.height), k.stride_y, k.extent_h, 1);
  const int64_t width = along(std::min(op.block.width, op.ofm_extent.width), k.stride_x, k.extent_w, 1);
  const bool all_channels = op.kind == OperationKind::kConvolution || op.pool == PoolMode::kReduceSum;
  int64_t depth = op.block.depth;
  if (op.kind == OperationKind::kConvolution || (op.kind == OperationKind::kPool && all_channels)) {
    const int64_t limit = op.ifm.type.bytes == 2                   ? 16
                          : op.ifm.type.bytes == 4                 ? 8
                          : op.traversal == Traversal::kPartKernel ? 16
                                                                   : 32;
    depth = std::min<int64_t>(op.ifm_depth, limit);
  }
  (void)ublock;
  return height * width * round_up<int64_t>(depth * op.ifm.type.bytes, 8);
}

}  // namespace

void Checker::check_shram(const Operation& op) {
  const npu::Shram& shram = accelerator_.shram;
  const bool lut = op.activation.lut == Lut::kTable;
  const int end = shram.banks - std::max(lut ? npu::kShramLutBanks : 0, shram.reserved_end_banks);
  const int64_t ifm_banks =
      double_buffer_banks(ifm_block_bytes(op, accelerator_.ifm_ublock), granule_of_ifm(shram, op));
  const int start = npu::kShramOutputBanks;
  const std::string state =
      fmt::format("IFM_IB_END {}, IFM2_IB_START {}, AB_START {}; the IFM block takes {} banks, usable are {} of {}",
                  op.ifm_bank_end, op.ifm2_bank_start, op.acc_bank_start, ifm_banks, end, shram.banks);
  int used_end = op.ifm_bank_end;
  if (op.kind == OperationKind::kElementwise) {
    const bool second = op.reads_ifm2();
    if (op.ifm_bank_end > end) find(op, "the IFM buffer reaches into banks kept for lookup tables", state);
    if (second && start + ifm_banks > op.ifm2_bank_start) find(op, "the IFM buffer is too small for a block", state);
    if (second && op.ifm2_bank_start + ifm_banks > op.ifm_bank_end)
      find(op, "the IFM2 buffer is too small for a block", state);
    if (!second && start + ifm_banks > op.ifm_bank_end) find(op, "the IFM buffer is too small for a block", state);
  } else {
    // Two-row parts compute tensors of one row in blocks of one row, whatever the register says.
    const int32_t height = op.ofm_extent.height == 1 && op.kernel.height == 1 ? 1 : op.block.height;
    const int64_t acc_bytes = int64_t{height} * op.block.width * round_up(op.block.depth, 8) * op.acc_bits / 8;
    const int64_t acc_banks =
        double_buffer_banks(acc_bytes, op.acc_bits == 40 ? shram.acc40_granule_banks : shram.acc32_granule_banks);
    if (op.ifm_bank_end > op.acc_bank_start) find(op, "the IFM buffer overlaps the accumulators", state);
    if (start + ifm_banks > op.ifm_bank_end) find(op, "the IFM buffer is too small for a block", state);
    if (op.acc_bank_start + acc_banks > end)
      find(op,
           fmt::format("the accumulators ({} banks) reach into banks kept for lookup tables or beyond the end",
                       acc_banks),
           state);
    used_end = static_cast<int>(std::min<int64_t>(op.acc_bank_start + acc_banks, shram.banks));
  }
  // Tables in banks that this operation uses otherwise are lost.
  const auto limit = static_cast<size_t>(std::clamp(used_end, 0, shram.banks) * npu::kShramBankBytes);
  if (limit <= internal_.size()) shadow_.mark(internal_.first(limit), false);
}

void Checker::check_block(const Operation& op) {
  const npu::Block3& max = npu::limits_of(accelerator_.product).max_ofm_block;
  const npu::Block3 unit =
      op.u85 ? npu::Block3{op.microblock_height, op.microblock_width, 1} : accelerator_.ofm_ublocks[0].block;
  const std::string state = fmt::format("OFM block {}x{}x{} of {}x{}x{}", op.block.height, op.block.width,
                                        op.block.depth, op.ofm_extent.height, op.ofm_extent.width, op.ofm_extent.depth);
  if (op.block.height > max.height || op.block.width > max.width || op.block.depth > max.depth)
    find(op, "the OFM block is larger than the NPU allows", state);
  const bool any_area = op.kind == OperationKind::kResize;  // Vela gives it blocks of one row or one column
  if ((!any_area && (op.block.height % unit.height != 0 || op.block.width % unit.width != 0)) ||
      op.block.depth % unit.depth != 0) {
    find(op,
         fmt::format("the OFM block is not made of whole microblocks ({}x{}x{})", unit.height, unit.width, unit.depth),
         state);
  }
  if (op.block.depth % npu::kBrickDepth != 0 && op.block.depth < op.ofm_extent.depth)
    find(op, "the OFM block's depth is no multiple of 16 and not the whole depth", state);
  if (!op.u85) return;
  const bool known =
      std::any_of(accelerator_.ofm_ublocks.begin(), accelerator_.ofm_ublocks.begin() + accelerator_.ofm_ublock_count,
                  [&](const npu::OfmUblock& u) { return static_cast<uint8_t>(u.code) == op.microblock; });
  if (!known)
    find(op, fmt::format("{} has no such microblock", accelerator_.name),
         fmt::format("ACC_FORMAT microblock {}", op.microblock));
}

void Checker::check_alignment(const Operation& op) {
  const auto check = [&](const FeatureMap& map, const char* role) {
    if (map.format != Format::kNhcwb16 || map.storage == Storage::kChained || map.storage == Storage::kNone) return;
    if (map.base[0] % npu::kBaseAlignmentBytes != 0)
      find(op, fmt::format("{} is in bricks and its base is not 16-byte aligned", role),
           fmt::format("BASE0 0x{:x}", map.base[0]));
  };
  if (!op.ifm_broadcast.scalar && !(op.kind == OperationKind::kPool && op.pool == PoolMode::kNone))
    check(op.ifm, "IFM");
  if (op.reads_ifm2()) check(op.ifm2, "IFM2");
  check(op.ofm, "OFM");
  if (!op.has_weights()) return;
  for (int s = 0; s < op.weight_streams; ++s) {
    if (op.weights[static_cast<size_t>(s)].base % npu::kBaseAlignmentBytes != 0)
      find(op, "a weight stream is not 16-byte aligned",
           fmt::format("0x{:x}", op.weights[static_cast<size_t>(s)].base));
  }
}

}  // namespace carina::simulate
