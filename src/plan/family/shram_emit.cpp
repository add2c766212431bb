#include <algorithm>
#include <array>
#include <optional>

#include "plan/family/map_emitter_internal.h"
#include "plan/family/shram_internal.h"

// Writes the registers and commands of steps for NPUs with SHRAM (ethos-u55, ethos-u65): bank limits, the IFM scale
// modes, and a weight stream for each core. The registers that all NPUs share are MapEmitter's.
namespace carina::plan {
namespace {

using npu::Reg;

// ethos-u55 and ethos-u65 have these fields at the same bits.
#define CARINA_FIELD(reg, name) npu::field_of(Reg::reg, name, npu::Product::kU55)

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

npu::RoundMode round_mode_of(const Scaling& scaling) {
  switch (scaling.rounding) {
    case Rounding::kSingle:
      return npu::RoundMode::NATURAL;
    case Rounding::kDouble:
      return npu::RoundMode::DBL;
  }
  CARINA_UNREACHABLE("rounding", scaling.rounding);
}

npu::IfmScaleMode scale_mode_of(const OperandScaling& operands) {
  switch (operands.precise) {
    case OperandScaling::Precise::kBothAlike:
      return npu::IfmScaleMode::OPA_OPB_16;
    case OperandScaling::Precise::kFirst:
      return npu::IfmScaleMode::OPA_32;
    case OperandScaling::Precise::kSecond:
      return npu::IfmScaleMode::OPB_32;
  }
  CARINA_UNREACHABLE("operand scaling", operands.precise);
}
// The value of OPA_SCALE: the 32-bit factor of either operand, or the first of two 16-bit factors.
const Scaling& long_factor(const OperandScaling& operands) {
  return operands.precise == OperandScaling::Precise::kSecond ? operands.second : operands.first;
}

class ShramEmitter final : public MapEmitter {
 public:
  ShramEmitter(const Schedule& schedule, const Target& target)
      : MapEmitter(schedule, target, *(*find_family(target))->spaces(target)) {}

  void compute(const Stripe& stripe, int table_slot, int blockdep) override {
    std::optional<Step> part;
    const Step& subop = subop_in(schedule_, stripe, part);
    cores();
    if (subop.kind == StepKind::kElementwise) elementwise_scales(subop);
    ifm(subop);
    ofm(subop);
    kernel(subop, stripe.block);
    if (stripe.slice.valid()) weights(subop, schedule_[stripe.slice]);
    activation(subop, table_slot);
    if (!subop.per_channel)
      out_.set(Reg::OFM_SCALE, static_cast<uint16_t>(subop.scaling.shift), subop.scaling.multiplier);
    if (subop.kind == StepKind::kElementwise && subop.second != SecondOperand::kNone) ifm2(subop);
    blocks(subop, stripe.block);
    out_.set(Reg::BLOCKDEP, blockdep);
    start(subop);
  }

  void transfer(const Transfer& transfer) override {
    out_.set(Reg::DMA0_SRC_REGION, region_of(transfer.from));
    out_.set(Reg::DMA0_SRC, transfer.source);
    if (transfer.to == Space::kTables) {
      // Internal memory has no region of its own. Vela writes this number, and so does Carina.
      constexpr uint64_t kInternalRegion = 3;
      uint64_t region = CARINA_FIELD(DMA0_DST_REGION, "region").set(0, kInternalRegion);
      region = CARINA_FIELD(DMA0_DST_REGION, "region_mode").set(region, number(npu::DmaRegionMode::INTERNAL));
      out_.set_fields(Reg::DMA0_DST_REGION, region);
    } else {
      out_.set(Reg::DMA0_DST_REGION, region_of(transfer.to));
    }
    out_.set(Reg::DMA0_DST, transfer.destination);
    out_.set(Reg::DMA0_LEN, transfer.bytes);
    out_.op(npu::Op::DMA_START);
  }

 private:
  void cores() {
    if (target_.accelerator.product != npu::Product::kU65) return;
    out_.set(Reg::PARALLEL_MODE, target_.accelerator.cores - 1);
  }

