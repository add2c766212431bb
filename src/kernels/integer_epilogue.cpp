#include "kernels/integer_epilogue.h"

#include <algorithm>
#include <limits>

namespace carina::kernels {

namespace {

std::optional<Int8Epilogue> in_registers_of(const Requantization& rule, std::span<const int32_t> column,
                                            int64_t channels) {
  const auto shifts = std::span(rule.right_shift).first(static_cast<size_t>(channels));
  if (!kernels_make_bytes() || rule.zero_point < std::numeric_limits<int8_t>::min() ||
      rule.zero_point > std::numeric_limits<int8_t>::max() ||
      !std::ranges::all_of(shifts, [](int32_t shift) { return shift > 0; }))
    return std::nullopt;
  Int8Epilogue epilogue(channels);
  epilogue.rule = ByteRule::kRequantize;
  epilogue.zero_point = rule.zero_point;
  epilogue.low = static_cast<int8_t>(rule.low);
  epilogue.high = static_cast<int8_t>(rule.high);
  for (size_t c = 0; c < shifts.size(); ++c) {
    epilogue.column[c] = column[c];
    epilogue.multiplier[c] = rule.multiplier[c];
    epilogue.shift[c] = shifts[c];
    epilogue.addend[c] = int32_t{1} << (shifts[c] - 1);
  }
  return epilogue;
}

}  // namespace

std::optional<Int8Epilogue> IntegerEpilogue::in_registers(std::span<const int32_t> column, int64_t channels) const {
  if (requantization) return in_registers_of(*requantization, column, channels);
  return scales ? int8_epilogue(*scales, out_type, column) : std::nullopt;
}

void IntegerEpilogue::run(const Sums& s, std::byte* out, int64_t out_stride) const {
  if (requantization) {
    requantize({.in = s.sums,
                .in_stride = s.stride,
                .rows = s.rows,
                .channels = s.channels,
                .column = s.column + s.first,
                .multiplier = requantization->multiplier.data() + s.first,
                .right_shift = requantization->right_shift.data() + s.first,
                .zero_point = requantization->zero_point,
                .low = requantization->low,
                .high = requantization->high,
                .out = reinterpret_cast<int8_t*>(out) + s.first,
                .out_stride = out_stride});
    return;
  }
  if (scales) {
    scale_rows({.scales = *scales,
                .in_type = DType::kInt32,
                .out_type = out_type,
                .in = s.sums,
                .out = out + static_cast<size_t>(s.first) * element_bytes(out_type),
                .in_stride = s.stride,
                .out_stride = out_stride,
                .rows = s.rows,
                .first = s.first,
                .channels = s.channels,
                .column = s.column});
    return;
  }
  auto* to = reinterpret_cast<int32_t*>(out) + s.first;
  for (int64_t r = 0; r < s.rows; ++r) {
    for (int64_t c = 0; c < s.channels; ++c) {
      to[r * out_stride + c] = static_cast<int32_t>(static_cast<uint32_t>(s.sums[r * s.stride + c]) +
                                                    static_cast<uint32_t>(s.column[s.first + c]));
    }
  }
}

}  // namespace carina::kernels
