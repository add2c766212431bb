#include "plan/cost/cost.h"

#include <algorithm>

#include "base/checked_math.h"

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

const npu::Block3& ublock_of(const BlockConfig& block, const npu::AcceleratorConfig& npu) {
  for (int i = 1; i < npu.ofm_ublock_count; ++i) {
    const npu::OfmUblock& u = npu.ofm_ublocks[static_cast<size_t>(i)];
    if (u.code == block.ublock) return u.block;
  }
  return npu.ofm_ublocks[0].block;
}

Counts counts_of(const Step& op, const BlockConfig& b, const npu::Block3& in, const Target& target) {
  const npu::Block3& u = ublock_of(b, target.accelerator);
  Counts c{};
  c.height = std::min(b.height, op.ofm.height);
  c.width = std::min(b.width, op.ofm.width);
  c.depth = std::min(b.depth, op.ofm.depth);
  c.ublocks_flat = ceil_div<int64_t>(c.height, u.height) * ceil_div<int64_t>(c.width, u.width);
  c.ublocks_deep = ceil_div<int64_t>(c.depth, u.depth);
  c.ifm_depth = std::min<int64_t>(in.depth, op.ifm.depth);
  const auto share = [](int64_t whole, int64_t part) {
    return std::max(1.0, static_cast<double>(whole) / static_cast<double>(part));
  };
  c.blocks = share(op.ofm.height, c.height) * share(op.ofm.width, c.width) * share(op.ofm.depth, c.depth);
  return c;
}

npu::MacKind mac_kind(const Step& op, const BlockConfig& b) {
  if (op.kind == StepKind::kDepthwise) return npu::MacKind::kDepthwise;
  if (op.kind == StepKind::kPool && !op.sums_over_depth()) return npu::MacKind::kPool;
  return b.order == npu::WeightOrder::PART_KERNEL_FIRST ? npu::MacKind::kPartKernel : npu::MacKind::kDepthFirst;
}

double mac_cycles(const Step& op, const BlockConfig& b, const Target& target, const Counts& c) {
  if (has_no_macs(op)) return 0;
  return npu::mac_cycles({.npu = target.accelerator,
                          .kind = mac_kind(op, b),
                          .ifm_bits = op.ifm.type.bits,
                          .kernel_height = op.kernel.height,
                          .kernel_width = op.kernel.width,
                          .ublocks_xy = c.ublocks_flat,
                          .ublocks_z = c.ublocks_deep,
                          .ublock_depth = ublock_of(b, target.accelerator).depth,
                          .ifm_block_depth = c.ifm_depth,
                          .ifm_depth = op.ifm.depth,
                          .sparse_weights = b.sparsity == npu::WeightSparsity::SPARSE_2_4,
                          .cores = target.accelerator.cores},
                         npu::kSearchCost);
}

double output_cycles_per_element(const Step& op, const Target& target) {
  auto activation = npu::ActivationKind::kNone;
  if (op.uses_table() || op.activation.built_in != BuiltIn::kNone)
    activation = npu::ActivationKind::kTable;
  else if (op.activation.min > op.ofm.type.min() || op.activation.max < op.ofm.type.max())
    activation = npu::ActivationKind::kRelu;
  return npu::output_cycles_per_element({.npu = target.accelerator,
                                         .kind = output_kind(op),
                                         .ifm_bits = op.ifm.type.bits,
                                         .ofm_bits = op.ofm.type.bits,
                                         .acc_bits = op.acc == AccWidth::kWide ? 40 : 32,
                                         .activation = activation,
                                         .cores = target.accelerator.cores});
}

double map_bytes(const FeatureMap& map) {
  return static_cast<double>(map.height * map.width * map.depth * map.type.bytes());
}

double ifm_bytes(const Step& op, const npu::Block3& in, const Counts& c) {
  if (has_no_macs(op)) return map_bytes(op.ifm);
  const double area =
      static_cast<double>(std::min<int64_t>(in.height, op.ifm.height) * std::min<int64_t>(in.width, op.ifm.width));
  const double depth = static_cast<double>(op.kind == StepKind::kConv ? op.ifm.depth : c.depth);
  return area * depth * c.blocks * static_cast<double>(op.ifm.type.bytes());
}

}  // namespace

bool has_no_macs(const Step& op) {
  return !op.is_convolution() && op.kind != StepKind::kPool;
}

npu::OutputWork::Kind output_kind(const Step& op) {
  using enum npu::OutputWork::Kind;
  using Mode = npu::ElementwiseMode;
  if (op.kind == StepKind::kPool && op.pool == npu::PoolingMode::MAX) return kMaxPool;
  if (op.kind != StepKind::kElementwise) return kOther;
  if (op.elementwise == Mode::MUL) return kMul;
  if (op.elementwise == Mode::ADD || op.elementwise == Mode::SUB) return kAddSub;
  return op.second == SecondOperand::kNone ? kUnary : kBinary;
}

StripeCost cost_of(const Step& op, const BlockConfig& b, const Family& family, const Target& target) {
  const npu::Block3 in = family.input_block(op, b, target);
  const Counts c = counts_of(op, b, in, target);
  const npu::PipelineWork work{
      .mac_cycles = mac_cycles(op, b, target, c),
      .output_cycles = output_cycles_per_element(op, target) * static_cast<double>(c.height * c.width * c.depth),
      .blocks = c.blocks};
  return {.npu_cycles = has_no_macs(op) ? npu::elementwise_cycles(work, npu::kSearchCost)
                                        : npu::pipeline_cycles(work, npu::kSearchCost),
          .ofm_bytes = map_bytes(op.ofm),
          .ifm_bytes = ifm_bytes(op, in, c),
          .ifm2_bytes = op.reads_second_map() ? map_bytes(op.ifm2) : 0,
          .weight_fetches = ceil_div(op.ofm.height, b.height) * ceil_div(op.ofm.width, b.width)};
}

PortSpeed speed_of(Space space, const Family& family, const Target& target) {
  const auto spaces = family.spaces(target);
  CARINA_CHECK(spaces && (*spaces)[static_cast<size_t>(space)], "the target has no such space");
  const npu::MemoryPort& port = target.system.ports[(*spaces)[static_cast<size_t>(space)]->port];
  return {.bytes_per_cycle = npu::port_bytes_per_cycle(target.accelerator.product, port),
          .map_read_bytes_per_cycle = npu::map_read_bytes_per_cycle(target.accelerator, port),
          .read_latency_cycles = port.read_latency_cycles};
}

}  // namespace carina::plan