  void ifm(const Step& op) {
    map(op.ifm, kIfm);
    out_.set(Reg::IFM_DEPTH_M1, op.ifm.depth - 1);
    uint64_t precision = CARINA_FIELD(IFM_PRECISION, "activation_type").set(0, number(op.ifm.type.is_signed));
    precision = CARINA_FIELD(IFM_PRECISION, "activation_precision").set(precision, number(precision_of(op.ifm.type)));
    precision = CARINA_FIELD(IFM_PRECISION, "activation_format").set(precision, number(format_of(op.ifm)));
    const npu::IfmScaleMode mode = scale_mode_of(op.operands);
    precision = CARINA_FIELD(IFM_PRECISION, "scale_mode").set(precision, number(mode));
    if (mode != npu::IfmScaleMode::OPA_OPB_16) {
      precision =
          CARINA_FIELD(IFM_PRECISION, "round_mode").set(precision, number(round_mode_of(long_factor(op.operands))));
    }
    out_.set_fields(Reg::IFM_PRECISION, precision);
    const auto upscaled = op.inserts_zeros ? npu::IfmUpscaleMode::ZEROS : npu::IfmUpscaleMode::NEAREST;
    const auto upscale = op.upscale == 1 ? npu::IfmUpscaleMode::NONE : upscaled;
    out_.set_fields(Reg::IFM_UPSCALE, CARINA_FIELD(IFM_UPSCALE, "mode").set(0, number(upscale)));
    out_.set(Reg::IFM_PAD_TOP, op.padding.top);
    out_.set(Reg::IFM_PAD_LEFT, op.padding.left);
    out_.set(Reg::IFM_PAD_BOTTOM, op.padding.bottom);
    out_.set(Reg::IFM_PAD_RIGHT, op.padding.right);
  }

  void ofm(const Step& op) {
    out_.set(Reg::OFM_HEIGHT_M1, op.ofm.height - 1);
    out_.set(Reg::OFM_WIDTH_M1, op.ofm.width - 1);
    map(op.ofm, kOfm);
    out_.set(Reg::OFM_DEPTH_M1, op.ofm.depth - 1);
    uint64_t precision = CARINA_FIELD(OFM_PRECISION, "activation_type").set(0, number(op.ofm.type.is_signed));
    precision = CARINA_FIELD(OFM_PRECISION, "activation_precision").set(precision, number(precision_of(op.ofm.type)));
    precision = CARINA_FIELD(OFM_PRECISION, "activation_format").set(precision, number(format_of(op.ofm)));
    const auto mode = op.per_channel ? npu::OfmScaleMode::PER_CHANNEL : npu::OfmScaleMode::GLOBAL;
    precision = CARINA_FIELD(OFM_PRECISION, "scale_mode").set(precision, number(mode));
    precision = CARINA_FIELD(OFM_PRECISION, "round_mode").set(precision, number(round_mode_of(op.scaling)));
    out_.set_fields(Reg::OFM_PRECISION, precision);
  }

