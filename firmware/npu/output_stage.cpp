#include "firmware/npu/output_stage.h"

#include <algorithm>
#include <string_view>

#include "facts/npu_accelerators.h"
#include "firmware/board/console.h"
#include "firmware/npu/arithmetic.h"

namespace carina::firmware::npu_core {

namespace {

// An entry of a scale table: 40 bits of bias, 32 of scale, 6 of shift. Source: docs/facts/ethosu.md 4.3.
constexpr size_t kEntryBytes = 10;
constexpr size_t kBiasBytes = 5;
constexpr size_t kScaleBytes = 4;
constexpr unsigned kShiftMask = 0x3F;

uint64_t number_at(std::span<const std::byte> bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(bytes[at + i]);
  return value;
}

bool reject_scales(std::string_view why) {
  error().text("ethosu: ").text(why);
  return false;
}

}  // namespace

OutputStage::Mode OutputStage::mode_of(const Operation& op) {
  const Mode scaled = op.per_channel ? Mode::kPerChannel : Mode::kGlobal;
  if (op.kind == Kind::kElementwise)  // LRELU uses the scale for its negative branch
    return op.elementwise == Elementwise::kLrelu ? Mode::kNone : Mode::kGlobal;
  if (op.kind != Kind::kPool) return scaled;
  // The scale registers keep their values between operations. A MAX pool must ignore old values.
  if (op.pool == Pool::kMax) return op.per_channel ? Mode::kNone : Mode::kGlobal;
  // An AVERAGE pool divides if it has no reciprocal.
  const bool divides = op.pool == Pool::kAverage && op.kernel.taps() > 1 && (op.per_channel || op.output.is_unit());
  return divides ? Mode::kDivide : scaled;
}

bool OutputStage::prepare(const Operation& op, const Resources& resources) {
  op_ = &op;
  mode_ = mode_of(op);
  has_entries_ = op.is_convolution_like() || mode_ == Mode::kPerChannel;
  global_ = mode_ == Mode::kNone || mode_ == Mode::kDivide ? Scaling{} : op.output;
  if (op.kind == Kind::kElementwise && op.has_wide_operand()) global_.multiplier = 1;  // only the shift is applied
  zero_point_ = op.ofm.type.bytes >= 4 && !op.activation.table ? 0 : op.ofm.zero_point;
  scales_ = resources.scales;
  if (has_entries_ && scales_.size() < static_cast<size_t>(op.ofm_extent.depth) * kEntryBytes)
    return reject_scales("the scale table is shorter than the output's channels need");
  if (!op.activation.table) return true;
  const size_t start = size_t{op.activation.slot} * npu::kLutSlotBytes;
  const size_t bytes = table_bytes(op.activation.type, op.ofm.type);
  if (start > resources.tables.size() || bytes > resources.tables.size() - start)
    return reject_scales("a lookup table reaches outside of its memory");
  table_ = resources.tables.subspan(start, bytes);
  return true;
}

int64_t OutputStage::value(int64_t acc, int32_t channel, int64_t count) const {
  const size_t entry = static_cast<size_t>(channel) * kEntryBytes;
  Scaling scaling = global_;
  if (has_entries_) {
    constexpr int kUnused = 64 - 8 * static_cast<int>(kBiasBytes);
    acc += static_cast<int64_t>(number_at(scales_, entry, kBiasBytes) << kUnused) >> kUnused;
  }
  if (mode_ == Mode::kPerChannel) {
    scaling.multiplier = static_cast<uint32_t>(number_at(scales_, entry + kBiasBytes, kScaleBytes));
    scaling.shift =
        static_cast<uint8_t>(std::to_integer<unsigned>(scales_[entry + kBiasBytes + kScaleBytes]) & kShiftMask);
  }
  if (mode_ == Mode::kDivide) acc = divide_half_away(acc, count);
  acc = apply(acc, scaling) + zero_point_;
  const Activation& activation = op_->activation;
  if (activation.clamp) acc = std::clamp<int64_t>(acc, activation.min, std::max(activation.min, activation.max));
  return activation.table ? look_up(table_, activation.type, op_->ofm.type, acc) : acc;
}

}  // namespace carina::firmware::npu_core
