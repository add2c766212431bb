#include "simulate/kernels/lut.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace carina::simulate {

namespace {

constexpr size_t kInterpolatedEntries = 512;

int64_t load_entry(std::span<const std::byte> table, size_t at, int bytes, bool is_signed) {
  uint64_t raw = 0;
  for (int i = bytes - 1; i >= 0; --i) {
    const size_t byte = at + static_cast<size_t>(i);
    raw = raw << 8 | (byte < table.size() ? std::to_integer<uint64_t>(table[byte]) : 0);
  }
  const int unused = 64 - 8 * bytes;
  return is_signed ? static_cast<int64_t>(raw << unused) >> unused : static_cast<int64_t>(raw);
}

// sigmoid(i / 24) in units of 1/65536, moved by half of the error that interpolation has between i and i + 1. The last
// entry is 65535. Source: these are the numbers of TensorFlow Lite's table.
const std::array<uint16_t, 256>& sigmoid_table() {
  static const std::array<uint16_t, 256> table = [] {
    const auto sigmoid = [](double x) { return 65536.0 / (1.0 + std::exp(-x / 24.0)); };
    std::array<uint16_t, 256> values{};
    for (size_t i = 0; i + 1 < values.size(); ++i) {
      const auto x = static_cast<double>(i);
      const double bend = sigmoid(x + 0.5) - (sigmoid(x) + sigmoid(x + 1)) / 2;
      values[i] = static_cast<uint16_t>(std::floor(sigmoid(x) + bend / 2 + 0.5));
    }
    values.back() = 65535;
    return values;
  }();
  return table;
}

// The table at |value|, or `saturated` after its end, with `fraction_bits` below the index, in units of
// 2^-fraction_bits of an entry.
int64_t interpolate(int64_t magnitude, int fraction_bits, int64_t saturated) {
  const int64_t index = magnitude >> fraction_bits;
  if (index >= 255) return saturated;
  const auto& table = sigmoid_table();
  const int64_t low = table[static_cast<size_t>(index)];
  const int64_t high = table[static_cast<size_t>(index) + 1];
  return (low << fraction_bits) + (magnitude & ((int64_t{1} << fraction_bits) - 1)) * (high - low);
}

}  // namespace

size_t lut_bytes(const ElementType& input, const ElementType& output) {
  return input.bytes == 1 ? size_t{256} * output.bytes : kInterpolatedEntries * 4;
}

int64_t look_up(std::span<const std::byte> table, const ElementType& input, const ElementType& output, int64_t value) {
  if (input.bytes == 1) {
    const int64_t index = input.is_signed ? value + 128 : value;
    return load_entry(table, static_cast<size_t>(index & 0xFF) * output.bytes, output.bytes, output.is_signed);
  }
  const auto index = static_cast<size_t>(((value >> 7) + 256) & 511);
  const int64_t fraction = value & 127;
  const int64_t base = load_entry(table, index * 4, 2, true);
  const int64_t slope = load_entry(table, index * 4 + 2, 2, true);
  const int64_t wide = base * 128 + slope * fraction;
  return output.bytes == 2 ? (wide + 64) >> 7 : wide;
}

int64_t tanh_q15(int64_t value) {
  const int64_t wide = interpolate(std::abs(value), 8, int64_t{0xFFFF} << 8);
  const int64_t half = int64_t{1} << 23;
  return (value >= 0 ? wide - half + 128 : half - wide + 127) >> 8;
}

int64_t sigmoid_q15(int64_t value) {
  const int64_t wide = interpolate(std::abs(value), 9, int64_t{0x7FFF} << 10);
  return (value >= 0 ? wide + 512 : (int64_t{1} << 25) - wide + 511) >> 10;
}

}  // namespace carina::simulate
