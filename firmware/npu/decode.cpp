#include "firmware/npu/decode.h"

#include <algorithm>
#include <string_view>

#include "facts/npu_targets.h"
#include "firmware/board/console.h"

namespace carina::firmware::npu_core {

namespace {

using npu::Op;
using npu::Product;
using npu::Reg;

#define FIELD(reg, name) npu::field_of(Reg::reg, name, Product::kU55).get(r.data(Reg::reg))
#define SIZE(reg, name) (static_cast<int32_t>(FIELD(reg, name)) + 1)

bool reject(std::string_view what, uint32_t value) {
  error().text("ethosu: ").text(what).text(" ").number(value).text(" is not what this NPU does");
  return false;
}

ElementType element_type(uint32_t is_signed, uint32_t precision) {
  return {.bytes = static_cast<uint8_t>(1U << precision), .is_signed = is_signed != 0};
}

int32_t zero_point_of(uint32_t field, const ElementType& type) {
  return type.is_signed ? static_cast<int16_t>(field) : static_cast<int32_t>(field);
}

// The registers of a feature map have the same names for IFM, IFM2 and OFM.
#define FEATURE_MAP(m)                                                                                                \
  FeatureMap {                                                                                                        \
    .base = {r.payload(Reg::m##_BASE0), r.payload(Reg::m##_BASE1), r.payload(Reg::m##_BASE2),                         \
             r.payload(Reg::m##_BASE3)},                                                                              \
    .stride_y = r.stride(Reg::m##_STRIDE_Y), .stride_x = r.stride(Reg::m##_STRIDE_X),                                 \
    .stride_c = r.stride(Reg::m##_STRIDE_C), .width0 = static_cast<int32_t>(r.data(Reg::m##_WIDTH0_M1) & 0xFFFF) + 1, \
    .height0 = static_cast<int32_t>(r.data(Reg::m##_HEIGHT0_M1) & 0xFFFF) + 1,                                        \
    .height1 = static_cast<int32_t>(r.data(Reg::m##_HEIGHT1_M1) & 0xFFFF) + 1,                                        \
    .region = static_cast<uint8_t>(FIELD(m##_REGION, "region")),                                                      \
    .type = element_type(FIELD(m##_PRECISION, "activation_type"), FIELD(m##_PRECISION, "activation_precision")),      \
    .bricks = (FIELD(m##_PRECISION, "activation_format") & 1) != 0,                                                   \
    .zero_point = static_cast<int32_t>(FIELD(m##_ZERO_POINT, "zero_point"))                                           \
  }

void decode_operands(const Registers& r, Operation& op) {
  op.ifm = FEATURE_MAP(IFM);
  op.ifm2 = FEATURE_MAP(IFM2);
  op.ofm = FEATURE_MAP(OFM);
  for (FeatureMap* map : {&op.ifm, &op.ifm2, &op.ofm})
    map->zero_point = zero_point_of(static_cast<uint32_t>(map->zero_point), map->type);

  op.ifm_depth = SIZE(IFM_DEPTH_M1, "depth_m1");
  op.ofm_extent = {.height = SIZE(OFM_HEIGHT_M1, "height_m1"),
                   .width = SIZE(OFM_WIDTH_M1, "width_m1"),
                   .depth = SIZE(OFM_DEPTH_M1, "depth_m1")};
  op.block_depth = SIZE(OFM_BLK_DEPTH_M1, "depth_m1");
  op.padding = {.top = static_cast<int32_t>(FIELD(IFM_PAD_TOP, "pad")),
                .left = static_cast<int32_t>(FIELD(IFM_PAD_LEFT, "pad")),
                .right = static_cast<int32_t>(FIELD(IFM_PAD_RIGHT, "pad")),
                .bottom = static_cast<int32_t>(FIELD(IFM_PAD_BOTTOM, "pad"))};
  op.ifm2_broadcast = {.h = FIELD(IFM2_BROADCAST, "broadcast_h") != 0,
                       .w = FIELD(IFM2_BROADCAST, "broadcast_w") != 0,
                       .c = FIELD(IFM2_BROADCAST, "broadcast_c") != 0,
                       .scalar = FIELD(IFM2_BROADCAST, "broadcast_constant") != 0};
  op.swap_operands = FIELD(IFM2_BROADCAST, "operand_order") != 0;
  const uint32_t scalar = FIELD(IFM2_SCALAR, "scalar");
  op.scalar = op.ifm2.type.is_signed ? static_cast<int16_t>(scalar) : static_cast<int32_t>(scalar);
}

bool decode_kernel(const Registers& r, Operation& op) {
  const uint32_t upscale = FIELD(IFM_UPSCALE, "mode");
  if (upscale > static_cast<uint32_t>(Upscale::kZeros)) return reject("IFM_UPSCALE", upscale);
  op.upscale = static_cast<Upscale>(upscale);
  Kernel& k = op.kernel;
  k.stride_x =
      static_cast<int32_t>(FIELD(KERNEL_STRIDE, "stride_x_lsb") + 2 * FIELD(KERNEL_STRIDE, "stride_x_msb")) + 1;
  k.stride_y =
      static_cast<int32_t>(FIELD(KERNEL_STRIDE, "stride_y_lsb") + 2 * FIELD(KERNEL_STRIDE, "stride_y_msb")) + 1;
  k.dilation_x = SIZE(KERNEL_STRIDE, "dilation_x");
  k.dilation_y = SIZE(KERNEL_STRIDE, "dilation_y");
  k.extent_w = SIZE(KERNEL_WIDTH_M1, "width_m1");
  k.extent_h = SIZE(KERNEL_HEIGHT_M1, "height_m1");
  k.width = (k.extent_w - 1) / k.dilation_x + 1;
  k.height = (k.extent_h - 1) / k.dilation_y + 1;
  if (k.taps() > npu::kMaxPoolElements)
    return reject("a kernel of", static_cast<uint32_t>(std::min<int64_t>(k.taps(), UINT32_MAX)));
  op.part_kernel_first = FIELD(KERNEL_STRIDE, "weight_order") != 0;
  return true;
}

bool rounding_of(uint32_t value, Rounding& mode) {
  switch (static_cast<npu::RoundMode>(value)) {
    case npu::RoundMode::DBL:
      mode = Rounding::kDouble;
      return true;
    case npu::RoundMode::TRUNCATE:
      mode = Rounding::kTruncate;
      return true;
    case npu::RoundMode::NATURAL:
      mode = Rounding::kNatural;
      return true;
  }
  return reject("round_mode", value);
}

bool operand_scaling_of(uint32_t value, OperandScaling& scaling) {
  switch (static_cast<npu::IfmScaleMode>(value)) {
    case npu::IfmScaleMode::OPA_OPB_16:
      scaling = OperandScaling::kBoth16;
      return true;
    case npu::IfmScaleMode::OPA_32:
      scaling = OperandScaling::kFirst32;
      return true;
    case npu::IfmScaleMode::OPB_32:
      scaling = OperandScaling::kSecond32;
      return true;
  }
  return reject("scale_mode", value);
}

bool decode_scaling(const Registers& r, Operation& op) {
  // The bit of the exact half in the second rounding depends on the operands' width (docs/facts/ethosu.md 4.4).
  const uint8_t double_round = op.ifm.type.bytes == 1 ? 20 : 15;
  if (r.written(Reg::OFM_SCALE)) {
    op.output.multiplier = FIELD(OFM_SCALE, "scale");
    op.output.shift = static_cast<uint8_t>(FIELD(OFM_SCALE, "shift"));
  }
  op.first = {.multiplier = FIELD(OPA_SCALE, "scale"),
              .shift = static_cast<uint8_t>(FIELD(OPA_SCALE, "shift")),
              .double_round = double_round};
  op.second = {.multiplier = FIELD(OPB_SCALE, "scale")};
  op.per_channel = FIELD(OFM_PRECISION, "scale_mode") == static_cast<uint32_t>(npu::OfmScaleMode::PER_CHANNEL);
  if (!rounding_of(FIELD(OFM_PRECISION, "round_mode"), op.output.mode) ||
      !rounding_of(FIELD(IFM_PRECISION, "round_mode"), op.first.mode))
    return false;
  op.second.mode = op.first.mode;
  return operand_scaling_of(FIELD(IFM_PRECISION, "scale_mode"), op.operand_scaling);
}

int32_t bound_of(uint64_t data, bool is_signed) {
  return is_signed ? static_cast<int16_t>(data) : static_cast<int32_t>(data & 0xFFFF);
}

bool clip_type_of(uint32_t range, ElementType& type) {
  switch (static_cast<npu::ActivationClipRange>(range)) {
    case npu::ActivationClipRange::OFM_PRECISION:
      return true;
    case npu::ActivationClipRange::FORCE_UINT8:
      type = {.bytes = 1, .is_signed = false};
      return true;
    case npu::ActivationClipRange::FORCE_INT8:
      type = {.bytes = 1, .is_signed = true};
      return true;
    case npu::ActivationClipRange::FORCE_INT16:
      type = {.bytes = 2, .is_signed = true};
      return true;
    default:
      return reject("activation_clip_range", range);
  }
}

bool decode_activation(const Registers& r, Operation& op) {
  using npu::ActivationFunction;
  const uint32_t function = FIELD(ACTIVATION, "activation_function");
  constexpr auto kFirstTable = static_cast<uint32_t>(ActivationFunction::TABLE_0);
  Activation& a = op.activation;
  a.type = op.ofm.type;
  a.table = function >= kFirstTable;
  // The hardware has interpolated tables for TANH and SIGMOID. Compilers since Vela 1.0 write their own tables, so this
  // simulator does not support the built-in ones.
  if (!a.table && function != static_cast<uint32_t>(ActivationFunction::RELU))
    return reject("activation function", function);
  if (a.table) a.slot = static_cast<uint8_t>(function - kFirstTable);
  if (!clip_type_of(FIELD(ACTIVATION, "activation_clip_range"), a.type)) return false;
  a.clamp = a.type.bytes <= 2;
  if (!a.clamp) return true;
  const int32_t span = 1 << (8 * a.type.bytes);
  const int32_t lowest = a.type.is_signed ? -span / 2 : 0;
  a.min = std::max(lowest, bound_of(r.data(Reg::ACTIVATION_MIN), a.type.is_signed));
  a.max = std::min(lowest + span - 1, bound_of(r.data(Reg::ACTIVATION_MAX), a.type.is_signed));
  return true;
}

void decode_weights(const Registers& r, Operation& op) {
  op.weights = {.region = static_cast<uint8_t>(FIELD(WEIGHT_REGION, "region")),
                .base = r.payload(Reg::WEIGHT_BASE),
                .bytes = r.payload(Reg::WEIGHT_LENGTH)};
  op.scales = {.region = static_cast<uint8_t>(FIELD(SCALE_REGION, "region")),
               .base = r.payload(Reg::SCALE_BASE),
               .bytes = FIELD(SCALE_LENGTH, "length")};
}

bool pool_of(uint64_t data, Operation& op) {
  const uint32_t mode = npu::field_of(Op::POOL, "pooling_mode", Product::kU55).get(data);
  op.kind = Kind::kPool;
  switch (static_cast<npu::PoolingMode>(mode)) {
    case npu::PoolingMode::MAX:
      op.pool = Pool::kMax;
      return true;
    case npu::PoolingMode::AVERAGE:
      op.pool = Pool::kAverage;
      return true;
    case npu::PoolingMode::REDUCE_SUM:
      op.pool = Pool::kReduceSum;
      return true;
    default:
      return reject("pooling_mode", mode);
  }
}

struct ElementwiseRow {
  npu::ElementwiseMode mode;
  Elementwise ours;
};
constexpr std::array kElementwiseRows{ElementwiseRow{npu::ElementwiseMode::MUL, Elementwise::kMul},
                                      ElementwiseRow{npu::ElementwiseMode::ADD, Elementwise::kAdd},
                                      ElementwiseRow{npu::ElementwiseMode::SUB, Elementwise::kSub},
                                      ElementwiseRow{npu::ElementwiseMode::MIN, Elementwise::kMin},
                                      ElementwiseRow{npu::ElementwiseMode::MAX, Elementwise::kMax},
                                      ElementwiseRow{npu::ElementwiseMode::LRELU, Elementwise::kLrelu},
                                      ElementwiseRow{npu::ElementwiseMode::ABS, Elementwise::kAbs},
                                      ElementwiseRow{npu::ElementwiseMode::CLZ, Elementwise::kClz},
                                      ElementwiseRow{npu::ElementwiseMode::SHR, Elementwise::kShr},
                                      ElementwiseRow{npu::ElementwiseMode::SHL, Elementwise::kShl}};

bool elementwise_of(uint64_t data, Operation& op) {
  const uint32_t mode = npu::field_of(Op::ELEMENTWISE, "elementwise_mode", Product::kU55).get(data);
  const auto* row = std::ranges::find(kElementwiseRows, static_cast<npu::ElementwiseMode>(mode), &ElementwiseRow::mode);
  if (row == kElementwiseRows.end()) return reject("elementwise_mode", mode);
  op.kind = Kind::kElementwise;
  op.elementwise = row->ours;
  return true;
}

bool kind_of(const Command& command, Operation& op) {
  switch (command.op) {
    case Op::CONV:
      op.kind = Kind::kConvolution;
      return true;
    case Op::DEPTHWISE:
      op.kind = Kind::kDepthwise;
      return true;
    case Op::POOL:
      return pool_of(command.data, op);
    case Op::ELEMENTWISE:
      return elementwise_of(command.data, op);
    default:
      return reject("operation", static_cast<uint32_t>(command.op));
  }
}

}  // namespace

bool decode(const Command& command, const Registers& registers, Operation& op) {
  op = {};
  if (!kind_of(command, op)) return false;
  decode_operands(registers, op);
  constexpr uint8_t kWidest = 4;
  if (std::max({op.ifm.type.bytes, op.ifm2.type.bytes, op.ofm.type.bytes}) > kWidest)
    return reject("activation_precision", 3);
  if (!decode_kernel(registers, op) || !decode_scaling(registers, op) || !decode_activation(registers, op))
    return false;
  decode_weights(registers, op);
  return true;
}

}  // namespace carina::firmware::npu_core
