#include "plan/emit_stream.h"

#include <algorithm>
#include <array>

#include "npu/registers.h"
#include "plan/hazards.h"
#include "plan/layout.h"

namespace carina::plan {
namespace {

using npu::Reg;

#define CARINA_FIELD(reg, name) npu::field_of(Reg::reg, name, npu::Product::kU55)

// The registers of one feature map operand.
struct MapRegisters {
  Reg region, base0, base1, base2, base3, height0, height1, width0, stride_y, stride_x, stride_c, zero_point;
};
constexpr MapRegisters kIfm{Reg::IFM_REGION,   Reg::IFM_BASE0,      Reg::IFM_BASE1,      Reg::IFM_BASE2,
                            Reg::IFM_BASE3,    Reg::IFM_HEIGHT0_M1, Reg::IFM_HEIGHT1_M1, Reg::IFM_WIDTH0_M1,
                            Reg::IFM_STRIDE_Y, Reg::IFM_STRIDE_X,   Reg::IFM_STRIDE_C,   Reg::IFM_ZERO_POINT};
constexpr MapRegisters kIfm2{Reg::IFM2_REGION,   Reg::IFM2_BASE0,      Reg::IFM2_BASE1,      Reg::IFM2_BASE2,
                             Reg::IFM2_BASE3,    Reg::IFM2_HEIGHT0_M1, Reg::IFM2_HEIGHT1_M1, Reg::IFM2_WIDTH0_M1,
                             Reg::IFM2_STRIDE_Y, Reg::IFM2_STRIDE_X,   Reg::IFM2_STRIDE_C,   Reg::IFM2_ZERO_POINT};
constexpr MapRegisters kOfm{Reg::OFM_REGION,   Reg::OFM_BASE0,      Reg::OFM_BASE1,      Reg::OFM_BASE2,
                            Reg::OFM_BASE3,    Reg::OFM_HEIGHT0_M1, Reg::OFM_HEIGHT1_M1, Reg::OFM_WIDTH0_M1,
                            Reg::OFM_STRIDE_Y, Reg::OFM_STRIDE_X,   Reg::OFM_STRIDE_C,   Reg::OFM_ZERO_POINT};

npu::ActivationPrecision precision_of(ElementType type) {
  switch (type.bits) {
    case 8:
      return npu::ActivationPrecision::B8;
    case 16:
      return npu::ActivationPrecision::B16;
    case 32:
      return npu::ActivationPrecision::B32;
    default:
      CARINA_UNREACHABLE("element bits", type.bits);
  }
}

uint64_t number(auto value) {
  return static_cast<uint64_t>(value);
}

int region_of(const PlanTensor& tensor) {
  return static_cast<int>(tensor.kind == TensorKind::kConstant ? npu::Region::kConstants : npu::Region::kArena);
}

class Emitter {
 public:
  Emitter(const Program& program, const Target& target)
      : program_(program), target_(target), out_(target.accelerator.product) {}

  void operation(const Command& command, int blockdep) {
    const Operation& op = program_.network.operations[command.operation];
    const BlockConfig& block = program_.blocks[command.operation];
    if (op.kind == OperationKind::kElementwise) elementwise_scales(op);
    ifm(op);
    ofm(op);
    kernel(op, block);
    if (op.weights.valid()) weights(op, command.operation);
    activation(op, command.slot);
    if (!op.per_channel) out_.set(Reg::OFM_SCALE, static_cast<uint16_t>(op.scaling.shift), op.scaling.multiplier);
    if (op.kind == OperationKind::kElementwise && op.second != SecondOperand::kNone) ifm2(op);
    blocks(op, block);
    out_.set(Reg::BLOCKDEP, blockdep);
    start(op);
  }

  void transfer(int source_region, int64_t source, int64_t destination, int64_t bytes, std::optional<int> region) {
    out_.set(Reg::DMA0_SRC_REGION, source_region);
    out_.set(Reg::DMA0_SRC, source);
    // Internal memory has no region of its own; the number 3 is what others write there.
    constexpr int kInternal = 0x103;
    out_.set(Reg::DMA0_DST_REGION, region.value_or(kInternal));
    out_.set(Reg::DMA0_DST, destination);
    out_.set(Reg::DMA0_LEN, bytes);
    out_.op(npu::Op::DMA_START);
  }

  void copy(const Operation& op) {
    const PlanTensor &from = program_.network[op.ifm.tensor], &to = program_.network[op.ofm.tensor];
    transfer(region_of(from), from.address + op.ifm.offset * op.ifm.type.bytes(),
             to.address + op.ofm.offset * op.ofm.type.bytes(), op.dma_bytes, region_of(to));
  }

