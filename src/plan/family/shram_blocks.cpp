#include <algorithm>
#include <vector>

#include "base/checked_math.h"
#include "npu/cost/cost.h"
#include "plan/family/shram_internal.h"

// The blocks that fit the shared buffer. Source: facts of the shared buffer and of the search
// (architecture_allocator.py of ethos-u-vela).
namespace carina::plan {
namespace {

struct Requirements {
  const Step& op;
  const npu::AcceleratorConfig& npu;
  bool elementwise;
  bool equal_depth;  // an output channel reads its own input channel only
  int lut_start;     // first bank that buffers may not use
  int ifm_granule;
  int acc_granule;
  int acc_bits;
};

int ifm_granule_of(const Step& op, const npu::Shram& shram) {
  const bool elementwise = op.kind == StepKind::kElementwise;
  switch (op.ifm.type.bits) {
    case 8:
      return elementwise ? shram.ifm8_elementwise_granule_banks : shram.ifm8_granule_banks;
    case 16:
      return elementwise ? shram.ifm16_elementwise_granule_banks : shram.ifm16_granule_banks;
    default:
      return shram.ifm32_granule_banks;
  }
}

Requirements requirements_of(const Step& op, const Target& target) {
  const npu::Shram& shram = target.accelerator.shram;
  const int lut_banks = op.uses_table() ? npu::kShramLutBanks : 0;
  return {.op = op,
          .npu = target.accelerator,
          .elementwise = op.kind == StepKind::kElementwise,
          .equal_depth = !op.sums_over_depth(),
          .lut_start = shram.banks - std::max(lut_banks, shram.reserved_end_banks),
          .ifm_granule = ifm_granule_of(op, shram),
          .acc_granule = op.acc == AccWidth::kWide ? shram.acc40_granule_banks : shram.acc32_granule_banks,
          .acc_bits = op.acc == AccWidth::kWide ? 40 : 32};
}

// Of an upscaled IFM, a block may begin in the middle of an element.
int ifm_block_size(int64_t ofm_size, int64_t stride, int64_t kernel_extent, int64_t upscale, int granule) {
  const int64_t window = (ofm_size - 1) * stride + std::min<int64_t>(kernel_extent, npu::kSubkernelSize);
  return static_cast<int>(round_up<int64_t>(ceil_div(window + upscale - 1, upscale), granule));
}

int ifm_block_depth(const Requirements& r, const BlockConfig& b) {
  if (r.equal_depth) return static_cast<int>(b.depth);
  return npu::clipped_ifm_block_depth({.ifm_depth = r.op.ifm.depth,
                                       .ifm_bits = r.op.ifm.type.bits,
                                       .order = b.order,
                                       .granule = r.npu.ifm_ublock.depth});
}

npu::Block3 ifm_block(const Requirements& r, const BlockConfig& b) {
  const Kernel& k = r.op.kernel;
  const npu::Block3& u = r.npu.ofm_ublocks[0].block;
  return {.height = ifm_block_size(b.height, k.stride_y, k.extent_h(), r.op.upscale, u.height),
          .width = ifm_block_size(b.width, k.stride_x, k.extent_w(), r.op.upscale, u.width),
          .depth = ifm_block_depth(r, b)};
}

constexpr int64_t kBufferRowBytes = 8;      // pixels of the IFM start at multiples of it
constexpr int64_t kAccGranuleChannels = 8;  // and accumulators at multiples of as many channels

int banks_of(int64_t bytes, int granule) {
  const int64_t double_buffered = 2 * ceil_div<int64_t>(bytes, npu::kShramBankBytes);
  return static_cast<int>(round_up<int64_t>(double_buffered, granule));
}

// Lays out the buffers. Returns nothing if they do not fit.
std::optional<shram::SharedBuffer> lay_out(const Requirements& r, int64_t ifm_bytes, int64_t acc_bytes) {
  const int ifm_banks = banks_of(ifm_bytes, r.ifm_granule);
  const int ifm_end = npu::kShramOutputBanks + ifm_banks;
  if (r.elementwise) {  // the second operand gets the banks that the first leaves
    if (ifm_end + (r.op.reads_second_map() ? ifm_banks : 0) > r.lut_start) return std::nullopt;
    return shram::SharedBuffer{.ifm_end = r.lut_start, .ifm2_start = ifm_end, .acc_start = r.lut_start};
  }
  const int acc_start = r.lut_start - banks_of(acc_bytes, r.acc_granule);
  if (ifm_end > acc_start) return std::nullopt;
  return shram::SharedBuffer{.ifm_end = ifm_end, .ifm2_start = ifm_end, .acc_start = acc_start};
}

// Bytes of the input buffer and of the accumulators, for each position of a block.
int64_t ifm_position_bytes(const Requirements& r, int64_t ifm_depth) {
  return round_up<int64_t>(ifm_depth * r.op.ifm.type.bytes(), kBufferRowBytes);
}
int64_t acc_position_bytes(const Requirements& r, int64_t depth) {
  return round_up<int64_t>(depth, kAccGranuleChannels) * r.acc_bits / 8;
}

// The order of the weights that uses the multipliers better.
npu::WeightOrder weight_order(const Step& op) {
  if (op.kind != StepKind::kConv) return npu::WeightOrder::DEPTH_FIRST;
  const bool is8 = op.ifm.type.bits == 8;
  const int64_t depth = op.ifm.depth, taps = op.kernel.taps();
  if (depth <= 8) return npu::WeightOrder::PART_KERNEL_FIRST;
  const double by_depth = static_cast<double>(depth) / static_cast<double>(round_up<int64_t>(depth, is8 ? 32 : 16));
  const double by_kernel = static_cast<double>(depth) / static_cast<double>(round_up<int64_t>(depth, 8)) *
                           (static_cast<double>(taps) / static_cast<double>(round_up<int64_t>(taps, is8 ? 4 : 2)));
  return by_kernel >= by_depth ? npu::WeightOrder::PART_KERNEL_FIRST : npu::WeightOrder::DEPTH_FIRST;
}

// The OFM that is divided into blocks, and the sizes to try.
struct SearchSpace {
  int64_t height;
  int64_t width;
  int64_t depth;
};
SearchSpace search_space(const Requirements& r, const npu::Block3& max) {
  const npu::Block3& u = r.npu.ofm_ublocks[0].block;
  const FeatureMap& ofm = r.op.ofm;
  return {.height = round_up<int64_t>(std::min<int64_t>(ofm.height, max.height), u.height),
          .width = round_up<int64_t>(std::min<int64_t>(ofm.width, max.width), u.width),
          .depth = round_up<int64_t>(std::min<int64_t>(ofm.depth, max.depth), u.depth)};
}

int64_t next_depth(int64_t depth, const Requirements& r) {
  depth += r.npu.ofm_ublocks[0].block.depth;
  // Only a block that covers the whole depth may end within a brick.
  return depth < r.op.ofm.depth ? round_up<int64_t>(depth, npu::kBrickDepth) : depth;
}

// Visits every legal block, in a fixed order. A row of candidates ends at the first that does not fit.
template <typename Visit>
void for_each_block(const Requirements& r, const npu::Block3& max, npu::WeightOrder order, Visit visit) {
  const npu::Block3& u = r.npu.ofm_ublocks[0].block;
  const SearchSpace space = search_space(r, max);
  int64_t depth = std::max<int64_t>(u.depth, std::min<int64_t>(space.depth, npu::kBrickDepth));
  if (depth < r.op.ofm.depth) depth = round_up<int64_t>(depth, npu::kBrickDepth);
  std::vector<int> ifm_widths;  // by the number of ublocks in the width
  const Kernel& k = r.op.kernel;
  for (int64_t width = u.width; width <= space.width; width += u.width)
    ifm_widths.push_back(ifm_block_size(width, k.stride_x, k.extent_w(), r.op.upscale, u.width));
  for (; depth <= std::max<int64_t>(space.depth, u.depth); depth = next_depth(depth, r)) {
    BlockConfig b{.depth = depth, .order = order};
    const int64_t ifm_bytes = ifm_position_bytes(r, ifm_block_depth(r, b)), acc_bytes = acc_position_bytes(r, depth);
    for (b.height = u.height; b.height <= space.height; b.height += u.height) {
      const int64_t ifm_column_bytes =
          ifm_block_size(b.height, k.stride_y, k.extent_h(), r.op.upscale, u.height) * ifm_bytes;
      b.width = 0;
      for (const int ifm_width : ifm_widths) {
        b.width += u.width;
        if (!lay_out(r, ifm_column_bytes * ifm_width, b.height * b.width * acc_bytes)) break;
        visit(b);
      }
    }
  }
}

}  // namespace

npu::Block3 shram::input_block(const Step& subop, const BlockConfig& block, const Target& target) {
  return ifm_block(requirements_of(subop, target), block);
}

std::optional<shram::SharedBuffer> shram::shared_buffer(const Step& subop, const BlockConfig& block,
                                                        const Target& target) {
  const Requirements r = requirements_of(subop, target);
  const npu::Block3 ifm = ifm_block(r, block);
  return lay_out(r, int64_t{ifm.height} * ifm.width * ifm_position_bytes(r, ifm.depth),
                 block.height * block.width * acc_position_bytes(r, block.depth));
}

std::vector<BlockConfig> shram::legal_blocks(const Step& subop, const Target& target) {
  std::vector<BlockConfig> blocks;
  const Requirements r = requirements_of(subop, target);
  const auto add_all = [&](npu::WeightOrder order) {
    for_each_block(r, target.limits().max_ofm_block, order, [&](const BlockConfig& b) { blocks.push_back(b); });
  };
  const npu::WeightOrder preferred = weight_order(subop);
  add_all(preferred);
  if (subop.kind != StepKind::kConv || subop.reads_written_weights()) return blocks;
  const bool by_depth = preferred == npu::WeightOrder::DEPTH_FIRST;
  add_all(by_depth ? npu::WeightOrder::PART_KERNEL_FIRST : npu::WeightOrder::DEPTH_FIRST);
  return blocks;
}

}  // namespace carina::plan
