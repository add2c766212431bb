#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "plan/family/map_emitter_internal.h"
#include "plan/family/u85_internal.h"
#include "plan/network/transposed_map.h"

// Writes the registers and commands of steps for ethos-u85: chained operands, broadcast modes, an OFM transpose, four
// weight streams, and scalings of any operand. The registers that equal those of the other NPUs are MapEmitter's.
namespace carina::plan {
namespace {

using npu::Reg;

#define CARINA_FIELD(reg, name) npu::field_of(Reg::reg, name, npu::Product::kU85)

uint64_t number(auto value) {
  return static_cast<uint64_t>(value);
}

npu::ActivationPrecision precision_of(ElementType type) {
  switch (type.bits) {
    case 8:
      return npu::ActivationPrecision::B8;
    case 16:
      return npu::ActivationPrecision::B16;
    case 32:
      return npu::ActivationPrecision::B32;
    case 64:
      return npu::ActivationPrecision::B64;
    default:
      CARINA_UNREACHABLE("element bits", type.bits);
  }
}

npu::RoundModeOfm round_mode_of(const Step& op) {
  // The index is above the bits of the comparison.
  if (u85::op_class(op) == npu::U85OpClass::kArgmax) return npu::RoundModeOfm::TRUNCATE_TO_LOWER;
  if (op.kind == StepKind::kResize && op.resize.rounds_away) return npu::RoundModeOfm::SYMMETRIC;
  switch (op.scaling.rounding) {
    case Rounding::kSingle:
      return npu::RoundModeOfm::NATURAL;
    case Rounding::kDouble:
      return npu::RoundModeOfm::DOUBLE_SYMMETRIC;
  }
  CARINA_UNREACHABLE("rounding", op.scaling.rounding);
}

npu::BroadcastMode broadcast_mode(const Broadcast& b) {
  return static_cast<npu::BroadcastMode>(int{b.height} + 2 * int{b.width} + 4 * int{b.depth});
}

npu::ActivationFunction table_function(const Step& op) {
  if (op.activation.built_in == BuiltIn::kTanh) return npu::ActivationFunction::LUT_TANH;
  if (op.activation.built_in == BuiltIn::kSigmoid) return npu::ActivationFunction::LUT_SIGMOID;
  if (op.ofm.type.bits == 32 && op.activation.max <= kSigned8.max()) return npu::ActivationFunction::LUT_S8_S32;
  if (op.ofm.type.bits == 8) return npu::ActivationFunction::LUT_S8_S8;
  return op.ofm.type.bits == 16 ? npu::ActivationFunction::LUT_S16_S16 : npu::ActivationFunction::LUT_S16_S32;
}

// One operand of an elementwise operation, in the order of the operation.
struct Operand {
  const FeatureMap* map;
  const Scaling* scaling;
  Broadcast broadcast;
  bool is_scalar;
};

// The names of an operand's registers.
struct OperandRegisters {
  const MapRegisters& map;
  Reg precision, broadcast, scale;
};
constexpr OperandRegisters kFirst{kIfm, Reg::IFM_PRECISION, Reg::IFM_BROADCAST, Reg::IFM_SCALE};
constexpr OperandRegisters kSecond{kIfm2, Reg::IFM2_PRECISION, Reg::IFM2_BROADCAST, Reg::IFM2_SCALE};

struct StreamRegisters {
  Reg base, length;
};
constexpr std::array kStreams{
    StreamRegisters{Reg::WEIGHT_BASE, Reg::WEIGHT_LENGTH}, StreamRegisters{Reg::WEIGHT1_BASE, Reg::WEIGHT1_LENGTH},
    StreamRegisters{Reg::WEIGHT2_BASE, Reg::WEIGHT2_LENGTH}, StreamRegisters{Reg::WEIGHT3_BASE, Reg::WEIGHT3_LENGTH}};

class U85Emitter final : public MapEmitter {
 public:
  U85Emitter(const Schedule& schedule, const Target& target) : MapEmitter(schedule, target, *kU85.spaces(target)) {}

  void compute(const Stripe& stripe, int table_slot, int blockdep) override {
    std::optional<Step> part;
    const Step& subop = subop_in(schedule_, stripe, part);
    out_.set(Reg::BLOCKDEP, blockdep);
    if (subop.kind == StepKind::kElementwise) {
      operands(subop);
    } else {
      window_operands(subop);
    }
    ofm(subop);
    kernel(subop, stripe.block);
    if (stripe.slice.valid()) weights(subop, stripe.block, schedule_[stripe.slice]);
    activation(subop, table_slot);
    ofm_scale(subop);
    blocks(subop, stripe.block);
    if (subop.kind == StepKind::kResize) resize(subop, stripe.block);
    start(subop);
  }

