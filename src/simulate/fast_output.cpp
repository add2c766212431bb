#include "simulate/fast_output.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "simulate/lut.h"
#include "simulate/scratch.h"
#include "simulate/store.h"

namespace carina::simulate {

namespace {

constexpr int64_t kMax32 = std::numeric_limits<int32_t>::max();

// The position of a channel in the arrays of 64-bit values (kernels.h, ChannelScales).
size_t split_index(size_t c) { return c / kChannelGroup * kChannelGroup + c % 2 * (kChannelGroup / 2) + c % kChannelGroup / 2; }

std::optional<OutputType> output_type(const ElementType& type) {
  switch (type.bytes) {
    case 1: return type.is_signed ? OutputType::kS8 : OutputType::kU8;
    case 2: return type.is_signed ? OutputType::kS16 : OutputType::kU16;
    case 4: return OutputType::kS32;
    default: return std::nullopt;
  }
}

// Whether R() of any accumulator up to `largest` fits 32 bits and its product 63.
bool fits(const Scaling& s, int64_t largest) {
  if (s.multiplier > kMax32 || s.shift > 62) return false;
  const Wide result = (Wide{largest} * s.multiplier >> s.shift) + 2;
  return result <= kMax32;
}

}  // namespace

std::optional<FastOutput> FastOutput::make(const Work& work, int64_t largest_acc) {
  const Operation& op = *work.op;
  const OutputStage& stage = *work.output;
  const Activation& a = stage.activation();
  if (op.acc_output != AccOutput::kWrite || op.acc_input != AccInput::kReset) return std::nullopt;
  if (stage.mode() == OutputStage::Mode::kDivide && stage.scales_quotient() && !stage.global().is_unit() && !fits(stage.global(), largest_acc)) return std::nullopt;
  if (a.lut == Lut::kTanh || a.lut == Lut::kSigmoid || (a.lut == Lut::kTable && a.lut_input.bytes != 1)) return std::nullopt;
  const std::optional<OutputType> type = output_type(a.lut == Lut::kTable ? a.lut_input : op.ofm.type);
  if (!type || (!a.clamp && *type != OutputType::kS32)) return std::nullopt;

  FastOutput fast;
  const auto channels = static_cast<size_t>(op.ofm_extent.depth);
  const size_t padded = padded_channels(op.ofm_extent.depth);
  fast.bias_.assign(padded, 0);
  fast.multiplier_.assign(padded, 1);
  fast.round_positive_.assign(padded, 0);
  fast.round_negative_.assign(padded, 0);
  fast.shift_.assign(padded, 0);
  const Scaling unit{};
  for (size_t c = 0; c < channels; ++c) {
    const int64_t bias = stage.adds_bias() ? stage.table().bias[c] : 0;
    if (largest_acc + std::abs(bias) > kMax32) return std::nullopt;
    Scaling s = unit;
    if (stage.mode() == OutputStage::Mode::kGlobal || (stage.mode() == OutputStage::Mode::kDivide && stage.scales_quotient())) s = stage.global();
    if (stage.mode() == OutputStage::Mode::kPerChannel) {
      s = {.multiplier = stage.table().multiplier[c], .shift = stage.table().shift[c], .mode = stage.global().mode,
           .double_round = stage.global().double_round};
    }
    if (!fits(s, largest_acc + std::abs(bias))) return std::nullopt;
    fast.bias_[c] = static_cast<int32_t>(bias);
    fast.multiplier_[c] = static_cast<int32_t>(s.multiplier);
    const size_t at = split_index(c);
    fast.shift_[at] = s.shift;
    if (s.shift != 0) {
      fast.round_positive_[at] = rounding_term<int64_t>(1, s);
      fast.round_negative_[at] = rounding_term<int64_t>(-1, s);
    }
  }
  fast.zero_point_ = static_cast<int32_t>(stage.zero_point());
  fast.min_ = a.clamp ? static_cast<int32_t>(a.min) : std::numeric_limits<int32_t>::min();
  fast.max_ = a.clamp ? static_cast<int32_t>(std::max(a.min, a.max)) : std::numeric_limits<int32_t>::max();
  fast.stage_type_ = *type;
  fast.stored_bytes_ = op.ofm.type.bytes;
  if (a.lut == Lut::kTable) {
    fast.table_.resize(256 * static_cast<size_t>(fast.stored_bytes_));
    for (int i = 0; i < 256; ++i) {
      const int64_t value = a.lut_input.is_signed ? static_cast<int8_t>(i) : i;
      const int64_t result = simulate::look_up(stage.lut(), a.lut_input, a.lut_output, value);
      std::memcpy(fast.table_.data() + static_cast<size_t>(i * fast.stored_bytes_), &result, static_cast<size_t>(fast.stored_bytes_));
    }
  }
  return fast;
}

void FastOutput::write_rows(const Work& work, int32_t* acc, Rows rows) const {
  const auto width = static_cast<size_t>(work.op->ofm_extent.width);
  const size_t values = static_cast<size_t>(rows.count()) * width * channels();
  const size_t stage_bytes = table_.empty() ? static_cast<size_t>(stored_bytes_) : 1;
  Scratch& scratch = thread_scratch();
  std::span<std::byte> scaled = scratch.scaled.get(values * stage_bytes);
  scale_output({.acc = acc, .pixels = values / channels(), .channels = channels(),
                .scales = {.bias = bias_.data(), .multiplier = multiplier_.data(), .round_positive = round_positive_.data(),
                           .round_negative = round_negative_.data(), .shift = shift_.data()},
                .zero_point = zero_point_, .min = min_, .max = max_, .type = stage_type_, .out = scaled.data()});
  const auto es = static_cast<size_t>(stored_bytes_);
  if (!table_.empty()) {
    std::span<std::byte> looked_up = es == 1 ? scaled : scratch.looked_up.get(values * es);
    for (size_t i = 0; i < values; ++i) {
      std::memcpy(looked_up.data() + i * es, table_.data() + std::to_integer<size_t>(scaled[i]) * es, es);
    }
    scaled = looked_up;
  }
  const size_t row_bytes = width * channels() * es;
  for (int32_t y = rows.begin; y < rows.end; ++y) {
    store_row(work, y, scaled.data() + static_cast<size_t>(y - rows.begin) * row_bytes, static_cast<int64_t>(channels() * es));
  }
}

}  // namespace carina::simulate
