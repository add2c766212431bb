#include "plan/estimate.h"

#include <algorithm>

#include "base/checked_math.h"
#include "facts/npu_performance.h"

namespace carina::plan {
namespace {

// Sizes of one block, clipped to the tensors, counted in ublocks.
struct Counts {
  int64_t height, width, depth;  // elements of the OFM block
  int64_t ublocks_flat;          // in height and width
  int64_t ublocks_deep;
  int64_t ifm_depth;  // of the input block
  double blocks;      // fractional number of blocks in the OFM
};

Counts counts_of(const Operation& op, const BlockConfig& b, const Target& target) {
  const npu::Block3& u = target.accelerator.ofm_ublocks[0].block;
  Counts c{};
  c.height = std::min(b.height, op.ofm.height);
  c.width = std::min(b.width, op.ofm.width);
  c.depth = std::min(b.depth, op.ofm.depth);
  c.ublocks_flat = ceil_div<int64_t>(c.height, u.height) * ceil_div<int64_t>(c.width, u.width);
  c.ublocks_deep = ceil_div<int64_t>(c.depth, u.depth);
  c.ifm_depth = std::min<int64_t>(input_block(op, target, b).depth, op.ifm.depth);
  const auto share = [](int64_t whole, int64_t part) {
    return std::max(1.0, static_cast<double>(whole) / static_cast<double>(part));
  };
  c.blocks = share(op.ofm.height, c.height) * share(op.ofm.width, c.width) * share(op.ofm.depth, c.depth);
  return c;
}

// Multiplier cycles of one block for a sub-kernel of `taps`.
int64_t sub_kernel_cycles(const Operation& op, const BlockConfig& b, const Target& target, const Counts& c,
                          int64_t taps) {
  const int64_t bits = op.ifm.type.bits;
  const npu::Block3& u = target.accelerator.ofm_ublocks[0].block;
  const int64_t decode = npu::kWeightDecodeElemsPerOfmUblockChannel * u.depth / npu::kWeightDecodeElemsPerCycle;
  const int64_t flat = npu::kMacCyclesPerUblock * c.ublocks_flat;
  if (op.kind == OperationKind::kPool && op.pool != npu::PoolingMode::REDUCE_SUM) {
    const int64_t factor = target.accelerator.macs_per_cycle == 32 ? 1 : bits / 2;
    return std::max<int64_t>(npu::kMacCyclesPerUblock, taps) * c.ublocks_flat * c.ublocks_deep * factor;
  }
  if (op.kind == OperationKind::kDepthwise) {
    return std::max(decode, flat * bits / 8) * ceil_div<int64_t>(taps, npu::kDepthwiseTapsPerStep) * c.ublocks_deep;
  }
  const int64_t depth_blocks = ceil_div(op.ifm.depth, c.ifm_depth);
  if (b.order == npu::WeightOrder::PART_KERNEL_FIRST) {
    const int64_t per_step = bits == 16 ? npu::kPartKernelTapsPerStep16Bit : npu::kPartKernelTapsPerStep8Bit;
    return std::max(decode, flat) * ceil_div(taps, per_step) * c.ublocks_deep * ceil_div<int64_t>(c.ifm_depth, 8) *
           depth_blocks;
  }
  return std::max(decode, flat) * taps * c.ublocks_deep * depth_blocks;
}

int64_t mac_cycles(const Operation& op, const BlockConfig& b, const Target& target, const Counts& c) {
  if (op.kind == OperationKind::kElementwise) return 0;
  int64_t cycles = 0;
  for (int64_t y = 0; y < op.kernel.height; y += npu::kSubkernelSize) {
    for (int64_t x = 0; x < op.kernel.width; x += npu::kSubkernelSize) {
      const int64_t taps = std::min<int64_t>(op.kernel.height - y, npu::kSubkernelSize) *
                           std::min<int64_t>(op.kernel.width - x, npu::kSubkernelSize);
      cycles += sub_kernel_cycles(op, b, target, c, taps);
    }
  }
  return cycles;
}

npu::OutputKind output_kind(const Operation& op) {
  using enum npu::OutputKind;
  if (op.kind == OperationKind::kElementwise) {
    if (op.ifm.type.bits == 32) return op.second == SecondOperand::kNone ? kUnary32 : kBinary32;
    if (op.elementwise == npu::ElementwiseMode::MUL) return op.ofm.type.bits == 32 ? kMulTo32 : kMulOrAcc40;
    if (op.elementwise == npu::ElementwiseMode::ADD || op.elementwise == npu::ElementwiseMode::SUB) return kAdvancedAdd;
  }
  if (op.acc == AccWidth::k40) return kMulOrAcc40;
  if (op.kind == OperationKind::kPool && op.pool == npu::PoolingMode::MAX) return kMaxPool;
  return kOther;
}

double output_cycles_per_element(const Operation& op, const Target& target) {
  const npu::OutputCycles* row = npu::find_output_cycles(target.accelerator.name);
  CARINA_CHECK(row != nullptr, "no output cycles for {}", target.accelerator.name);
  auto activation = npu::ActivationKind::kNone;
  if (op.uses_table())
    activation = npu::ActivationKind::kTable;
  else if (op.activation.min > op.ofm.type.min() || op.activation.max < op.ofm.type.max())
    activation = npu::ActivationKind::kRelu;
  return std::max(row->output_cycles_per_elem[static_cast<size_t>(output_kind(op))],
                  row->activation_cycles_per_elem[static_cast<size_t>(activation)]);
}

double feature_map_bytes(const Operation& op, const BlockConfig& b, const Target& target, const Counts& c) {
  const auto bytes = [](const FeatureMap& map) {
    return static_cast<double>(map.height * map.width * map.depth * map.type.bytes());
  };
  double sum = bytes(op.ofm);
  if (op.kind == OperationKind::kElementwise)
    return sum + bytes(op.ifm) + (op.second == SecondOperand::kFeatureMap ? bytes(op.ifm2) : 0);
  const npu::Block3 in = input_block(op, target, b);
  const double area =
      static_cast<double>(std::min<int64_t>(in.height, op.ifm.height) * std::min<int64_t>(in.width, op.ifm.width));
  const double depth = static_cast<double>(op.kind == OperationKind::kConv ? op.ifm.depth : c.depth);
  return sum + area * depth * c.blocks * static_cast<double>(op.ifm.type.bytes());
}

}  // namespace

double bytes_per_cycle(const npu::MemoryPort& port, const Target& target) {
  return target.limits().axi_port_bytes * port.ports_used * port.clock_scale;
}

Estimate estimate(const Operation& op, const BlockConfig& b, const Target& target) {
  Estimate result;
  if (op.kind == OperationKind::kDma) return result;
  const Counts c = counts_of(op, b, target);
  const double mac = static_cast<double>(mac_cycles(op, b, target, c));
  const double output = output_cycles_per_element(op, target) * static_cast<double>(c.height * c.width * c.depth);
  result.npu_cycles = std::max(mac, output) * c.blocks + std::min(mac, output);
  result.feature_map_bytes = feature_map_bytes(op, b, target, c);
  result.weight_fetches = ceil_div(op.ofm.height, b.height) * ceil_div(op.ofm.width, b.width);
  return result;
}

}  // namespace carina::plan
