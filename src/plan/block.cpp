#include "plan/block.h"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "base/checked_math.h"
#include "npu/cost.h"

// Source of legality and cost: facts of the shared buffer and of the search (architecture_allocator.py of
// ethos-u-vela).
namespace carina::plan {
namespace {

struct Requirements {
  const Operation& op;
  const npu::AcceleratorConfig& npu;
  bool elementwise;
  bool equal_depth;  // an output channel reads its own input channel only
  int lut_start;     // bank behind the last that buffers may take
  int ifm_granule;
  int acc_granule;
  int acc_bits;
};

int ifm_granule_of(const Operation& op, const npu::Shram& shram) {
  const bool elementwise = op.kind == OperationKind::kElementwise;
  switch (op.ifm.type.bits) {
    case 8:
      return elementwise ? shram.ifm8_elementwise_granule_banks : shram.ifm8_granule_banks;
    case 16:
      return elementwise ? shram.ifm16_elementwise_granule_banks : shram.ifm16_granule_banks;
    default:
      return shram.ifm32_granule_banks;
  }
}

Requirements requirements_of(const Operation& op, const Target& target) {
  const npu::Shram& shram = target.accelerator.shram;
  const bool reduces =
      op.kind == OperationKind::kConv || (op.kind == OperationKind::kPool && op.pool == npu::PoolingMode::REDUCE_SUM);
  const int lut_banks = op.uses_table() ? npu::kShramLutBanks : 0;
  return {.op = op,
          .npu = target.accelerator,
          .elementwise = op.kind == OperationKind::kElementwise,
          .equal_depth = !reduces,
          .lut_start = shram.banks - std::max(lut_banks, shram.reserved_end_banks),
          .ifm_granule = ifm_granule_of(op, shram),
          .acc_granule = op.acc == AccWidth::k40 ? shram.acc40_granule_banks : shram.acc32_granule_banks,
          .acc_bits = op.acc == AccWidth::k40 ? 40 : 32};
}

int64_t ifm_block_depth(const Requirements& r, int64_t ofm_block_depth, npu::WeightOrder order) {
  if (r.equal_depth) return ofm_block_depth;
  return npu::clipped_ifm_block_depth(
      {.ifm_depth = r.op.ifm.depth, .ifm_bits = r.op.ifm.type.bits, .order = order, .granule = r.npu.ifm_ublock.depth});
}

int64_t ifm_block_size(int64_t ofm_size, int64_t stride, int64_t kernel_extent, int64_t granule) {
  return round_up((ofm_size - 1) * stride + std::min<int64_t>(kernel_extent, npu::kSubkernelSize), granule);
}

struct IfmBlock {
  int64_t height;
  int64_t width;
  int64_t depth;
};
IfmBlock ifm_block(const Requirements& r, const BlockConfig& b) {
  const Kernel& k = r.op.kernel;
  return {.height = ifm_block_size(b.height, k.stride_y, k.extent_h(), r.npu.ofm_ublocks[0].block.height),
          .width = ifm_block_size(b.width, k.stride_x, k.extent_w(), r.npu.ofm_ublocks[0].block.width),
          .depth = ifm_block_depth(r, b.depth, b.order)};
}

int banks_of(int64_t bytes, int granule) {
  const int64_t double_buffered = 2 * ceil_div<int64_t>(bytes, npu::kShramBankBytes);
  return static_cast<int>(round_up<int64_t>(double_buffered, granule));
}

// Lays the buffers out; false if they do not fit.
bool lay_out(const Requirements& r, BlockConfig& b) {
  const IfmBlock ifm = ifm_block(r, b);
  const int ifm_banks =
      banks_of(ifm.height * ifm.width * round_up<int64_t>(ifm.depth * r.op.ifm.type.bytes(), 8), r.ifm_granule);
  const int ifm_end = npu::kShramOutputBanks + ifm_banks;
  if (r.elementwise) {
    const bool second = r.op.second == SecondOperand::kFeatureMap;
    b.ifm2_start = ifm_end;
    b.ifm_end = b.acc_start = r.lut_start;  // the rest is the second operand's
    return ifm_end + (second ? ifm_banks : 0) <= r.lut_start;
  }
  const int acc_banks = banks_of(b.height * b.width * round_up<int64_t>(b.depth, 8) * r.acc_bits / 8, r.acc_granule);
  b.ifm_end = ifm_end;
  b.ifm2_start = ifm_end;
  b.acc_start = r.lut_start - acc_banks;
  return ifm_end <= b.acc_start;
}

// Which way through the weights keeps the multipliers busier.
npu::WeightOrder weight_order(const Operation& op) {
  if (op.kind != OperationKind::kConv) return npu::WeightOrder::DEPTH_FIRST;
  const bool is8 = op.ifm.type.bits == 8;
  const int64_t depth = op.ifm.depth, taps = op.kernel.taps();
  if (depth <= 8) return npu::WeightOrder::PART_KERNEL_FIRST;
  const double by_depth = static_cast<double>(depth) / static_cast<double>(round_up<int64_t>(depth, is8 ? 32 : 16));
  const double by_kernel = static_cast<double>(depth) / static_cast<double>(round_up<int64_t>(depth, 8)) *
                           (static_cast<double>(taps) / static_cast<double>(round_up<int64_t>(taps, is8 ? 4 : 2)));
  return by_kernel >= by_depth ? npu::WeightOrder::PART_KERNEL_FIRST : npu::WeightOrder::DEPTH_FIRST;
}

// The OFM that blocks tile, and the sizes to try.
struct Space {
  int64_t height;
  int64_t width;
  int64_t depth;
};
Space search_space(const Requirements& r, const npu::Block3& max) {
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

class CostModel {
 public:
  explicit CostModel(const Requirements& r) : r_(r) {}

  // Elements fetched per output element, roughly.
  [[nodiscard]] double cost(const BlockConfig& b) const {
    const FeatureMap& ofm = r_.op.ofm;
    const double elements = static_cast<double>(ofm.height * ofm.width * ofm.depth);
    if (r_.elementwise) return elements / static_cast<double>(b.height * b.width * b.depth);
    const IfmBlock ifm = ifm_block(r_, b);
    const double blocks_deep = r_.equal_depth ? 1 : static_cast<double>(ceil_div(ofm.depth, b.depth));
    const double area_blocks = ratio(ofm.height, b.height) * ratio(ofm.width, b.width);
    double fetched =
        static_cast<double>(ifm.height * ifm.width * r_.op.ifm.depth * sub_kernels()) * area_blocks * blocks_deep;
    if (r_.op.is_convolution()) fetched += weights(b);
    double cost = fetched / elements;
    const int64_t ifm_elements = r_.op.ifm.height * r_.op.ifm.width * r_.op.ifm.depth;
    if (ifm_elements <= 2 * ifm.height * ifm.width * ifm.depth) cost /= 2;
    return cost;
  }

 private:
  static double ratio(int64_t whole, int64_t part) {
    return std::max(1.0, static_cast<double>(whole) / static_cast<double>(part));
  }
  [[nodiscard]] int64_t sub_kernels() const {
    const Kernel& k = r_.op.kernel;
    return ceil_div<int64_t>(k.height, npu::kSubkernelSize) * ceil_div<int64_t>(k.width, npu::kSubkernelSize);
  }
  [[nodiscard]] double weights(const BlockConfig& b) const {
    const FeatureMap& ofm = r_.op.ofm;
    const int64_t refetches = ceil_div(ofm.height, b.height) * ceil_div(ofm.width, b.width);
    const bool depthwise = r_.op.kind == OperationKind::kDepthwise;
    return static_cast<double>(r_.op.kernel.taps() * r_.op.ifm.depth * refetches) *
           (depthwise ? 1.0 : static_cast<double>(ofm.depth));
  }
  const Requirements& r_;
};

// Every legal block, in a fixed order; stops growing a row of candidates where it no longer fits.
template <typename Visit>
void for_each_block(const Requirements& r, const npu::Block3& max, Visit visit) {
  const npu::Block3& u = r.npu.ofm_ublocks[0].block;
  const Space space = search_space(r, max);
  const npu::WeightOrder order = weight_order(r.op);
  int64_t depth = std::max<int64_t>(u.depth, std::min<int64_t>(space.depth, npu::kBrickDepth));
  if (depth < r.op.ofm.depth) depth = round_up<int64_t>(depth, npu::kBrickDepth);
  for (; depth <= std::max<int64_t>(space.depth, u.depth); depth = next_depth(depth, r)) {
    for (int64_t height = u.height; height <= space.height; height += u.height) {
      for (int64_t width = u.width; width <= space.width; width += u.width) {
        BlockConfig b{.height = height, .width = width, .depth = depth, .order = order};
        if (!lay_out(r, b)) break;
        visit(b);
      }
    }
  }
}

}  // namespace

npu::Block3 input_block(const Operation& op, const Target& target, const BlockConfig& block) {
  const IfmBlock b = ifm_block(requirements_of(op, target), block);
  return {.height = static_cast<int>(b.height), .width = static_cast<int>(b.width), .depth = static_cast<int>(b.depth)};
}

std::optional<BlockConfig> choose_block(const Operation& op, const Target& target, const Variation& variation) {
  const Requirements r = requirements_of(op, target);
  const npu::Block3& max = target.limits().max_ofm_block;
  if (variation.blocks == Variation::Blocks::kSeeded) {
    std::vector<BlockConfig> all;
    for_each_block(r, max, [&](const BlockConfig& b) { all.push_back(b); });
    if (all.empty()) return std::nullopt;
    std::mt19937 random(variation.seed + static_cast<uint32_t>(op.node.index()));
    return all[random() % all.size()];
  }
  const CostModel model(r);
  std::optional<BlockConfig> best;
  double best_cost = std::numeric_limits<double>::infinity();
  for_each_block(r, max, [&](const BlockConfig& b) {
    const double cost = model.cost(b);
    // Equal costs: the larger block, which needs fewer commands.
    const bool larger = best && b.height * b.width * b.depth > best->height * best->width * best->depth;
    if (cost < best_cost || (cost == best_cost && larger)) {
      best = b;
      best_cost = cost;
    }
  });
  return best;
}

}  // namespace carina::plan
