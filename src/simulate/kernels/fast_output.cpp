#include "simulate/kernels/fast_output_internal.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "simulate/kernels/lut.h"
#include "simulate/kernels/scratch_internal.h"
#include "simulate/kernels/store_internal.h"

namespace carina::simulate {

namespace {

constexpr int64_t kMax32 = std::numeric_limits<int32_t>::max();

// The position of a channel in the arrays of 64-bit values (kernels.h, ChannelScales).
size_t split_index(size_t c) {
  return c / kChannelGroup * kChannelGroup + c % 2 * (kChannelGroup / 2) + c % kChannelGroup / 2;
}

std::optional<OutputType> output_type(const ElementType& type) {
  switch (type.bytes) {
    case 1:
      return type.is_signed ? OutputType::kS8 : OutputType::kU8;
    case 2:
      return type.is_signed ? OutputType::kS16 : OutputType::kU16;
    case 4:
      return OutputType::kS32;
    default:
      return std::nullopt;
  }
}

// Whether the clamp keeps values within the type. Vector conversions saturate, but memory gets the low bits.
bool holds_bounds(OutputType type, const Activation& a) {
  const auto within = [&](int64_t low, int64_t high) { return a.min >= low && std::max(a.min, a.max) <= high; };
  switch (type) {
    case OutputType::kS8:
      return within(-128, 127);
    case OutputType::kU8:
      return within(0, 255);
    case OutputType::kS16:
      return within(-32768, 32767);
    case OutputType::kU16:
      return within(0, 65535);
    case OutputType::kS32:
      return within(-kMax32 - 1, kMax32);
  }
  return false;
}

// Whether R() returns every value up to `largest` unchanged. Vela's reciprocal of 1 is slightly above one.
bool is_identity(const Scaling& s, int64_t largest) {
  const bool rounds = s.mode != RoundMode::kTruncateToZero && s.mode != RoundMode::kTruncateToLower;
  if (!rounds || s.shift == 0 || s.shift > 31) return false;
  const int64_t one = int64_t{1} << s.shift;
  return Wide{std::abs(int64_t{s.multiplier} - one)} * largest < one / 2;
}

// The processing of a channel's accumulators.
struct ChannelOutput {
  int64_t bias = 0;
  int64_t largest = 0;  // of the sums with the bias, in magnitude
  Scaling scaling;
  int64_t round_positive = 0;
  int64_t round_negative = 0;

