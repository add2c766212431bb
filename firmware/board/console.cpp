#include "firmware/board/console.h"

#include <algorithm>
#include <cmath>

namespace carina::firmware {

namespace {

constexpr double kTwoToThe63 = 9223372036854775808.0;

uint64_t power_of_ten(int exponent) {
  uint64_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

}  // namespace

Line& Line::text(std::string_view text) {
  const size_t count = std::min(text.size(), text_.size() - size_);
  std::copy_n(text.data(), count, text_.data() + size_);
  size_ += count;
  return *this;
}

Line& Line::digits(uint64_t value, int at_least) {
  std::array<char, 20> reversed{};
  size_t count = 0;
  do {
    reversed[count++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0 || count < static_cast<size_t>(at_least));
  while (count > 0) text({&reversed[--count], 1});
  return *this;
}

Line& Line::number(int64_t value) {
  if (value < 0) text("-");
  return digits(value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value), 1);
}

Line& Line::hex(uint32_t value) {
  text("0x");
  for (int shift = 28; shift >= 0; shift -= 4) text({&"0123456789abcdef"[value >> shift & 15], 1});
  return *this;
}

Line& Line::fixed(double value, int decimals) {
  if (std::isnan(value)) return text("nan");
  if (std::signbit(value)) text("-");
  value = std::fabs(value);
  if (std::isinf(value)) return text("inf");
  int exponent = 0;
  for (; value >= kTwoToThe63 / 1e9; ++exponent) value /= 10;
  const uint64_t scale = power_of_ten(decimals);
  auto whole = static_cast<uint64_t>(value);
  auto part = static_cast<uint64_t>((value - static_cast<double>(whole)) * static_cast<double>(scale) + 0.5);
  if (part >= scale) {
    ++whole;
    part -= scale;
  }
  digits(whole, 1);
  if (decimals > 0) text(".").digits(part, decimals);
  return exponent > 0 ? text("e").number(exponent) : *this;
}

}  // namespace carina::firmware