  void transfer(const Transfer& transfer) override {
    uint64_t source = CARINA_FIELD(DMA0_SRC_REGION, "region").set(0, number(region_of(transfer.from)));
    uint64_t destination = 0;
    if (transfer.to == Space::kTables) {
      // Internal memory has no region of its own. Vela writes this number, and so does Carina.
      constexpr uint64_t kInternalRegion = 3;
      destination = CARINA_FIELD(DMA0_DST_REGION, "region").set(0, kInternalRegion);
      destination = CARINA_FIELD(DMA0_DST_REGION, "region_mode").set(destination, number(npu::DmaRegionMode::INTERNAL));
    } else {
      destination = CARINA_FIELD(DMA0_DST_REGION, "region").set(0, number(region_of(transfer.to)));
    }
    if (transfer.indexed != Indexed::kNo) index(transfer, source, destination);
    out_.set_fields(Reg::DMA0_SRC_REGION, source);
    out_.set(Reg::DMA0_SRC, transfer.source);
    out_.set_fields(Reg::DMA0_DST_REGION, destination);
    out_.set(Reg::DMA0_DST, transfer.destination);
    out_.set(Reg::DMA0_LEN, transfer.bytes);
    out_.op(npu::Op::DMA_START);
  }

 private:
  // Sets up an indexed transfer: contiguous rows on one side, indexed rows on the other.
  void index(const Transfer& transfer, uint64_t& source, uint64_t& destination) {
    source = CARINA_FIELD(DMA0_SRC_REGION, "stride_mode").set(source, number(npu::DmaStrideMode::D2));
    if (transfer.indexed == Indexed::kGather) {
      source = CARINA_FIELD(DMA0_SRC_REGION, "idx_mode").set(source, number(npu::DmaIdxMode::ENABLED));
    } else {
      destination = CARINA_FIELD(DMA0_DST_REGION, "idx_mode").set(destination, number(npu::DmaIdxMode::ENABLED));
    }
    out_.set(Reg::DMA0_SIZE0, transfer.rows);
    out_.set(Reg::DMA0_SRC_STRIDE0, transfer.bytes);
    out_.set(Reg::DMA0_DST_STRIDE0, transfer.bytes);
    out_.set(Reg::DMA0_IDX_REGION, region_of(transfer.index_space));
    out_.set(Reg::DMA0_IDX, transfer.index);
    out_.set(Reg::DMA0_IDX_MAX, transfer.places - 1);
  }

  // IFM and IFM2 have their fields at the same bits.
  [[nodiscard]] static uint64_t operand_precision(ElementType type, npu::ActivationFormat format,
                                                  npu::ActivationStorage storage) {
    uint64_t precision = CARINA_FIELD(IFM_PRECISION, "activation_type").set(0, number(type.is_signed));
    precision = CARINA_FIELD(IFM_PRECISION, "activation_precision").set(precision, number(precision_of(type)));
    precision = CARINA_FIELD(IFM_PRECISION, "activation_format").set(precision, number(format));
    return CARINA_FIELD(IFM_PRECISION, "activation_storage").set(precision, number(storage));
  }

  [[nodiscard]] npu::ActivationStorage storage_of(const FeatureMap& map) const {
    return schedule_.space_of(map.tensor) == Space::kChaining ? npu::ActivationStorage::CHAINED
                                                              : npu::ActivationStorage::TILE2X2;
  }

  // The address of a map: in memory, or the number of a chaining buffer.
  void place(const FeatureMap& at, const MapRegisters& r) {
    if (storage_of(at) == npu::ActivationStorage::TILE2X2) return map(at, r);
    out_.set(r.region, schedule_.address_of(at.tensor) / kChainingSlotBytes);
    out_.set(r.zero_point, at.zero_point);
  }

  void stored_operand(const FeatureMap& from, const OperandRegisters& r) {
    place(from, r.map);
    out_.set_fields(r.precision, operand_precision(from.type, format_of(from), storage_of(from)));
  }

