#include "plan/estimate.h"

#include <algorithm>

#include "base/checked_math.h"
#include "npu/cost.h"

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

npu::MacKind mac_kind(const Operation& op, const BlockConfig& b) {
  if (op.kind == OperationKind::kDepthwise) return npu::MacKind::kDepthwise;
  if (op.kind == OperationKind::kPool && op.pool != npu::PoolingMode::REDUCE_SUM) return npu::MacKind::kPool;
  return b.order == npu::WeightOrder::PART_KERNEL_FIRST ? npu::MacKind::kPartKernel : npu::MacKind::kDepthFirst;
}

double mac_cycles(const Operation& op, const BlockConfig& b, const Target& target, const Counts& c) {
  if (op.kind == OperationKind::kElementwise) return 0;
  return npu::mac_cycles({.npu = target.accelerator,
                          .kind = mac_kind(op, b),
                          .ifm_bits = op.ifm.type.bits,
                          .kernel_height = op.kernel.height,
                          .kernel_width = op.kernel.width,
                          .ublocks_xy = c.ublocks_flat,
                          .ublocks_z = c.ublocks_deep,
                          .ublock_depth = target.accelerator.ofm_ublocks[0].block.depth,
                          .ifm_block_depth = c.ifm_depth,
                          .ifm_depth = op.ifm.depth},
                         npu::kSearchCost);
}

npu::OutputWork::Kind output_kind(const Operation& op) {
  using enum npu::OutputWork::Kind;
  using Mode = npu::ElementwiseMode;
  if (op.kind == OperationKind::kPool && op.pool == npu::PoolingMode::MAX) return kMaxPool;
  if (op.kind != OperationKind::kElementwise) return kOther;
  if (op.elementwise == Mode::MUL) return kMul;
  if (op.elementwise == Mode::ADD || op.elementwise == Mode::SUB) return kAddSub;
  return op.second == SecondOperand::kNone ? kUnary : kBinary;
}

double output_cycles_per_element(const Operation& op, const Target& target) {
  auto activation = npu::ActivationKind::kNone;
  if (op.uses_table())
    activation = npu::ActivationKind::kTable;
  else if (op.activation.min > op.ofm.type.min() || op.activation.max < op.ofm.type.max())
    activation = npu::ActivationKind::kRelu;
  return npu::output_cycles_per_element({.npu = target.accelerator,
                                         .kind = output_kind(op),
                                         .ifm_bits = op.ifm.type.bits,
                                         .ofm_bits = op.ofm.type.bits,
                                         .acc_bits = op.acc == AccWidth::k40 ? 40 : 32,
                                         .activation = activation});
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
  return npu::port_bytes_per_cycle(target.accelerator.product, port);
}

Estimate estimate(const Operation& op, const BlockConfig& b, const Target& target) {
  Estimate result;
  if (op.kind == OperationKind::kDma) return result;
  const Counts c = counts_of(op, b, target);
  const double mac = mac_cycles(op, b, target, c);
  const double output = output_cycles_per_element(op, target) * static_cast<double>(c.height * c.width * c.depth);
  const npu::PipelineWork work{.mac_cycles = mac, .output_cycles = output, .blocks = c.blocks};
  result.npu_cycles = op.kind == OperationKind::kElementwise ? npu::elementwise_cycles(work, npu::kSearchCost)
                                                             : npu::pipeline_cycles(work, npu::kSearchCost);
  result.feature_map_bytes = feature_map_bytes(op, b, target, c);
  result.weight_fetches = ceil_div(op.ofm.height, b.height) * ceil_div(op.ofm.width, b.width);
  return result;
}

}  // namespace carina::plan
