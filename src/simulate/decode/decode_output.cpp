#include <algorithm>

#include "carina/check.h"
#include "simulate/decode/decode_parts_internal.h"
#include "simulate/decode/decode_tables_internal.h"

// Decodes the registers of the output stage: operand scaling, the OFM's scale, activation limits and lookup table.
namespace carina::simulate {

namespace {

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
  // Streams of Vela 4 never write the operand scales. They are then one.
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
  // The exact half-way position of the second rounding depends on the operands' width (docs/facts/ethosu.md 4.4).
  const uint8_t d = op.ifm.type.bytes == 1 ? 20 : 15;
  op.first = {.multiplier = FIELD_U55(OPA_SCALE, "scale"),
              .shift = static_cast<uint8_t>(FIELD_U55(OPA_SCALE, "shift")),
              .mode = ifm_rounding,
              .double_round = d};
  op.second = {.multiplier = FIELD_U55(OPB_SCALE, "scale"), .mode = ifm_rounding};
  return {};
}

// Bounds of a type as 64-bit numbers; an 8-byte element is wide enough never to clamp.
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

}  // namespace

Result<void> decode_scaling(const npu::RegisterFile& r, Operation& op) {
  return npu::is_u85(r.product()) ? decode_scaling_u85(r, op) : decode_scaling_u55(r, op);
}

Result<void> decode_activation(const npu::RegisterFile& r, Operation& op) {
  return npu::is_u85(r.product()) ? decode_activation_u85(r, op) : decode_activation_u55(r, op);
}

}  // namespace carina::simulate