  void scale(Reg reg, const Scaling& scaling) {
    uint64_t fields = CARINA_FIELD(IFM_SCALE, "shift").set(0, number(scaling.shift));
    const auto mode =
        scaling.rounding == Rounding::kSingle ? npu::RoundModeIfm::NATURAL : npu::RoundModeIfm::DOUBLE_SYMMETRIC;
    fields = CARINA_FIELD(IFM_SCALE, "dbl_rnd").set(fields, number(scaling.first_shift));
    fields = CARINA_FIELD(IFM_SCALE, "round_mode").set(fields, number(mode));
    out_.set_fields(reg, CARINA_FIELD(IFM_SCALE, "scale").set(fields, scaling.multiplier));
  }

  void operand(const Operand& operand, const OperandRegisters& r, int64_t scalar) {
    if (operand.is_scalar) {
      out_.set(r.map.zero_point, operand.map->zero_point);
      out_.set_fields(r.precision,
                      operand_precision(operand.map->type, npu::ActivationFormat::NHWC, npu::ActivationStorage::NONE));
      out_.set(Reg::OP_SCALAR, scalar);
    } else {
      stored_operand(*operand.map, r);
    }
    out_.set(r.broadcast, number(operand.is_scalar ? npu::BroadcastMode::SCALAR : broadcast_mode(operand.broadcast)));
    scale(r.scale, *operand.scaling);
  }

  void operands(const Step& op) {
    Operand first{.map = &op.ifm, .scaling = &op.operands.first, .broadcast = op.first_broadcast, .is_scalar = false};
    Operand second{.map = &op.ifm2,
                   .scaling = &op.operands.second,
                   .broadcast = op.broadcast,
                   .is_scalar = op.second == SecondOperand::kScalar};
    if (op.swapped) {  // the scales are in the order of the operation
      std::swap(first, second);
      std::swap(first.scaling, second.scaling);
    }
    operand(first, kFirst, op.scalar);
    if (op.second != SecondOperand::kNone) operand(second, kSecond, op.scalar);
    out_.set(Reg::IFM_DEPTH_M1, op.ofm.depth - 1);
    no_padding();
  }

  void no_padding() {
    out_.set(Reg::IFM_UPSCALE, 0);
    for (const Reg reg : {Reg::IFM_PAD_TOP, Reg::IFM_PAD_LEFT, Reg::IFM_PAD_BOTTOM, Reg::IFM_PAD_RIGHT})
      out_.set(reg, 0);
  }

  void window_operands(const Step& op) {
    out_.set(Reg::IFM_BROADCAST, number(npu::BroadcastMode::NONE));
    out_.set(Reg::IFM_DEPTH_M1, op.ifm.depth - 1);
    out_.set(Reg::IFM_UPSCALE, 0);
    out_.set(Reg::IFM_PAD_TOP, op.padding.top);
    out_.set(Reg::IFM_PAD_LEFT, op.padding.left);
    out_.set(Reg::IFM_PAD_BOTTOM, op.padding.bottom);
    out_.set(Reg::IFM_PAD_RIGHT, op.padding.right);
    if (op.kind == StepKind::kPool && op.pool == npu::PoolingMode::NONE) return accumulators_as_they_are(op);
    stored_operand(op.ifm, kFirst);
    if (!op.reads_second_map()) return;
    stored_operand(op.ifm2, kSecond);
    out_.set(Reg::IFM2_BROADCAST, number(npu::BroadcastMode::NONE));
  }

  // The accumulators start with the operand, and nothing is added to them. The IFM is a dummy that is not used.
  void accumulators_as_they_are(const Step& op) {
    FeatureMap unread = op.ifm;
    unread.zero_point = 0;
    map(unread, kIfm);
    out_.set_fields(Reg::IFM_PRECISION,
                    operand_precision(kSigned8, format_of(op.ifm), npu::ActivationStorage::TILE2X2));
    stored_operand(op.ifm, kSecond);
    out_.set(Reg::IFM2_BROADCAST, number(npu::BroadcastMode::NONE));
  }

  void ofm(const Step& op) {
    out_.set(Reg::OFM_HEIGHT_M1, op.ofm.height - 1);
    out_.set(Reg::OFM_WIDTH_M1, op.ofm.width - 1);
    const TransposedMap transposed = transposed_map(op.ofm);
    place(transposed.stored, kOfm);
    out_.set(Reg::OFM_DEPTH_M1, op.ofm.depth - 1);
    uint64_t precision = CARINA_FIELD(OFM_PRECISION, "activation_type").set(0, number(op.ofm.type.is_signed));
    precision = CARINA_FIELD(OFM_PRECISION, "activation_precision").set(precision, number(precision_of(op.ofm.type)));
    precision = CARINA_FIELD(OFM_PRECISION, "activation_format").set(precision, number(format_of(op.ofm)));
    precision = CARINA_FIELD(OFM_PRECISION, "activation_transpose").set(precision, number(transposed.transpose));
    precision = CARINA_FIELD(OFM_PRECISION, "activation_storage").set(precision, number(storage_of(op.ofm)));
    const auto mode = op.per_channel ? npu::OfmScaleMode::PER_CHANNEL : npu::OfmScaleMode::GLOBAL;
    precision = CARINA_FIELD(OFM_PRECISION, "scale_mode").set(precision, number(mode));
    out_.set_fields(Reg::OFM_PRECISION, precision);
  }

