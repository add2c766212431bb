#include "simulate/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/check.h"
#include "npu/field_values.h"
#include "simulate/decode_tables_internal.h"

namespace carina::simulate {

using npu::Op;
using npu::Product;
using npu::Reg;

namespace {

// A field that all products have under one name, though not always in the same
// bits.
#define FIELD(reg, name)                                                    \
  (npu::is_u85(r.product()) ? npu::field_of(Reg::reg, name, Product::kU85)  \
                            : npu::field_of(Reg::reg, name, Product::kU55)) \
      .get(r.data(Reg::reg))
#define FIELD_U55(reg, name) npu::field_of(Reg::reg, name, Product::kU55).get(r.data(Reg::reg))
#define FIELD_U65(reg, name) npu::field_of(Reg::reg, name, Product::kU65).get(r.data(Reg::reg))
#define FIELD_U85(reg, name) npu::field_of(Reg::reg, name, Product::kU85).get(r.data(Reg::reg))

// An address: the bits of the register, zero-extended.
uint64_t base_at(const npu::RegisterFile& r, Reg reg) {
  return static_cast<uint64_t>(r.address(reg)) & ((uint64_t{1} << npu::address_bits(r.product())) - 1);
}

Diagnostic bad_value(std::string_view reg, std::string_view field, uint64_t value, std::string_view expected) {
  return {.where = {},
          .what = fmt::format("register {} has no meaning in field {}", reg, field),
          .expected = std::string(expected),
          .got = fmt::format("{}", value)};
}

// A field as its enum. Errors: a value that the product does not have.
template <typename E>
Result<E> value_of(const npu::FieldRow& field, std::string_view owner, uint64_t data, Product product) {
  const uint32_t value = field.get(data);
  if (!npu::has_value(field, value, product))
    return fail(bad_value(owner, field.name, value, npu::legal_values(field, product)));
  return static_cast<E>(value);
}
#define VALUE_U55(Type, reg, name) \
  value_of<npu::Type>(npu::field_of(Reg::reg, name, Product::kU55), #reg, r.data(Reg::reg), r.product())
#define VALUE_U85(Type, reg, name) \
  value_of<npu::Type>(npu::field_of(Reg::reg, name, Product::kU85), #reg, r.data(Reg::reg), r.product())

int32_t zero_point_of(uint32_t field, const ElementType& type) {
  return type.is_signed ? static_cast<int16_t>(field) : static_cast<int32_t>(field);
}

// The eight registers of a feature map's place; IFM, IFM2 and OFM have the same
// in different numbers.
struct PlaceRegisters {
  std::array<Reg, 4> base;
  Reg stride_y, stride_x, stride_c, width0, height0, height1;
};

FeatureMap place_of(const npu::RegisterFile& r, const PlaceRegisters& regs) {
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
  FeatureMap map = place_of(r, {.base = {Reg::IFM_BASE0, Reg::IFM_BASE1, Reg::IFM_BASE2, Reg::IFM_BASE3},
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
  FeatureMap map = place_of(r, {.base = {Reg::IFM2_BASE0, Reg::IFM2_BASE1, Reg::IFM2_BASE2, Reg::IFM2_BASE3},
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
  FeatureMap map = place_of(r, {.base = {Reg::OFM_BASE0, Reg::OFM_BASE1, Reg::OFM_BASE2, Reg::OFM_BASE3},
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

Result<void> decode_scaling_u85(const npu::RegisterFile& r, Operation& op) {
  CARINA_TRY(const auto mode, VALUE_U85(RoundModeOfm, OFM_SCALE, "round_mode"));
  const auto scaling = [](uint32_t multiplier, uint32_t shift, uint32_t dbl, RoundMode round) {
    return Scaling{.multiplier = multiplier,
                   .shift = static_cast<uint8_t>(shift),
                   .mode = round,
                   .double_round = static_cast<uint8_t>(dbl)};
  };
  const auto ifm_mode = [](uint32_t m) {
    return m == static_cast<uint32_t>(npu::RoundModeIfm::NATURAL) ? RoundMode::kNatural : RoundMode::kDoubleSymmetric;
  };
  op.output = scaling(FIELD_U85(OFM_SCALE, "scale"), FIELD_U85(OFM_SCALE, "shift"), FIELD_U85(OFM_SCALE, "dbl_rnd"),
                      ours(kRoundModesU85, mode));
  // Streams of Vela 4 never write the operand scales: then they are one.
  if (r.written(Reg::IFM_SCALE)) {
    op.first = scaling(FIELD_U85(IFM_SCALE, "scale"), FIELD_U85(IFM_SCALE, "shift"), FIELD_U85(IFM_SCALE, "dbl_rnd"),
                       ifm_mode(FIELD_U85(IFM_SCALE, "round_mode")));
  }
  if (r.written(Reg::IFM2_SCALE)) {
    op.second = scaling(FIELD_U85(IFM2_SCALE, "scale"), FIELD_U85(IFM2_SCALE, "shift"),
                        FIELD_U85(IFM2_SCALE, "dbl_rnd"), ifm_mode(FIELD_U85(IFM2_SCALE, "round_mode")));
  }
  if (!r.written(Reg::OFM_SCALE)) op.output = Scaling{};
  op.operand_scaling = OperandScaling::kBothFull;
  return {};
}

Result<void> decode_scaling_u55(const npu::RegisterFile& r, Operation& op) {
  CARINA_TRY(const auto ofm_mode, VALUE_U55(RoundMode, OFM_PRECISION, "round_mode"));
  CARINA_TRY(const auto ifm_mode, VALUE_U55(RoundMode, IFM_PRECISION, "round_mode"));
  CARINA_TRY(const auto scale_mode, VALUE_U55(IfmScaleMode, IFM_PRECISION, "scale_mode"));
  const RoundMode ofm_rounding = ours(kRoundModesU55, ofm_mode), ifm_rounding = ours(kRoundModesU55, ifm_mode);
  op.operand_scaling = ours(kOperandScalings, scale_mode);
  op.output = {.multiplier = FIELD_U55(OFM_SCALE, "scale"),
               .shift = static_cast<uint8_t>(FIELD_U55(OFM_SCALE, "shift")),
               .mode = ofm_rounding};
  if (!r.written(Reg::OFM_SCALE)) op.output = {.mode = ofm_rounding};
  // The exact half-way position of the second rounding depends on the operands'
  // width (docs/facts/ethosu.md 4.4).
  const uint8_t d = op.ifm.type.bytes == 1 ? 20 : 15;
  op.first = {.multiplier = FIELD_U55(OPA_SCALE, "scale"),
              .shift = static_cast<uint8_t>(FIELD_U55(OPA_SCALE, "shift")),
              .mode = ifm_rounding,
              .double_round = d};
  op.second = {.multiplier = FIELD_U55(OPB_SCALE, "scale"), .mode = ifm_rounding};
  return {};
}

// Bounds of a type as 64-bit numbers; an 8-byte element is wide enough never to
// clamp.
int64_t type_min(const ElementType& t) {
  return t.is_signed ? -(int64_t{1} << (8 * std::min<int>(t.bytes, 7) - 1)) : 0;
}
int64_t type_max(const ElementType& t) {
  return (int64_t{1} << (8 * std::min<int>(t.bytes, 7) - (t.is_signed ? 1 : 0))) - 1;
}

int64_t bound_of(uint64_t data, bool is_signed) {
  return is_signed ? static_cast<int16_t>(data) : static_cast<int64_t>(data & 0xFFFF);
}

Result<void> decode_activation_u85(const npu::RegisterFile& r, Operation& op) {
  CARINA_TRY(const auto function, VALUE_U85(ActivationFunction, ACTIVATION, "activation_function"));
  const auto row = std::ranges::find(kLutFunctionsU85, function, &LutFunction::function);
  CARINA_CHECK(row != kLutFunctionsU85.end(), "a lookup function that the simulator does not know");
  Activation& a = op.activation;
  a = {.lut = row->lut,
       .slot = static_cast<uint8_t>(FIELD_U85(ACTIVATION, "table")),
       .lut_input = row->input,
       .lut_output = row->output};
  a.clamp = FIELD_U85(ACTIVATION, "activation_clip_range") == static_cast<uint32_t>(npu::ActivationClipRange::B16);
  const bool is_signed = row->lut == Lut::kNone ? op.ofm.type.is_signed : row->input.is_signed;
  a.min = bound_of(r.data(Reg::ACTIVATION_MIN), is_signed);
  a.max = bound_of(r.data(Reg::ACTIVATION_MAX), is_signed);
  return {};
}

Result<void> decode_activation_u55(const npu::RegisterFile& r, Operation& op) {
  using npu::ActivationClipRange;
  using npu::ActivationFunction;
  CARINA_TRY(const auto function, VALUE_U55(ActivationFunction, ACTIVATION, "activation_function"));
  CARINA_TRY(const auto clip, VALUE_U55(ActivationClipRange, ACTIVATION, "activation_clip_range"));
  Activation& a = op.activation;
  a = {.lut_input = op.ofm.type, .lut_output = op.ofm.type};
  if (function >= ActivationFunction::TABLE_0) {
    a.lut = Lut::kTable;
    a.slot = static_cast<uint8_t>(static_cast<int>(function) - static_cast<int>(ActivationFunction::TABLE_0));
  } else if (function != ActivationFunction::RELU) {
    a.lut = function == ActivationFunction::TANH ? Lut::kTanh : Lut::kSigmoid;
  }
  if (clip != ActivationClipRange::OFM_PRECISION) a.lut_input = ours(kForcedTypes, clip);
  a.min = type_min(a.lut_input);
  a.max = type_max(a.lut_input);
  if (a.lut_input.bytes <= 2) {
    a.min = std::max(a.min, bound_of(r.data(Reg::ACTIVATION_MIN), a.lut_input.is_signed));
    a.max = std::min(a.max, bound_of(r.data(Reg::ACTIVATION_MAX), a.lut_input.is_signed));
  } else {
    a.clamp = false;
  }
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
  // The MAC array's positions times its depth is the same for each microblock
  // of a configuration: 16 (128 MACs), 32,
  // ...
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
    op.fast_weights = FIELD_U85(WEIGHT_FORMAT, "weight_format") != 0;
    op.sparse_weights = FIELD_U85(WEIGHT_FORMAT, "weight_sparsity") != 0;
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

Result<Operation> decode_dma(const npu::RegisterFile& r) {
  Operation op{.kind = OperationKind::kDma, .name = "DMA"};
  DmaTransfer& d = op.dma;
  d.source = base_at(r, Reg::DMA0_SRC);
  d.destination = base_at(r, Reg::DMA0_DST);
  d.length = base_at(r, Reg::DMA0_LEN);
  d.source_region = static_cast<uint8_t>(FIELD(DMA0_SRC_REGION, "region"));
  d.destination_region = static_cast<uint8_t>(FIELD(DMA0_DST_REGION, "region"));
  d.source_internal = FIELD(DMA0_SRC_REGION, "region_mode") != 0;
  d.destination_internal = FIELD(DMA0_DST_REGION, "region_mode") != 0;
  if (r.product() == Product::kU55) {
    if (FIELD_U55(DMA0_SRC_REGION, "custom_dma_cs") != 0 || FIELD_U55(DMA0_DST_REGION, "custom_dma_cs") != 0) {
      return fail(bad_value("DMA0_SRC_REGION", "custom_dma_cs", 1, "0: there is no custom DMA"));
    }
    return op;
  }
  CARINA_TRY(const auto source_stride, VALUE_U55(DmaStrideMode, DMA0_SRC_REGION, "stride_mode"));
  const auto source_mode = static_cast<uint32_t>(source_stride);
  uint32_t destination_mode = 0;
  if (r.product() == Product::kU65) {
    CARINA_TRY(const auto stride, VALUE_U55(DmaStrideMode, DMA0_DST_REGION, "stride_mode"));
    destination_mode = static_cast<uint32_t>(stride);
  }
  const uint32_t mode = std::max(source_mode, destination_mode);
  d.dimensions = static_cast<int>(mode) + 1;
  if (mode >= 1) d.count0 = static_cast<int64_t>(FIELD(DMA0_SIZE0, "size"));
  if (mode >= 2) d.count1 = static_cast<int64_t>(FIELD(DMA0_SIZE1, "size"));
  if (npu::is_u85(r.product())) {
    d.gather = FIELD_U85(DMA0_SRC_REGION, "idx_mode") != 0;
    d.scatter = FIELD_U85(DMA0_DST_REGION, "idx_mode") != 0;
    d.source_stride0 = r.address(Reg::DMA0_SRC_STRIDE0);
    d.source_stride1 = r.address(Reg::DMA0_SRC_STRIDE1);
    d.destination_stride0 = r.address(Reg::DMA0_DST_STRIDE0);
    d.destination_stride1 = r.address(Reg::DMA0_DST_STRIDE1);
    d.index = base_at(r, Reg::DMA0_IDX);
    d.index_region = static_cast<uint8_t>(FIELD_U85(DMA0_IDX_REGION, "region"));
    d.index_max = static_cast<int64_t>(FIELD_U85(DMA0_IDX_MAX, "idx_max"));
    d.index_skip1 = r.address(Reg::DMA0_IDX_SKIP1);
    return op;
  }
  // U65: SKIP is the gap after each row (0) and each plane (1), on the sides
  // whose stride mode has that dimension; the other side is packed
  // (docs/npu-open-points.md).
  const auto strides = [&](uint32_t side, int64_t& stride0, int64_t& stride1) {
    stride0 = static_cast<int64_t>(d.length) + (side >= 1 ? r.address(Reg::DMA0_SKIP0) : 0);
    stride1 = d.count0 * stride0 + (side >= 2 ? r.address(Reg::DMA0_SKIP1) : 0);
  };
  strides(source_mode, d.source_stride0, d.source_stride1);
  strides(destination_mode, d.destination_stride0, d.destination_stride1);
  return op;
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
  CARINA_CHECKED(npu::is_u85(r.product()) ? decode_scaling_u85(r, op) : decode_scaling_u55(r, op));
  op.per_channel = FIELD(OFM_PRECISION, "scale_mode") == static_cast<uint32_t>(npu::OfmScaleMode::PER_CHANNEL);
  CARINA_CHECKED(npu::is_u85(r.product()) ? decode_activation_u85(r, op) : decode_activation_u55(r, op));
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