  void load_table(const Operation& op, int slot) {
    const PlanTensor& table = program_.network[op.activation.table];
    transfer(region_of(table), table.address, table_address(target_, slot), table.bytes(), std::nullopt);
  }

  void load_weights(size_t index) {
    const EncodedWeights& encoded = program_.encoded[program_.encoded_of[index]];
    const PlanTensor& to = program_.network[program_.staged[index]];
    transfer(static_cast<int>(npu::Region::kConstants), encoded.address, to.address,
             static_cast<int64_t>(encoded.bytes.size()), region_of(to));
  }

  void wait(const HazardTracker::Waits& waits) {
    if (waits.kernels) out_.op(npu::Op::KERNEL_WAIT, static_cast<uint16_t>(*waits.kernels));
    if (waits.dmas) out_.op(npu::Op::DMA_WAIT, static_cast<uint16_t>(*waits.dmas));
  }

  void stop() {
    constexpr uint16_t kMask = 0xFFFF;
    out_.op(npu::Op::STOP, kMask);
  }
  [[nodiscard]] size_t words() const { return out_.word_count(); }
  std::vector<uint32_t> take() && { return std::move(out_).take(); }

 private:
  void map(const FeatureMap& map, const MapRegisters& r) {
    const PlanTensor& tensor = program_.network[map.tensor];
    const auto bytes = bytes_of(map, tensor);
    CARINA_CHECK(bytes.has_value(), "tensor {} cannot be addressed in its format", tensor.name);
    out_.set(r.region, region_of(tensor));
    out_.set(r.base0, tensor.address + bytes->offset);
    for (const Reg unused : {r.base1, r.base2, r.base3}) out_.set(unused, 0);
    out_.set(r.height0, map.height - 1);
    out_.set(r.height1, map.height - 1);
    out_.set(r.width0, map.width - 1);
    out_.set(r.stride_y, bytes->stride_y);
    out_.set(r.stride_x, bytes->stride_x);
    out_.set(r.stride_c, bytes->stride_c);
    out_.set(r.zero_point, map.zero_point);
  }

  [[nodiscard]] npu::ActivationFormat format_of(const FeatureMap& map) const {
    return program_.network[map.tensor].format == Format::kNhcwb16 ? npu::ActivationFormat::NHCWB16
                                                                   : npu::ActivationFormat::NHWC;
  }

  void ifm(const Operation& op) {
    map(op.ifm, kIfm);
    out_.set(Reg::IFM_DEPTH_M1, op.ifm.depth - 1);
    uint64_t precision = CARINA_FIELD(IFM_PRECISION, "activation_type").set(0, number(op.ifm.type.is_signed));
    precision = CARINA_FIELD(IFM_PRECISION, "activation_precision").set(precision, number(precision_of(op.ifm.type)));
    precision = CARINA_FIELD(IFM_PRECISION, "activation_format").set(precision, number(format_of(op.ifm)));
    precision = CARINA_FIELD(IFM_PRECISION, "scale_mode").set(precision, number(op.operands.mode));
    if (op.operands.mode != npu::IfmScaleMode::OPA_OPB_16) {
      precision = CARINA_FIELD(IFM_PRECISION, "round_mode").set(precision, number(op.operands.first.rounding));
    }
    out_.set_fields(Reg::IFM_PRECISION, precision);
    out_.set(Reg::IFM_UPSCALE, 0);
    out_.set(Reg::IFM_PAD_TOP, op.padding.top);
    out_.set(Reg::IFM_PAD_LEFT, op.padding.left);
    out_.set(Reg::IFM_PAD_BOTTOM, op.padding.bottom);
    out_.set(Reg::IFM_PAD_RIGHT, op.padding.right);
  }

  void ofm(const Operation& op) {
    out_.set(Reg::OFM_HEIGHT_M1, op.ofm.height - 1);
    out_.set(Reg::OFM_WIDTH_M1, op.ofm.width - 1);
    map(op.ofm, kOfm);
    out_.set(Reg::OFM_DEPTH_M1, op.ofm.depth - 1);
    uint64_t precision = CARINA_FIELD(OFM_PRECISION, "activation_type").set(0, number(op.ofm.type.is_signed));
    precision = CARINA_FIELD(OFM_PRECISION, "activation_precision").set(precision, number(precision_of(op.ofm.type)));
    precision = CARINA_FIELD(OFM_PRECISION, "activation_format").set(precision, number(format_of(op.ofm)));
    const auto mode = op.per_channel ? npu::OfmScaleMode::PER_CHANNEL : npu::OfmScaleMode::GLOBAL;
    precision = CARINA_FIELD(OFM_PRECISION, "scale_mode").set(precision, number(mode));
    precision = CARINA_FIELD(OFM_PRECISION, "round_mode").set(precision, number(op.scaling.rounding));
    out_.set_fields(Reg::OFM_PRECISION, precision);
  }