  // A resize gives the size of its input here.
  void kernel(const Step& op, const BlockConfig& block) {
    const Kernel& k = op.kernel;
    const bool resizes = op.kind == StepKind::kResize;
    out_.set(Reg::KERNEL_HEIGHT_M1, (resizes ? op.ifm.height : k.extent_h()) - 1);
    out_.set(Reg::KERNEL_WIDTH_M1, (resizes ? op.ifm.width : k.extent_w()) - 1);
    uint64_t stride = CARINA_FIELD(KERNEL_STRIDE, "stride_x_lsb").set(0, number((k.stride_x - 1) & 1));
    stride = CARINA_FIELD(KERNEL_STRIDE, "stride_y_lsb").set(stride, number((k.stride_y - 1) & 1));
    stride = CARINA_FIELD(KERNEL_STRIDE, "stride_x_msb").set(stride, number((k.stride_x - 1) >> 1));
    stride = CARINA_FIELD(KERNEL_STRIDE, "stride_y_msb").set(stride, number((k.stride_y - 1) >> 1));
    stride = CARINA_FIELD(KERNEL_STRIDE, "weight_order").set(stride, number(block.order));
    stride = CARINA_FIELD(KERNEL_STRIDE, "dilation_x").set(stride, number(k.dilation_x - 1));
    stride = CARINA_FIELD(KERNEL_STRIDE, "dilation_y").set(stride, number(k.dilation_y - 1));
    out_.set_fields(Reg::KERNEL_STRIDE, stride);
  }

  void weights(const Step& op, const BlockConfig& block, const WeightSlice& slice) {
    if (op.is_convolution() && !op.multiplies_second) {
      const uint64_t format = CARINA_FIELD(WEIGHT_FORMAT, "weight_format").set(0, number(block.format));
      out_.set_fields(Reg::WEIGHT_FORMAT,
                      CARINA_FIELD(WEIGHT_FORMAT, "weight_sparsity").set(format, number(block.sparsity)));
      out_.set(Reg::WEIGHT_REGION, region_of(weights_of(schedule_, slice, 0).space));
      for (size_t i = 0; i < slice.cores.size(); ++i) {
        const StreamRange stream = weights_of(schedule_, slice, i);
        out_.set(kStreams[i].base, stream.address);
        out_.set(kStreams[i].length, stream.bytes);
      }
    }
    const StreamRange scales = scales_of(schedule_, slice, 0);
    out_.set(Reg::SCALE_REGION, region_of(scales.space));
    out_.set(Reg::SCALE_BASE, scales.address);
    out_.set(Reg::SCALE_LENGTH, scales.bytes);
  }

  void activation(const Step& op, int slot) {
    uint64_t fields = 0;
    if (op.uses_table()) {
      fields = CARINA_FIELD(ACTIVATION, "activation_function").set(fields, number(table_function(op)));
      fields = CARINA_FIELD(ACTIVATION, "table").set(fields, number(slot));
    }
    const bool clamps = !op.activation.wraps && (op.ofm.type.bits <= 16 || op.uses_table());
    const auto clip = clamps ? npu::ActivationClipRange::B16 : npu::ActivationClipRange::NONE;
    fields = CARINA_FIELD(ACTIVATION, "activation_clip_range").set(fields, number(clip));
    out_.set_fields(Reg::ACTIVATION, fields);
    if (!clamps) return;
    out_.set(Reg::ACTIVATION_MIN, std::max<int64_t>(op.activation.min, -32768));
    out_.set(Reg::ACTIVATION_MAX, std::min<int64_t>(op.activation.max, op.ofm.type.is_signed ? 32767 : 65535));
  }

