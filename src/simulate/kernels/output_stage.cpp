#include "simulate/kernels/output_stage_internal.h"

#include <fmt/format.h>

#include <algorithm>

#include "npu/weights/scales.h"
#include "simulate/kernels/lut.h"

namespace carina::simulate {

Result<ScaleTable> read_scale_table(std::span<const std::span<const std::byte>> tables, int32_t channels,
                                    const Operation& op) {
  const npu::ScaleForm form = !op.u85             ? npu::ScaleForm::kBias40Scale32
                              : op.acc_bits == 48 ? npu::ScaleForm::kBias48Scale15
                                                  : npu::ScaleForm::kBias32Scale31;
  const auto cores = static_cast<int32_t>(tables.size());
  ScaleTable table;
  const auto n = static_cast<size_t>(channels);
  table.bias.resize(n);
  table.multiplier.resize(n);
  table.shift.resize(n);
  for (int32_t core = 0; core < cores; ++core) {
    const std::span<const std::byte> bytes = tables[static_cast<size_t>(core)];
    const size_t needed = static_cast<size_t>((channels - core + cores - 1) / cores) * npu::kScaleEntryBytesInStream;
    if (bytes.size() < needed) {
      return fail(Diagnostic{.where = {},
                             .what = "the scale table is shorter than the output's channels need",
                             .expected = fmt::format("{} bytes", needed),
                             .got = fmt::format("{} bytes", bytes.size())});
    }
    size_t at = 0;
    for (int32_t c = core; c < channels; c += cores, at += npu::kScaleEntryBytesInStream) {
      const npu::ChannelScale entry = npu::decode_scale(bytes.subspan(at, npu::kScaleEntryBytesInStream), form);
      const auto i = static_cast<size_t>(c);
      table.bias[i] = entry.bias;
      table.multiplier[i] = entry.scale;
      table.shift[i] = entry.shift;
    }
  }
  return table;
}

OutputStage::Mode scaling_mode(const Operation& op) {
  using enum OutputStage::Mode;
  switch (op.kind) {
    case OperationKind::kConvolution:
    case OperationKind::kDepthwise:
      return op.per_channel ? kPerChannel : kGlobal;
    case OperationKind::kPool:
      switch (op.pool) {
        case PoolMode::kMax:
        case PoolMode::kMin:  // the scale registers are sticky; stale ones must not matter
          return op.per_channel ? kNone : kGlobal;
        case PoolMode::kAverage:
          // U85 always divides by the count; U55 where no reciprocal is given.
          if (op.kernel.taps() > 1 && (op.u85 || op.per_channel || op.output.is_unit())) return kDivide;
          return op.per_channel ? kPerChannel : kGlobal;
        case PoolMode::kArgmaxX:
        case PoolMode::kArgmaxY:
          return kNone;
        default:
          return op.per_channel ? kPerChannel : kGlobal;
      }
    case OperationKind::kElementwise:
      // U55's LRELU spends the scale on its negative branch.
      return op.elementwise == ElementwiseMode::kLrelu && !op.u85 ? kNone : kGlobal;
    case OperationKind::kResize:
    case OperationKind::kDma:
      return kGlobal;
  }
  return kGlobal;
}

bool uses_scale_table(const Operation& op) {
  // A matrix multiplication has no table when one scale serves all channels.
  if (op.kind == OperationKind::kConvolution && op.weight_source == WeightSource::kIfm2) return op.per_channel;
  return op.is_convolution_like() || scaling_mode(op) == OutputStage::Mode::kPerChannel;
}

OutputStage::OutputStage(const Operation& op, ScaleTable table, std::span<const std::byte> lut)
    : activation_(op.activation), global_(op.output), table_(std::move(table)), lut_(lut), mode_(scaling_mode(op)) {
  adds_bias_ = !table_.empty();
  channels_ = op.ofm_extent.depth;
  // U85 scales what AVERAGE divided; U55 does not.
  if (mode_ == Mode::kNone || (mode_ == Mode::kDivide && (!op.u85 || op.per_channel))) global_ = {};
  // Of 32-bit elementwise operations only the shift acts (docs/facts/ethosu.md 4.4, 10.5); on U85 of MUL only.
  const bool wide = op.ifm.type.bytes >= 4 || op.ifm2_bytes() >= 4;
  if (op.kind == OperationKind::kElementwise && wide && (!op.u85 || op.elementwise == ElementwiseMode::kMul))
    global_.multiplier = 1;
  const bool wide_result = op.ofm.type.bytes >= 4 && activation_.lut == Lut::kNone;
  zero_point_ = wide_result ? 0 : op.ofm.zero_point;
}

int64_t OutputStage::activate(int64_t value) const {
  switch (activation_.lut) {
    case Lut::kNone:
      return value;
    case Lut::kTable:
      return look_up(lut_, activation_.lut_input, activation_.lut_output, value);
    case Lut::kTanh:
      return tanh_q15(value);
    case Lut::kSigmoid:
      return sigmoid_q15(value);
  }
  return value;
}

Scaling OutputStage::scaling(size_t channel) const {
  if (mode_ != Mode::kPerChannel) return global_;
  return {.multiplier = table_.multiplier[channel],
          .shift = table_.shift[channel],
          .mode = global_.mode,
          .double_round = global_.double_round};
}

int64_t OutputStage::value(int64_t acc, int32_t channel, int64_t count) const {
  const auto c = static_cast<size_t>(channel);
  if (adds_bias_) acc = add_wrapping(acc, table_.bias[c]);
  if (mode_ == Mode::kDivide) acc = divide_half_away(acc, count);
  acc = add_wrapping(apply(acc, scaling(c)), zero_point_);
  // The built-in functions saturate by themselves: their input, in units of 1/0x3000, has more than 16 bits.
  const bool is_built_in = activation_.lut == Lut::kTanh || activation_.lut == Lut::kSigmoid;
  if (activation_.clamp && !is_built_in)
    acc = std::clamp(acc, activation_.min, std::max(activation_.min, activation_.max));
  return activate(acc);
}

}  // namespace carina::simulate