  void kernel(const Operation& op, const BlockConfig& block) {
    const Kernel& k = op.kernel;
    out_.set(Reg::KERNEL_HEIGHT_M1, k.extent_h() - 1);
    out_.set(Reg::KERNEL_WIDTH_M1, k.extent_w() - 1);
    uint64_t stride = CARINA_FIELD(KERNEL_STRIDE, "stride_x_lsb").set(0, number((k.stride_x - 1) & 1));
    stride = CARINA_FIELD(KERNEL_STRIDE, "stride_y_lsb").set(stride, number((k.stride_y - 1) & 1));
    stride = CARINA_FIELD(KERNEL_STRIDE, "stride_x_msb").set(stride, number((k.stride_x - 1) >> 1));
    stride = CARINA_FIELD(KERNEL_STRIDE, "stride_y_msb").set(stride, number((k.stride_y - 1) >> 1));
    stride = CARINA_FIELD(KERNEL_STRIDE, "weight_order").set(stride, number(block.order));
    stride = CARINA_FIELD(KERNEL_STRIDE, "dilation_x").set(stride, number(k.dilation_x - 1));
    stride = CARINA_FIELD(KERNEL_STRIDE, "dilation_y").set(stride, number(k.dilation_y - 1));
    out_.set_fields(Reg::KERNEL_STRIDE, stride);
  }

  void weights(const Operation& op, size_t index) {
    const EncodedWeights& encoded = program_.encoded[program_.encoded_of[index]];
    const TensorId staged = program_.staged[index];
    const int64_t base = staged.valid() ? program_.network[staged].address : encoded.address;
    const int region = static_cast<int>(staged.valid() ? npu::Region::kArena : npu::Region::kConstants);
    if (op.is_convolution()) {
      out_.set(Reg::WEIGHT_REGION, region);
      out_.set(Reg::WEIGHT_BASE, base + encoded.scale_bytes);
      out_.set(Reg::WEIGHT_LENGTH, encoded.weight_bytes);
    }
    out_.set(Reg::SCALE_REGION, region);
    out_.set(Reg::SCALE_BASE, base);
    out_.set(Reg::SCALE_LENGTH, encoded.scale_bytes);
  }

  void activation(const Operation& op, int slot) {
    const auto table = static_cast<int>(npu::ActivationFunction::TABLE_0) + slot;
    out_.set(Reg::ACTIVATION, op.uses_table() ? table : static_cast<int>(npu::ActivationFunction::RELU));
    // The bounds have 16 bits; 32-bit results are not clamped.
    out_.set(Reg::ACTIVATION_MIN, std::max<int64_t>(op.activation.min, -32768));
    out_.set(Reg::ACTIVATION_MAX, op.ofm.type.bits == 32 ? 32767 : op.activation.max);
  }

  void elementwise_scales(const Operation& op) {
    using enum npu::ElementwiseMode;
    if (op.elementwise != ADD && op.elementwise != SUB) return;
    out_.set(Reg::OPA_SCALE, static_cast<uint16_t>(op.operands.first.shift), op.operands.first.multiplier);
    out_.set(Reg::OPB_SCALE, 0, op.operands.second);
  }

  void ifm2(const Operation& op) {
    const bool scalar = op.second == SecondOperand::kScalar;
    if (scalar) {
      out_.set(Reg::IFM2_SCALAR, op.scalar);
      out_.set(Reg::IFM2_ZERO_POINT, op.ifm2.zero_point);
    } else {
      map(op.ifm2, kIfm2);
    }
    uint64_t precision = CARINA_FIELD(IFM2_PRECISION, "activation_type").set(0, number(op.ifm2.type.is_signed));
    precision = CARINA_FIELD(IFM2_PRECISION, "activation_precision").set(precision, number(precision_of(op.ifm2.type)));
    if (!scalar)
      precision = CARINA_FIELD(IFM2_PRECISION, "activation_format").set(precision, number(format_of(op.ifm2)));
    out_.set_fields(Reg::IFM2_PRECISION, precision);
    uint64_t broadcast = CARINA_FIELD(IFM2_BROADCAST, "broadcast_h").set(0, number(op.broadcast.height));
    broadcast = CARINA_FIELD(IFM2_BROADCAST, "broadcast_w").set(broadcast, number(op.broadcast.width));
    broadcast = CARINA_FIELD(IFM2_BROADCAST, "broadcast_c").set(broadcast, number(op.broadcast.depth));
    broadcast = CARINA_FIELD(IFM2_BROADCAST, "operand_order").set(broadcast, number(op.swapped));
    broadcast = CARINA_FIELD(IFM2_BROADCAST, "broadcast_constant").set(broadcast, number(scalar));
    out_.set_fields(Reg::IFM2_BROADCAST, broadcast);
  }

