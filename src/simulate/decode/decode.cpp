#include "simulate/decode/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "carina/check.h"
#include "simulate/decode/decode_parts_internal.h"
#include "simulate/decode/decode_tables_internal.h"

namespace carina::simulate {

using npu::Op;

namespace {

int32_t zero_point_of(uint32_t field, const ElementType& type) {
  return type.is_signed ? static_cast<int16_t>(field) : static_cast<int32_t>(field);
}

// The address registers of a feature map. IFM, IFM2 and OFM have the same ones with different numbers.
struct AddressRegisters {
  std::array<Reg, 4> base;
  Reg stride_y, stride_x, stride_c, width0, height0, height1;
};

FeatureMap map_of(const npu::RegisterFile& r, const AddressRegisters& regs) {
  FeatureMap map;
  for (size_t i = 0; i < 4; ++i) map.base[i] = base_at(r, regs.base[i]);
  map.stride_y = r.address(regs.stride_y);
  map.stride_x = r.address(regs.stride_x);
  map.stride_c = r.address(regs.stride_c);
  const auto size = [&](Reg reg) { return static_cast<int32_t>(r.data(reg) & 0xFFFF) + 1; };
  map.width0 = size(regs.width0);
  map.height0 = size(regs.height0);
  map.height1 = size(regs.height1);
  return map;
}

ElementType element_type(uint32_t is_signed, uint32_t precision) {
  return {.bytes = static_cast<uint8_t>(1u << precision), .is_signed = is_signed != 0};
}

FeatureMap ifm_of(const npu::RegisterFile& r) {
  FeatureMap map = map_of(r, {.base = {Reg::IFM_BASE0, Reg::IFM_BASE1, Reg::IFM_BASE2, Reg::IFM_BASE3},
                              .stride_y = Reg::IFM_STRIDE_Y,
                              .stride_x = Reg::IFM_STRIDE_X,
                              .stride_c = Reg::IFM_STRIDE_C,
                              .width0 = Reg::IFM_WIDTH0_M1,
                              .height0 = Reg::IFM_HEIGHT0_M1,
                              .height1 = Reg::IFM_HEIGHT1_M1});
  map.region = static_cast<uint8_t>(FIELD(IFM_REGION, "region"));
  map.type = element_type(FIELD(IFM_PRECISION, "activation_type"), FIELD(IFM_PRECISION, "activation_precision"));
  map.format = static_cast<Format>(FIELD(IFM_PRECISION, "activation_format") & 1);
  if (npu::is_u85(r.product())) map.storage = static_cast<Storage>(FIELD_U85(IFM_PRECISION, "activation_storage"));
  map.zero_point = zero_point_of(FIELD(IFM_ZERO_POINT, "zero_point"), map.type);
  return map;
}

FeatureMap ifm2_of(const npu::RegisterFile& r) {
  FeatureMap map = map_of(r, {.base = {Reg::IFM2_BASE0, Reg::IFM2_BASE1, Reg::IFM2_BASE2, Reg::IFM2_BASE3},
                              .stride_y = Reg::IFM2_STRIDE_Y,
                              .stride_x = Reg::IFM2_STRIDE_X,
                              .stride_c = Reg::IFM2_STRIDE_C,
                              .width0 = Reg::IFM2_WIDTH0_M1,
                              .height0 = Reg::IFM2_HEIGHT0_M1,
                              .height1 = Reg::IFM2_HEIGHT1_M1});
  map.region = static_cast<uint8_t>(FIELD(IFM2_REGION, "region"));
  map.type = element_type(FIELD(IFM2_PRECISION, "activation_type"), FIELD(IFM2_PRECISION, "activation_precision"));
  map.format = static_cast<Format>(FIELD(IFM2_PRECISION, "activation_format") & 1);
  if (npu::is_u85(r.product())) map.storage = static_cast<Storage>(FIELD_U85(IFM2_PRECISION, "activation_storage"));
  map.zero_point = zero_point_of(FIELD(IFM2_ZERO_POINT, "zero_point"), map.type);
  return map;
}

FeatureMap ofm_of(const npu::RegisterFile& r) {
  FeatureMap map = map_of(r, {.base = {Reg::OFM_BASE0, Reg::OFM_BASE1, Reg::OFM_BASE2, Reg::OFM_BASE3},
                              .stride_y = Reg::OFM_STRIDE_Y,
                              .stride_x = Reg::OFM_STRIDE_X,
                              .stride_c = Reg::OFM_STRIDE_C,
                              .width0 = Reg::OFM_WIDTH0_M1,
                              .height0 = Reg::OFM_HEIGHT0_M1,
                              .height1 = Reg::OFM_HEIGHT1_M1});
  map.region = static_cast<uint8_t>(FIELD(OFM_REGION, "region"));
  map.type = element_type(FIELD(OFM_PRECISION, "activation_type"), FIELD(OFM_PRECISION, "activation_precision"));
  map.format = static_cast<Format>(FIELD(OFM_PRECISION, "activation_format") & 1);
  if (npu::is_u85(r.product())) map.storage = static_cast<Storage>(FIELD_U85(OFM_PRECISION, "activation_storage"));
  map.zero_point = zero_point_of(FIELD(OFM_ZERO_POINT, "zero_point"), map.type);
  return map;
}

Broadcast broadcast_of_mode(uint32_t mode) {
  return {.h = (mode & 1) != 0, .w = (mode & 2) != 0, .c = (mode & 4) != 0, .scalar = (mode & 8) != 0};
}

void decode_operands(const npu::RegisterFile& r, Operation& op) {
  op.ifm = ifm_of(r);
  op.ifm2 = ifm2_of(r);
  op.ofm = ofm_of(r);
  op.ifm_depth = static_cast<int32_t>(FIELD(IFM_DEPTH_M1, "depth_m1")) + 1;
  op.ofm_extent = {.height = static_cast<int32_t>(FIELD(OFM_HEIGHT_M1, "height_m1")) + 1,
                   .width = static_cast<int32_t>(FIELD(OFM_WIDTH_M1, "width_m1")) + 1,
                   .depth = static_cast<int32_t>(FIELD(OFM_DEPTH_M1, "depth_m1")) + 1};
  op.block = {.height = static_cast<int32_t>(FIELD(OFM_BLK_HEIGHT_M1, "height_m1")) + 1,
              .width = static_cast<int32_t>(FIELD(OFM_BLK_WIDTH_M1, "width_m1")) + 1,
              .depth = static_cast<int32_t>(FIELD(OFM_BLK_DEPTH_M1, "depth_m1")) + 1};
  op.padding = {.top = static_cast<int32_t>(FIELD(IFM_PAD_TOP, "pad")),
                .left = static_cast<int32_t>(FIELD(IFM_PAD_LEFT, "pad")),
                .right = static_cast<int32_t>(FIELD(IFM_PAD_RIGHT, "pad")),
                .bottom = static_cast<int32_t>(FIELD(IFM_PAD_BOTTOM, "pad"))};
  op.blockdep = static_cast<int>(FIELD(BLOCKDEP, "blockdep"));
  if (npu::is_u85(r.product())) {
    op.ifm_broadcast = broadcast_of_mode(FIELD_U85(IFM_BROADCAST, "broadcast_mode"));
    op.ifm2_broadcast = broadcast_of_mode(FIELD_U85(IFM2_BROADCAST, "broadcast_mode"));
    op.scalar = static_cast<int32_t>(FIELD_U85(OP_SCALAR, "scalar"));
    return;
  }
  op.ifm2_broadcast = {.h = FIELD_U55(IFM2_BROADCAST, "broadcast_h") != 0,
                       .w = FIELD_U55(IFM2_BROADCAST, "broadcast_w") != 0,
                       .c = FIELD_U55(IFM2_BROADCAST, "broadcast_c") != 0,
                       .scalar = FIELD_U55(IFM2_BROADCAST, "broadcast_constant") != 0};
  op.swap_operands = FIELD_U55(IFM2_BROADCAST, "operand_order") != 0;
  const uint32_t scalar = FIELD_U55(IFM2_SCALAR, "scalar");
  op.scalar = op.ifm2.type.is_signed ? static_cast<int16_t>(scalar) : static_cast<int64_t>(scalar);
}

Result<void> decode_kernel(const npu::RegisterFile& r, Operation& op) {
  CARINA_TRY(const auto upscale, VALUE_U55(IfmUpscaleMode, IFM_UPSCALE, "mode"));
  op.upscale = ours(kUpscales, upscale);
  Kernel& k = op.kernel;
  k.stride_x =
      static_cast<int32_t>(FIELD(KERNEL_STRIDE, "stride_x_lsb") + 2 * FIELD(KERNEL_STRIDE, "stride_x_msb")) + 1;
  k.stride_y =
      static_cast<int32_t>(FIELD(KERNEL_STRIDE, "stride_y_lsb") + 2 * FIELD(KERNEL_STRIDE, "stride_y_msb")) + 1;
  k.dilation_x = static_cast<int32_t>(FIELD(KERNEL_STRIDE, "dilation_x")) + 1;
  k.dilation_y = static_cast<int32_t>(FIELD(KERNEL_STRIDE, "dilation_y")) + 1;
  const auto width_m1 = static_cast<int32_t>(FIELD(KERNEL_WIDTH_M1, "width_m1"));
  const auto height_m1 = static_cast<int32_t>(FIELD(KERNEL_HEIGHT_M1, "height_m1"));
  k.width = width_m1 / k.dilation_x + 1;
  k.height = height_m1 / k.dilation_y + 1;
  k.extent_w = width_m1 + 1;
  k.extent_h = height_m1 + 1;
  op.traversal = static_cast<Traversal>(FIELD(KERNEL_STRIDE, "weight_order"));
  op.sub_kernel = FIELD(KERNEL_STRIDE, "decomposition") != 0 ? 4 : 8;
  return {};
}

Result<void> decode_accumulator(const npu::RegisterFile& r, const CoreShape& core, Operation& op) {
  const bool u85 = npu::is_u85(r.product());
  CARINA_TRY(const auto format,
             u85 ? VALUE_U85(AccFormat, ACC_FORMAT, "acc_format") : VALUE_U55(AccFormat, ACC_FORMAT, "acc_format"));
  if (format == npu::AccFormat::F16)
    return fail(bad_value("ACC_FORMAT", "acc_format", static_cast<uint64_t>(format), "accumulators of integers"));
  op.acc_bits = format == npu::AccFormat::I32 ? 32 : u85 ? 48 : 40;
  if (!u85) {
    op.ifm_bank_end = static_cast<int>(FIELD_U55(IFM_IB_END, "ib_end"));
    op.ifm2_bank_start = static_cast<int>(FIELD_U55(IFM2_IB_START, "ib_start"));
    op.acc_bank_start = static_cast<int>(FIELD_U55(AB_START, "ab_start"));
    return {};
  }
  CARINA_TRY(const auto input, VALUE_U85(AccInput, ACC_FORMAT, "acc_input"));
  op.acc_input = ours(kAccInputs, input);
  op.acc_output = FIELD_U85(ACC_FORMAT, "acc_output") == static_cast<uint32_t>(npu::AccOutput::ENABLE)
                      ? AccOutput::kWrite
                      : AccOutput::kKeep;
  CARINA_TRY(const auto microblock, VALUE_U85(Microblock, ACC_FORMAT, "microblock"));
  const MicroblockSize size = ours(kMicroblocks, microblock);
  op.microblock = static_cast<uint8_t>(microblock);
  op.microblock_height = size.height;
  op.microblock_width = size.width;
  // The MAC array's positions times its depth is the same for each microblock of a configuration: 16 for 128 MACs.
  op.microblock_depth = std::max(1, core.macs / 8 / (op.microblock_height * op.microblock_width));
  return {};
}

void decode_weights(const npu::RegisterFile& r, const CoreShape& core, Operation& op) {
  const auto stream = [&](Reg base, Reg length) {
    return Stream{.base = base_at(r, base), .bytes = r.payload(length)};
  };
  const auto scales = [&](Reg base, Reg length) {
    constexpr npu::FieldRow kLength = npu::field_of(Reg::SCALE_LENGTH, "length", Product::kU55);
    return Stream{.base = base_at(r, base), .bytes = kLength.get(r.data(length))};
  };
  op.weight_region = static_cast<uint8_t>(FIELD(WEIGHT_REGION, "region"));
  op.scale_region = static_cast<uint8_t>(FIELD(SCALE_REGION, "region"));
  op.weights[0] = stream(Reg::WEIGHT_BASE, Reg::WEIGHT_LENGTH);
  op.scales[0] = scales(Reg::SCALE_BASE, Reg::SCALE_LENGTH);
  if (r.product() == Product::kU65) {
    op.cores = core.cores == 2 && FIELD_U65(PARALLEL_MODE, "parallel_mode") != 0 ? 2 : 1;
    op.weight_streams = op.cores;
    op.weights[1] = stream(Reg::WEIGHT1_BASE, Reg::WEIGHT1_LENGTH);
    op.scales[1] = scales(Reg::SCALE1_BASE, Reg::SCALE1_LENGTH);
  }
  if (npu::is_u85(r.product())) {
    op.weight_streams = core.weight_decoders;
    op.weights[1] = stream(Reg::WEIGHT1_BASE, Reg::WEIGHT1_LENGTH);
    op.weights[2] = stream(Reg::WEIGHT2_BASE, Reg::WEIGHT2_LENGTH);
    op.weights[3] = stream(Reg::WEIGHT3_BASE, Reg::WEIGHT3_LENGTH);
    // Other operations read no weights, whatever format a convolution before them has left in the register.
    const bool reads_weights = op.kind == OperationKind::kConvolution || op.kind == OperationKind::kDepthwise;
    op.fast_weights = reads_weights && FIELD_U85(WEIGHT_FORMAT, "weight_format") != 0;
    op.sparse_weights = reads_weights && FIELD_U85(WEIGHT_FORMAT, "weight_sparsity") != 0;
    if (op.fast_weights) op.weight_streams = 1;
  }
}

int32_t sign_extend_12(uint32_t value) {
  return static_cast<int32_t>(value << 20) >> 20;
}

void decode_resize(const npu::RegisterFile& r, Operation& op) {
  const auto step = [](uint32_t n_m1, uint32_t one_int, uint32_t one_mod, uint32_t offset) {
    const auto n = static_cast<int32_t>(n_m1) + 1;
    return ResizeStep{.numerator = n,
                      .denominator = static_cast<int32_t>(one_int) * n + static_cast<int32_t>(one_mod),
                      .offset = sign_extend_12(offset)};
  };
  op.resize_x = step(FIELD_U85(RESIZE_X_SCALE_N_M1, "resize_x_scale_n_m1"), FIELD_U85(RESIZE_X, "one_step_int"),
                     FIELD_U85(RESIZE_X, "one_step_mod"), FIELD_U85(RESIZE_X_OFFSET, "resize_x_offset"));
  op.resize_y = step(FIELD_U85(RESIZE_Y_SCALE_N_M1, "resize_y_scale_n_m1"), FIELD_U85(RESIZE_Y, "one_step_int"),
                     FIELD_U85(RESIZE_Y, "one_step_mod"), FIELD_U85(RESIZE_Y_OFFSET, "resize_y_offset"));
}

Result<void> decode_kind(Op op_code, uint64_t data, const npu::RegisterFile& r, Operation& op) {
  switch (op_code) {
    case Op::CONV:
      op.kind = OperationKind::kConvolution;
      op.name = "CONV";
      if (npu::is_u85(r.product()) && npu::field_of(Op::CONV, "weights_ifm2", Product::kU85).get(data) != 0)
        op.weight_source = WeightSource::kIfm2;
      return {};
    case Op::DEPTHWISE:
      op.kind = OperationKind::kDepthwise;
      op.name = "DEPTHWISE";
      return {};
    case Op::POOL: {
      constexpr npu::FieldRow kField = npu::field_of(Op::POOL, "pooling_mode", Product::kU55);
      CARINA_TRY(const auto mode, value_of<npu::PoolingMode>(kField, "NPU_OP_POOL", data, r.product()));
      op.kind = OperationKind::kPool;
      op.pool = ours(kPoolModes, mode);
      op.name = fmt::format("POOL {}", npu::value_name(kField, kField.get(data), r.product()));
      return {};
    }
    case Op::ELEMENTWISE: {
      constexpr npu::FieldRow kField = npu::field_of(Op::ELEMENTWISE, "elementwise_mode", Product::kU55);
      CARINA_TRY(const auto mode, value_of<npu::ElementwiseMode>(kField, "NPU_OP_ELEMENTWISE", data, r.product()));
      op.kind = OperationKind::kElementwise;
      op.elementwise = ours(kElementwiseModes, mode);
      op.name = fmt::format("ELEMENTWISE {}", npu::value_name(kField, kField.get(data), r.product()));
      return {};
    }
    case Op::RESIZE: {
      constexpr npu::FieldRow kField = npu::field_of(Op::RESIZE, "resize_mode", Product::kU85);
      CARINA_TRY(const auto mode, value_of<npu::ResizeMode>(kField, "NPU_OP_RESIZE", data, r.product()));
      op.kind = OperationKind::kResize;
      op.resize = ours(kResizeModes, mode);
      op.name = fmt::format("RESIZE {}", npu::value_name(kField, kField.get(data), r.product()));
      return {};
    }
    default:
      CARINA_UNREACHABLE("operation", op_code);
  }
}

}  // namespace

Result<Operation> decode(Op op_code, uint64_t data, const npu::RegisterFile& r, const CoreShape& core) {
  if (op_code == Op::DMA_START) return decode_dma(r);
  Operation op;
  op.u85 = npu::is_u85(r.product());
  CARINA_CHECKED(decode_kind(op_code, data, r, op));
  decode_operands(r, op);
  CARINA_CHECKED(decode_kernel(r, op));
  CARINA_CHECKED(decode_scaling(r, op));
  op.per_channel = FIELD(OFM_PRECISION, "scale_mode") == static_cast<uint32_t>(npu::OfmScaleMode::PER_CHANNEL);
  CARINA_CHECKED(decode_activation(r, op));
  CARINA_CHECKED(decode_accumulator(r, core, op));
  decode_weights(r, core, op);
  if (npu::is_u85(r.product())) {
    decode_resize(r, op);
    CARINA_TRY(const auto transpose, VALUE_U85(ActivationTranspose, OFM_PRECISION, "activation_transpose"));
    op.transpose = ours(kTransposes, transpose);
    op.reverse = static_cast<Reverse>(FIELD_U85(OFM_PRECISION, "activation_reverse"));
  }
  return op;
}

}  // namespace carina::simulate