  ChannelOutput(const OutputStage& stage, size_t channel, int64_t largest_acc)
      : bias(stage.adds_bias() ? stage.table().bias[channel] : 0),
        largest(largest_acc + std::abs(bias)),
        scaling(stage.scaling(channel)) {
    if (is_identity(scaling, largest)) scaling = Scaling{};
    if (scaling.shift == 0) return;
    round_positive = rounding_term<int64_t>(1, scaling);
    round_negative = rounding_term<int64_t>(-1, scaling);
  }
  // Whether sums and results fit 32 bits, and products 63.
  [[nodiscard]] bool fits() const {
    return largest <= kMax32 && scaling.multiplier <= kMax32 && scaling.shift <= 62 &&
           (largest * scaling.multiplier >> scaling.shift) + 2 <= kMax32;
  }
};

}  // namespace

// An elementwise operation has one scale: one group of channels stands for all of them. Arrays for each of 25,088
// channels would take a fifth of its time.
FastOutput::FastOutput(const Work& work) : stored_bytes_(work.op->ofm.type.bytes) {
  const bool is_one = work.op->kind == OperationKind::kElementwise && work.output->table().empty();
  const size_t padded = is_one ? kChannelGroup : padded_channels(work.op->ofm_extent.depth);
  bias_.assign(padded, 0);
  multiplier_.assign(padded, 1);
}

std::optional<FastOutput> FastOutput::make(const Work& work, int64_t largest_acc) {
  const Operation& op = *work.op;
  if (op.acc_output != AccOutput::kWrite || op.acc_input != AccInput::kReset || largest_acc > kMax32)
    return std::nullopt;
  FastOutput fast(work);
  if (fast.prepare_vectors(work, largest_acc)) fast.method_ = Method::kVectors;
  return fast;
}

bool FastOutput::prepare_vectors(const Work& work, int64_t largest_acc) {
  const Operation& op = *work.op;
  const OutputStage& stage = *work.output;
  const Activation& a = stage.activation();
  if (a.lut == Lut::kTanh || a.lut == Lut::kSigmoid) return false;
  const bool interpolates = a.lut == Lut::kTable && a.lut_input.bytes == 2;
  if (a.lut == Lut::kTable && !interpolates && a.lut_input.bytes != 1) return false;
  if (interpolates && (!a.lut_input.is_signed || stored_bytes_ > 4)) return false;
  // The table of 16-bit values takes the stage's result without saturation. Only its low bits select an entry.
  const std::optional<OutputType> type = interpolates           ? OutputType::kS32
                                         : a.lut == Lut::kTable ? output_type(a.lut_input)
                                                                : output_type(op.ofm.type);
  if (!type || (!a.clamp && *type != OutputType::kS32)) return false;
  if (a.clamp && !holds_bounds(*type, a)) return false;
  if (!prepare_upper(stage, largest_acc) && !prepare_whole(stage, largest_acc)) return false;
  zero_point_ = static_cast<int32_t>(stage.zero_point());
  min_ = a.clamp ? static_cast<int32_t>(a.min) : std::numeric_limits<int32_t>::min();
  max_ = a.clamp ? static_cast<int32_t>(std::max(a.min, a.max)) : std::numeric_limits<int32_t>::max();
  stage_type_ = *type;
  if (a.lut == Lut::kTable) interpolates ? prepare_segments(stage) : prepare_table(stage);
  return true;
}

namespace {

// Without a scale table, all channels are processed alike.
size_t different_channels(const OutputStage& stage) {
  return stage.table().empty() ? 1 : static_cast<size_t>(stage.channels());
}

// The first channel's value for all, if there are no others.
template <typename T>
void spread(const OutputStage& stage, LineVector<T>& of_channels) {
  if (stage.table().empty()) std::ranges::fill(of_channels, of_channels.front());
}

}  // namespace

// Shifts sums and multipliers left, and increases the shifts, until all rounding terms and shifted bits are in the
// upper halves of the products. Otherwise one channel with small weights would force slower vectors for the whole
// operation.
bool FastOutput::prepare_upper(const OutputStage& stage, int64_t largest_acc) {
  constexpr int kUpper = 32;
  constexpr int kMaxUpperShift = 62;  // leaves room for the rounding term in the upper half
  const size_t padded = bias_.size();
  LineVector<int32_t> round(padded, 0), round_negative(padded, 0), shift(padded, 0), raise(padded, 0);
  int32_t raised = 0;
  bool is_signed = false;
  for (size_t c = 0; c < different_channels(stage); ++c) {
    const ChannelOutput out(stage, c, largest_acc);
    if (!out.fits()) return false;
    const Scaling& s = out.scaling;
    const auto rounding = static_cast<uint64_t>(out.round_positive),
               negative = static_cast<uint64_t>(out.round_negative);
    const int zeros = std::min(std::countr_zero(rounding), std::countr_zero(negative));
    const int missing = std::max(0, kUpper - std::min(int{s.shift}, zeros));
    if (s.shift + missing > kMaxUpperShift) return false;
    const int by_factor = std::clamp(std::countl_zero(s.multiplier) - 1, 0, missing), by_sum = missing - by_factor;
    if (out.largest << by_sum > kMax32) return false;
    bias_[c] = static_cast<int32_t>(out.bias);
    multiplier_[c] = static_cast<int32_t>(s.multiplier << by_factor);
    round[c] = static_cast<int32_t>(rounding << missing >> kUpper);
    round_negative[c] = static_cast<int32_t>(negative << missing >> kUpper);
    is_signed = is_signed || rounding != negative;
    shift[c] = s.shift + missing - kUpper;
    raised |= raise[c] = by_sum;
  }
  for (LineVector<int32_t>* of_channels : {&bias_, &multiplier_, &round, &round_negative, &shift, &raise})
    spread(stage, *of_channels);
  upper_round_ = std::move(round);
  if (is_signed) upper_round_negative_ = std::move(round_negative);
  upper_shift_ = std::move(shift);
  if (raised != 0) upper_raise_ = std::move(raise);
  return true;
}

bool FastOutput::prepare_whole(const OutputStage& stage, int64_t largest_acc) {
  round_positive_.assign(bias_.size(), 0);
  round_negative_.assign(bias_.size(), 0);
  shift_.assign(bias_.size(), 0);
  for (size_t c = 0; c < different_channels(stage); ++c) {
    const ChannelOutput out(stage, c, largest_acc);
    if (!out.fits()) return false;
    bias_[c] = static_cast<int32_t>(out.bias);
    multiplier_[c] = static_cast<int32_t>(out.scaling.multiplier);
    const size_t at = split_index(c);
    shift_[at] = out.scaling.shift;
    round_positive_[at] = out.round_positive;
    round_negative_[at] = out.round_negative;
  }
  for (LineVector<int32_t>* of_channels : {&bias_, &multiplier_}) spread(stage, *of_channels);
  for (LineVector<int64_t>* of_channels : {&shift_, &round_positive_, &round_negative_}) spread(stage, *of_channels);
  return true;
}

void FastOutput::prepare_table(const OutputStage& stage) {
  const Activation& a = stage.activation();
  const auto es = static_cast<size_t>(stored_bytes_);
  table_.resize(256 * es);
  for (int i = 0; i < 256; ++i) {
    const int64_t value = a.lut_input.is_signed ? static_cast<int8_t>(i) : i;
    const int64_t result = look_up(stage.lut(), a.lut_input, a.lut_output, value);
    std::memcpy(table_.data() + static_cast<size_t>(i) * es, &result, es);
  }
}

// Source: docs/facts/ethosu.md 4.8. look_up() at both ends of a segment's first step gives its base and slope back.
void FastOutput::prepare_segments(const OutputStage& stage) {
  const Activation& a = stage.activation();
  constexpr ElementType kWide{.bytes = 4, .is_signed = true};
  segments_.resize(512);
  interpolated_bytes_ = a.lut_output.bytes;
  for (int i = 0; i < 512; ++i) {
    const int64_t start = int64_t{i - 256} * 128;
    const int64_t base = look_up(stage.lut(), a.lut_input, kWide, start);
    segments_[static_cast<size_t>(i)] = {
        .base = static_cast<int32_t>(base),
        .slope = static_cast<int32_t>(look_up(stage.lut(), a.lut_input, kWide, start + 1) - base)};
  }
}

void FastOutput::look_up_segments(std::span<const std::byte> scaled, std::span<std::byte> out) const {
  const auto es = static_cast<size_t>(stored_bytes_);
  const size_t values = scaled.size() / sizeof(int32_t);
  for (size_t i = 0; i < values; ++i) {
    int32_t value = 0;
    std::memcpy(&value, scaled.data() + i * sizeof(value), sizeof(value));
    const Segment& segment = segments_[static_cast<size_t>((value >> 7) + 256) & 511];
    const int32_t wide = segment.base + segment.slope * (value & 127);
    const int32_t result = interpolated_bytes_ == 2 ? (wide + 64) >> 7 : wide;
    std::memcpy(out.data() + i * es, &result, std::min(es, sizeof(result)));
  }
}

std::span<std::byte> FastOutput::scale_vectors(const int32_t* acc, size_t values, size_t channels) const {
  const auto es = static_cast<size_t>(stored_bytes_);
  Scratch& scratch = thread_scratch();
  const size_t stage_bytes = !segments_.empty() ? sizeof(int32_t) : table_.empty() ? es : 1;
  const std::span<std::byte> scaled = scratch.scaled.get(values * stage_bytes);
  scale_output(
      {.acc = acc,
       .pixels = values / channels,
       .channels = channels,
       .scales = {.bias = bias_.data(),
                  .multiplier = multiplier_.data(),
                  .round_positive = round_positive_.data(),
                  .round_negative = round_negative_.data(),
                  .shift = shift_.data(),
                  .upper_round = upper_round_.empty() ? nullptr : upper_round_.data(),
                  .upper_round_negative = upper_round_negative_.empty() ? nullptr : upper_round_negative_.data(),
                  .upper_shift = upper_shift_.empty() ? nullptr : upper_shift_.data(),
                  .upper_raise = upper_raise_.empty() ? nullptr : upper_raise_.data()},
       .zero_point = zero_point_,
       .min = min_,
       .max = max_,
       .type = stage_type_,
       .out = scaled.data()});
  if (!segments_.empty()) {
    const std::span<std::byte> looked_up = scratch.looked_up.get(values * es);
    look_up_segments(scaled, looked_up);
    return looked_up;
  }
  if (table_.empty()) return scaled;
  if (es == 1) {
    for (std::byte& value : scaled) value = table_[std::to_integer<size_t>(value)];
    return scaled;
  }
  const std::span<std::byte> looked_up = scratch.looked_up.get(values * es);
  for (size_t i = 0; i < values; ++i)
    std::memcpy(looked_up.data() + i * es, table_.data() + std::to_integer<size_t>(scaled[i]) * es, es);
  return looked_up;
}

std::span<std::byte> FastOutput::scale_one_by_one(const OutputStage& stage, const int32_t* acc, size_t values) const {
  const auto es = static_cast<size_t>(stored_bytes_);
  const auto depth = stage.channels();
  const std::span<std::byte> scaled = thread_scratch().scaled.get(values * es);
  for (size_t at = 0; at < values; at += channels()) {
    std::byte* to = scaled.data() + at * es;
    for (int32_t c = 0; c < depth; ++c, to += es) {
      const int64_t value = stage.value(acc[at + static_cast<size_t>(c)], c);  // a quotient counts as one
      std::memcpy(to, &value, es);
    }
  }
  return scaled;
}

void FastOutput::write(const Work& work, const int32_t* acc, const Patch& patch) const {
  const size_t values = patch.positions() * channels();
  const std::span<std::byte> scaled = method_ == Method::kVectors ? scale_vectors(acc, values, channels())
                                                                  : scale_one_by_one(*work.output, acc, values);
  const auto pixel_bytes = static_cast<int64_t>(channels()) * stored_bytes_;
  const std::byte* row = scaled.data();
  for (int32_t y = patch.rows.begin; y < patch.rows.end; ++y, row += patch.columns.count() * pixel_bytes)
    store_row(work, y, patch.columns, row, pixel_bytes);
}

void FastOutput::write_dense(const Work& work, std::span<const int32_t> acc, const Patch& patch) const {
  std::span<std::byte> scaled;
  if (method_ == Method::kVectors) {
    scaled = scale_vectors(acc.data(), acc.size(), kChannelGroup);
  } else {
    const auto es = static_cast<size_t>(stored_bytes_);
    scaled = thread_scratch().scaled.get(acc.size() * es);
    for (size_t i = 0; i < acc.size(); ++i) {
      const int64_t value = work.output->value(acc[i], 0);
      std::memcpy(scaled.data() + i * es, &value, es);
    }
  }
  const int64_t pixel_bytes = int64_t{work.op->ofm_extent.depth} * stored_bytes_;
  const std::byte* row = scaled.data();
  for (int32_t y = patch.rows.begin; y < patch.rows.end; ++y, row += patch.columns.count() * pixel_bytes)
    store_row(work, y, patch.columns, row, pixel_bytes);
}

}  // namespace carina::simulate