  // If channels have scales of their own, only the rounding of this register is used.
  void ofm_scale(const Step& op) {
    const npu::U85OpClass kind = u85::op_class(op);
    constexpr int kIndexBits = 16;  // below ARGMAX's index and below RESIZE's sums
    Scaling scaling = op.per_channel ? Scaling{} : op.scaling;
    if (kind == npu::U85OpClass::kArgmax || kind == npu::U85OpClass::kResize) scaling.shift += kIndexBits;
    uint64_t fields = CARINA_FIELD(OFM_SCALE, "shift").set(0, number(scaling.shift));
    fields = CARINA_FIELD(OFM_SCALE, "round_mode").set(fields, number(round_mode_of(op)));
    out_.set_fields(Reg::OFM_SCALE, CARINA_FIELD(OFM_SCALE, "scale").set(fields, scaling.multiplier));
  }

  void blocks(const Step& op, const BlockConfig& block) {
    out_.set(Reg::OFM_BLK_HEIGHT_M1, block.height - 1);
    out_.set(Reg::OFM_BLK_WIDTH_M1, block.width - 1);
    out_.set(Reg::OFM_BLK_DEPTH_M1, block.depth - 1);
    const auto format = op.acc == AccWidth::kWide ? npu::AccFormat::I48 : npu::AccFormat::I32;
    uint64_t fields = CARINA_FIELD(ACC_FORMAT, "acc_format").set(0, number(format));
    const bool null_pool = op.kind == StepKind::kPool && op.pool == npu::PoolingMode::NONE;
    const bool starts_with_second =
        null_pool || (op.kind != StepKind::kElementwise && op.reads_second_map() && !op.multiplies_second);
    const auto input = starts_with_second ? npu::AccInput::IFM2 : npu::AccInput::RESET;
    fields = CARINA_FIELD(ACC_FORMAT, "acc_input").set(fields, number(input));
    out_.set_fields(Reg::ACC_FORMAT, CARINA_FIELD(ACC_FORMAT, "microblock").set(fields, number(block.ublock)));
  }

  struct AxisRegisters {
    Reg scale, offset, step;
  };
  void resize_axis(const ResizeAxis& axis, int64_t block_size, const AxisRegisters& r) {
    out_.set(r.scale, axis.scale - 1);
    out_.set(r.offset, axis.offset);
    const int64_t whole = (block_size - 1) * axis.step;
    uint64_t step = CARINA_FIELD(RESIZE_X, "one_step_int").set(0, number(axis.step / axis.scale));
    step = CARINA_FIELD(RESIZE_X, "one_step_mod").set(step, number(axis.step % axis.scale));
    step = CARINA_FIELD(RESIZE_X, "blk_step_int").set(step, number(whole / axis.scale));
    out_.set_fields(r.step, CARINA_FIELD(RESIZE_X, "blk_step_mod").set(step, number(whole % axis.scale)));
  }
  void resize(const Step& op, const BlockConfig& block) {
    resize_axis(op.resize.x, block.width, {Reg::RESIZE_X_SCALE_N_M1, Reg::RESIZE_X_OFFSET, Reg::RESIZE_X});
    resize_axis(op.resize.y, block.height, {Reg::RESIZE_Y_SCALE_N_M1, Reg::RESIZE_Y_OFFSET, Reg::RESIZE_Y});
  }

  void start(const Step& op) {
    switch (op.kind) {
      case StepKind::kConv:
        return out_.op(npu::Op::CONV, op.multiplies_second ? 1 : 0);
      case StepKind::kDepthwise:
        return out_.op(npu::Op::DEPTHWISE);
      case StepKind::kPool:
        return out_.op(npu::Op::POOL, static_cast<uint16_t>(u85::pooling_mode(op)));
      case StepKind::kElementwise:
        return out_.op(npu::Op::ELEMENTWISE, static_cast<uint16_t>(op.elementwise));
      case StepKind::kResize:
        return out_.op(npu::Op::RESIZE, static_cast<uint16_t>(op.resize.mode));
      case StepKind::kDma:
        break;
    }
    CARINA_UNREACHABLE("operation", op.kind);
  }
};

#undef CARINA_FIELD

}  // namespace

// AVERAGE always divides by the number of elements in the window on this family. With a scale of its own, the pool is a
// sum.
npu::PoolingMode u85::pooling_mode(const Step& op) {
  const bool divides = op.kernel.taps() > 1 && op.scaling.is_unit() && !op.per_channel;
  return op.pool == npu::PoolingMode::AVERAGE && !divides ? npu::PoolingMode::SUM : op.pool;
}

std::unique_ptr<Emitter> u85::emitter(const Schedule& schedule, const Target& target) {
  return std::make_unique<U85Emitter>(schedule, target);
}

}  // namespace carina::plan