  void blocks(const Operation& op, const BlockConfig& block) {
    out_.set(Reg::OFM_BLK_HEIGHT_M1, block.height - 1);
    out_.set(Reg::OFM_BLK_WIDTH_M1, block.width - 1);
    out_.set(Reg::OFM_BLK_DEPTH_M1, block.depth - 1);
    out_.set(Reg::IFM_IB_END, block.ifm_end);
    out_.set(Reg::AB_START, block.acc_start);
    if (op.kind == OperationKind::kElementwise) out_.set(Reg::IFM2_IB_START, block.ifm2_start);
    out_.set(Reg::ACC_FORMAT, static_cast<int>(op.acc == AccWidth::k40 ? npu::AccFormat::I40 : npu::AccFormat::I32));
  }

  void start(const Operation& op) {
    switch (op.kind) {
      case OperationKind::kConv:
        return out_.op(npu::Op::CONV);
      case OperationKind::kDepthwise:
        return out_.op(npu::Op::DEPTHWISE);
      case OperationKind::kPool:
        return out_.op(npu::Op::POOL, static_cast<uint16_t>(op.pool));
      case OperationKind::kElementwise:
        return out_.op(npu::Op::ELEMENTWISE, static_cast<uint16_t>(op.elementwise));
      case OperationKind::kDma:
        break;
    }
    CARINA_UNREACHABLE("operation", op.kind);
  }

  const Program& program_;
  const Target& target_;
  npu::StreamWriter out_;
};

#undef CARINA_FIELD

bool is_transfer(const Program& program, const Command& command) {
  return command.kind != Command::Kind::kOperation ||
         program.network.operations[command.operation].kind == OperationKind::kDma;
}

// Per TOSA node: the names of the nodes that its operations compute.
std::vector<std::vector<std::string>> names_by_node(const Program& program, const ir::Graph& graph) {
  std::vector<std::vector<std::string>> names(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) names[i].push_back(graph.nodes[i].name);
  for (size_t i = 0; i < program.network.done_by.size(); ++i) {
    if (const ir::NodeId by = program.network.done_by[i]; by.valid()) names[by.index()].push_back(graph.nodes[i].name);
  }
  return names;
}

npu::LayerNote note_of(const Operation& op, const ir::Graph& graph,
                       const std::vector<std::vector<std::string>>& names) {
  npu::LayerNote note{.name = op.name,
                      .tosa_ops = op.node.valid() ? names[op.node.index()] : std::vector<std::string>{}};
  if (op.node.valid() && !graph.nodes[op.node.index()].source.empty())
    note.source_lines.push_back(graph.nodes[op.node.index()].source);
  return note;
}

}  // namespace

std::vector<uint32_t> emit_stream(const Program& program, const ir::Graph& graph, const Target& target,
                                  const Variation& variation, std::vector<npu::LayerNote>& notes) {
  Emitter emitter(program, target);
  HazardTracker hazards(target.limits());
  const auto names = names_by_node(program, graph);
  std::optional<size_t> previous;
  const bool overlap = variation.overlap == Variation::Overlap::kExact;
  for (const Command& command : program.commands) {
    const Operation& op = program.network.operations[command.operation];
    npu::LayerNote note = note_of(op, graph, names);
    note.first_word = emitter.words();
    const auto accesses = accesses_of(program, command, target);
    const bool transfer = is_transfer(program, command);
    HazardTracker::Waits waits = transfer ? hazards.before_dma(accesses) : hazards.before_kernel(accesses);
    if (!overlap) waits = {.kernels = 0, .dmas = 0};
    emitter.wait(waits);
    switch (command.kind) {
      case Command::Kind::kLoadTable:
        emitter.load_table(op, command.slot);
        break;
      case Command::Kind::kLoadWeights:
        emitter.load_weights(command.operation);
        break;
      case Command::Kind::kOperation:
        if (op.kind == OperationKind::kDma) {
          emitter.copy(op);
        } else {
          emitter.operation(command, overlap ? block_dependency(program, previous, command.operation, target) : 0);
          previous = command.operation;
        }
        break;
    }
    note.end_word = emitter.words();
    notes.push_back(std::move(note));
  }
  emitter.stop();
  return std::move(emitter).take();
}

}  // namespace carina::plan
