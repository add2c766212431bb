#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/micro/microkernels.h"

// The factors of a RESCALE in the layout of the vector kernels: multipliers, rounding addends and shifts per channel.
namespace carina::kernels {

namespace {
constexpr int kUpper = 32;  // the first bit of the upper half

// Of a multiplier 2^m: m - shift, unless it is below 0.
std::optional<int32_t> left_shift_of(int32_t multiplier, int shift) {
  const auto m = static_cast<uint32_t>(multiplier);
  if (!std::has_single_bit(m) || std::countr_zero(m) < shift) return {};
  return std::countr_zero(m) - shift;
}

}  // namespace

std::optional<Scales> make_scales(const ScaleRequest& request) {
  Scales scales;
  scales.per_channel = request.multiplier.size() > 1;
  scales.bound = request.bound;
  const int64_t count = scales.per_channel ? padded(request.channels) : kLanes;
  for (int64_t c = 0; c < count; ++c) {
    const size_t from = scales.per_channel ? static_cast<size_t>(std::min(c, request.channels - 1)) : 0;
    const int32_t multiplier = request.multiplier[from];
    const int shift = request.shift[from];
    if (multiplier < 0 || shift < 2 || shift > 62 || request.bound >= int64_t{1} << std::min(shift - 1, 31))
      return std::nullopt;
    const bool twice = request.rounding == Rounding::kDouble && shift > 31;
    scales.doubled |= twice;
    scales.multiplier.push_back(multiplier);
    const int after = std::max(shift - kUpper, 0);
    scales.before.push_back(std::max(kUpper - shift, 0));
    scales.after.push_back(after);
    (c % 2 == 0 ? scales.round_even : scales.round_odd).push_back(int64_t{1} << (kUpper + after - 1));
    (c % 2 == 0 ? scales.extra_even : scales.extra_odd).push_back(twice ? int64_t{1} << 30 : 0);
  }
  if (!scales.per_channel) scales.left_shift = left_shift_of(request.multiplier[0], request.shift[0]);
  return scales;
}

namespace {

// Proves that `form` gives the results of a RESCALE to all i8, or returns false. Neither function falls, so they are
// equal if each result begins at the same value. `shift` is at most kLargestShift.
//   Example: multiplier / 2^shift = 1 / 3, zero point 0: the result is at least 5 from 14 on. The form must give less
//   for 13 and not for 14.
bool is_exact(const Scales::InFloats& form, const Scales& s, int shift) {
  const auto result = [&](int64_t value) {
    return std::nearbyint(static_cast<float>(static_cast<int32_t>(value)) * form.factor + form.addend);
  };
  const int64_t first = -s.bound - 1;
  for (int64_t t = s.low + 1; t <= s.high; ++t) {
    const int64_t wanted = (t - s.output_zp) * (int64_t{1} << shift) - (int64_t{1} << (shift - 1));
    const int64_t divisor = s.multiplier.front();
    const int64_t begin = wanted / divisor + (wanted % divisor > 0 ? 1 : 0);  // rounded up
    const int64_t before = std::min(begin - 1, s.bound), at = std::max(begin, first);
    if (before >= first && result(before) >= static_cast<float>(t)) return false;
    if (at <= s.bound && result(at) < static_cast<float>(t)) return false;
  }
  return true;
}

// The form in floats of a RESCALE of i32 to i8, if there is one. Products of two bytes mostly have one, sums not: the
// scale of sums is so small that neighboring values differ by less than what a float resolves.
std::optional<Scales::InFloats> float_form_of(const Scales& s) {
  constexpr int kLargestShift = 52;          // thresholds below 2^62
  constexpr int64_t kLargest = 1 << 24;      // of the values, which a float holds exactly
  constexpr float kLargestResult = 1 << 30;  // that fits an integer
  const int shift = kUpper + s.after.front() - s.before.front();
  if (s.per_channel || s.doubled || s.left_shift || s.multiplier.front() == 0 || s.bound >= kLargest ||
      shift > kLargestShift || s.input_zp != 0)
    return std::nullopt;
  const auto factor = static_cast<float>(std::ldexp(s.multiplier.front(), -shift));
  if (factor * static_cast<float>(s.bound + 1) > kLargestResult) return std::nullopt;
  // A value between two results is rounded up; nearest integers round it to the even one.
  for (const float extra : {0.0F, 0x1p-16F, 0x1p-15F}) {
    const Scales::InFloats form{.factor = factor, .addend = static_cast<float>(s.output_zp) + extra};
    if (is_exact(form, s, shift)) return form;
  }
  return std::nullopt;
}

}  // namespace

void find_float_form(Scales& scales) {
  scales.in_floats = float_form_of(scales);
}

void settle(Scales& scales, DType out_type) {
  if (scales.left_shift) return;  // there is no rounding addend that could take the zero point
  // The REQUIREs on values and factors give |value * multiplier| < 2^62. Another 2^61 and the rounding addend still fit
  // 63 bits.
  constexpr int32_t kLargestShift = 45 - kUpper;
  constexpr int32_t kLargestZeroPoint = 1 << 16;
  const auto small = [](int32_t after) { return after <= kLargestShift; };
  if (scales.output_zp > -kLargestZeroPoint && scales.output_zp < kLargestZeroPoint &&
      std::ranges::all_of(scales.after, small)) {
    const int64_t zp = scales.output_zp;
    for (size_t c = 0; c < scales.after.size(); ++c)
      (c % 2 == 0 ? scales.round_even : scales.round_odd)[c / 2] += zp * (int64_t{1} << (kUpper + scales.after[c]));
    scales.output_zp = 0;
  }
  const IntegerRange range = range_of(out_type);
  scales.plain = !scales.doubled && scales.output_zp == 0 && scales.low == range.min && scales.high == range.max;
}

int64_t byte_padded(int64_t channels) {
  constexpr int64_t kBlock = kMaxPanels * kLanes;
  return (channels + kBlock - 1) / kBlock * kBlock;
}

Int8Epilogue::Int8Epilogue(int64_t channels)
    : column(static_cast<size_t>(byte_padded(channels)), 0), multiplier(column), addend(column), shift(column) {}

std::optional<Int8Epilogue> int8_epilogue(const Scales& scales, DType out_type, std::span<const int32_t> column) {
  constexpr int32_t kLargestShift = 54 - kUpper;  // the zero point's share of the addend is then below 2^30
  if (!kernels_make_bytes() || out_type != DType::kInt8 || scales.doubled || scales.input_zp != 0) return std::nullopt;
  Int8Epilogue epilogue(std::ssize(column));
  epilogue.low = static_cast<int8_t>(scales.low);
  epilogue.high = static_cast<int8_t>(scales.high);
  for (size_t c = 0; c < column.size(); ++c) {
    const size_t from = scales.per_channel ? c : 0;
    if (from >= scales.multiplier.size()) break;  // the rest is padding
    const int32_t shift = scales.after[from];
    const int64_t round = (from % 2 == 0 ? scales.round_even : scales.round_odd)[from / 2];
    if (shift == 0 || shift > kLargestShift) return std::nullopt;
    epilogue.column[c] = column[c];
    epilogue.multiplier[c] = scales.multiplier[from];
    epilogue.shift[c] = shift;
    // The rounding addend and the zero point are multiples of 2^32, so they are added to the upper half only.
    epilogue.addend[c] = static_cast<int32_t>((round >> kUpper) + scales.output_zp * (int64_t{1} << shift));
  }
  return epilogue;
}

}  // namespace carina::kernels