  void kernel(const Step& op, const BlockConfig& block) {
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

  // The registers of one core's streams.
  struct CoreRegisters {
    Reg weight_base, weight_length, scale_base, scale_length;
  };
  static constexpr std::array<CoreRegisters, 2> kCores{
      {{Reg::WEIGHT_BASE, Reg::WEIGHT_LENGTH, Reg::SCALE_BASE, Reg::SCALE_LENGTH},
       {Reg::WEIGHT1_BASE, Reg::WEIGHT1_LENGTH, Reg::SCALE1_BASE, Reg::SCALE1_LENGTH}}};

  void weights(const Step& op, const WeightSlice& slice) {
    for (size_t i = 0; i < static_cast<size_t>(target_.accelerator.cores); ++i) {
      // A core without channels has streams of length 0 at the address of the first core's.
      const bool works = i < slice.cores.size();
      const StreamRange weights = weights_of(schedule_, slice, works ? i : 0);
      const StreamRange scales = scales_of(schedule_, slice, works ? i : 0);
      if (op.is_convolution()) {
        if (i == 0) out_.set(Reg::WEIGHT_REGION, region_of(weights.space));
        out_.set(kCores[i].weight_base, weights.address);
        out_.set(kCores[i].weight_length, works ? weights.bytes : 0);
      }
      if (i == 0) out_.set(Reg::SCALE_REGION, region_of(scales.space));
      out_.set(kCores[i].scale_base, scales.address);
      out_.set(kCores[i].scale_length, works ? scales.bytes : 0);
    }
  }

  static npu::ActivationFunction function_of(const Activation& activation, int slot) {
    switch (activation.built_in) {
      case BuiltIn::kTanh:
        return npu::ActivationFunction::TANH;
      case BuiltIn::kSigmoid:
        return npu::ActivationFunction::SIGMOID;
      case BuiltIn::kNone:
        break;
    }
    if (!activation.table.valid()) return npu::ActivationFunction::RELU;
    return static_cast<npu::ActivationFunction>(static_cast<int>(npu::ActivationFunction::TABLE_0) + slot);
  }

  void activation(const Step& op, int slot) {
    // 8-bit values look up results of 32 bits.
    const bool widens = op.uses_table() && op.ofm.type.bits == 32;
    uint64_t fields = CARINA_FIELD(ACTIVATION, "activation_function").set(0, number(function_of(op.activation, slot)));
    if (widens)
      fields =
          CARINA_FIELD(ACTIVATION, "activation_clip_range").set(fields, number(npu::ActivationClipRange::FORCE_INT8));
    out_.set_fields(Reg::ACTIVATION, fields);
    // The bounds have 16 bits; 32-bit results are not clamped.
    out_.set(Reg::ACTIVATION_MIN, std::max<int64_t>(op.activation.min, -32768));
    out_.set(Reg::ACTIVATION_MAX, op.ofm.type.bits == 32 && !widens ? 32767 : op.activation.max);
  }

  void elementwise_scales(const Step& op) {
    using enum npu::ElementwiseMode;
    if (op.elementwise != ADD && op.elementwise != SUB) return;
    const Scaling& first = long_factor(op.operands);
    const bool alike = op.operands.precise == OperandScaling::Precise::kBothAlike;
    out_.set(Reg::OPA_SCALE, static_cast<uint16_t>(first.shift), first.multiplier);
    out_.set(Reg::OPB_SCALE, 0, alike ? op.operands.second.multiplier : 0);
  }

  void ifm2(const Step& op) {
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

  void blocks(const Step& op, const BlockConfig& block) {
    out_.set(Reg::OFM_BLK_HEIGHT_M1, block.height - 1);
    out_.set(Reg::OFM_BLK_WIDTH_M1, block.width - 1);
    out_.set(Reg::OFM_BLK_DEPTH_M1, block.depth - 1);
    const auto buffers = shram::shared_buffer(op, block, target_);
    CARINA_CHECK(buffers.has_value(), "a block of {}x{}x{} does not fit", block.height, block.width, block.depth);
    out_.set(Reg::IFM_IB_END, buffers->ifm_end);
    out_.set(Reg::AB_START, buffers->acc_start);
    if (op.kind == StepKind::kElementwise) out_.set(Reg::IFM2_IB_START, buffers->ifm2_start);
    out_.set(Reg::ACC_FORMAT, static_cast<int>(op.acc == AccWidth::kWide ? npu::AccFormat::I40 : npu::AccFormat::I32));
  }

  void start(const Step& op) {
    switch (op.kind) {
      case StepKind::kConv:
        return out_.op(npu::Op::CONV);
      case StepKind::kDepthwise:
        return out_.op(npu::Op::DEPTHWISE);
      case StepKind::kPool:
        return out_.op(npu::Op::POOL, static_cast<uint16_t>(op.pool));
      case StepKind::kElementwise:
        return out_.op(npu::Op::ELEMENTWISE, static_cast<uint16_t>(op.elementwise));
      case StepKind::kDma:
      case StepKind::kResize:
        break;
    }
    CARINA_UNREACHABLE("operation", op.kind);
  }
};

#undef CARINA_FIELD

}  // namespace

std::unique_ptr<Emitter> shram::emitter(const Schedule& schedule, const Target& target) {
  return std::make_unique<ShramEmitter>(schedule, target);
}

}  // namespace carina::plan
