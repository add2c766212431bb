#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/int8_dot_internal.h"
#include "runtime/kernels/window_internal.h"

// Code that the integer kernels of ExecuTorch's Cortex-M backend share. Their values are those of its Python
// implementations (module executorch.backends.cortex_m.ops.operators), which follow CMSIS-NN.
namespace carina::runtime {

// A left shift that wraps around, as int64 does in PyTorch.
inline int64_t wrapped_shift(int64_t value, int64_t bits) {
  return static_cast<int64_t>(static_cast<uint64_t>(value) << bits);
}

// CMSIS-NN's arm_nn_requantize: value * multiplier / 2^31 * 2^shift, rounded half up, then half away from zero.
struct Requantization {
  int64_t multiplier = 0;
  int64_t shift = 0;

  [[nodiscard]] bool is_sane() const { return shift >= -31 && shift <= 31; }
  [[nodiscard]] int32_t operator()(int64_t value) const {
    if (shift <= 0 && is_narrow(value) && multiplier >= 0 && is_narrow(multiplier))
      return rounded_shift(static_cast<int32_t>(narrow_high(value)), static_cast<int32_t>(-shift));
    const int64_t high = shift < 0 && is_narrow(value) && is_narrow(multiplier) ? narrow_high(value) : wide_high(value);
    if (shift >= 0) return static_cast<int32_t>(high);
    const int64_t mask = (int64_t{1} << -shift) - 1;
    const int64_t result = high >> -shift;
    const int64_t threshold = (mask >> 1) + (result < 0 ? 1 : 0);
    return static_cast<int32_t>(result + ((high & mask) > threshold ? 1 : 0));
  }

  // value / 2^bits, rounded to the nearest integer, and half away from zero.
  static int32_t rounded_shift(int32_t value, int32_t bits) {
    const int32_t mask = static_cast<int32_t>((uint32_t{1} << bits) - 1);
    const int32_t result = value >> bits;
    return result + ((value & mask) > (mask >> 1) + (result < 0 ? 1 : 0) ? 1 : 0);
  }

 private:
  static bool is_narrow(int64_t value) { return value == static_cast<int32_t>(value); }
  // The high part of the product with 32-bit multiplications only, because small cores have no 64 x 64 bit
  // multiplication.
  [[nodiscard]] int64_t narrow_high(int64_t value) const {
    const int64_t product = int64_t{static_cast<int32_t>(value)} * static_cast<int32_t>(multiplier);
    return (product + (int64_t{1} << 30)) >> 31;
  }
  [[nodiscard]] int64_t wide_high(int64_t value) const {
    const auto product =
        static_cast<uint64_t>(wrapped_shift(value, std::max<int64_t>(shift, 0))) * static_cast<uint64_t>(multiplier);
    return static_cast<int64_t>(product + (uint64_t{1} << 30)) >> 31;
  }
};

// How sums become bytes: requantized, shifted by the zero point and clamped.
struct OutputCodes {
  int64_t zero_point, low, high;

  [[nodiscard]] bool fit() const {
    return std::min({zero_point, low, high}) >= INT8_MIN && std::max({zero_point, low, high}) <= INT8_MAX;
  }
  [[nodiscard]] int8_t operator()(const Requantization& scale, int64_t sum) const {
    return static_cast<int8_t>(std::clamp<int64_t>(scale(sum) + zero_point, low, high));
  }
};

// Four columns of a matrix product, whose rows of `inner` bytes are adjacent. A sum begins with that of its column in
// `starts`, or 0, and with that of its row in `more`, or 0.
struct FourColumns {
  const int8_t *a, *b;
  int32_t inner;
  size_t rows;  // at least one
  const int32_t *starts, *more;
  int8_t* out;
  ptrdiff_t out_step;  // bytes between two output rows
};

// Four int32 sums as bytes, with one requantization or with one each.
class FourCodes {
 public:
  // Whether a requantization applies, if `start` is a part of the sum. All others are rare.
  static bool fits(const Requantization& scale, int32_t start) {
    return scale.shift <= 0 && scale.multiplier >= 0 && scale.multiplier <= INT32_MAX && start >= -INT32_MAX / 2 &&
           start <= INT32_MAX / 2;
  }
#if defined(__ARM_FEATURE_MVE)
  [[gnu::always_inline]] FourCodes(const Requantization& scale, const OutputCodes& codes)
      : FourCodes(vdupq_n_s32(static_cast<int32_t>(scale.multiplier)), vdupq_n_s32(static_cast<int32_t>(scale.shift)),
                  codes) {}
  [[gnu::always_inline]] FourCodes(const int32_t* multipliers, const int32_t* shifts, const OutputCodes& codes)
      : FourCodes(vld1q_s32(multipliers), vld1q_s32(shifts), codes) {}
  [[gnu::always_inline]] void operator()(int8_t* to, const FourSums& sums) const {
    // Half away from zero: 1 is subtracted from negative numbers before halves are rounded up.
    const int32x4_t high = vqrdmulhq_s32(sums.values(), multipliers_);
    const int32x4_t below = vshrq_n_s32(vandq_s32(high, shifts_), 31);
    const int32x4_t codes = vaddq_n_s32(vrshlq_s32(vqaddq_s32(high, below), shifts_), zero_point_);
    vstrbq_s32(to, vminq_s32(vmaxq_s32(codes, low_), high_));
  }
#if !defined(__clang__)
  // The codes of all rows. GCC would move twice as much between registers and the stack.
  [[gnu::always_inline]] void write_rows(const FourColumns& p) const {
    const int8_t *a = p.a, *b0, *b1, *b2, *b3;
    int8_t* out = p.out;
    const int32_t* more = p.more;
    const int32_t steps[2] = {p.inner - (p.inner + 15) / 16 * 16, p.out_step};  // loads advance by 16
    int32_t s0, s1, s2, s3;
    int32x4_t sums, x, y;
    const int8_t* const columns[4] = {p.b, p.b + p.inner, p.b + 2 * p.inner, p.b + 3 * p.inner};
    const int8_t* const end = out + static_cast<ptrdiff_t>(p.rows) * p.out_step;
    int32_t starts[4];
    vst1q_s32(starts, p.starts == nullptr ? vdupq_n_s32(0) : vld1q_s32(p.starts));
#define CARINA_ROWS(add_more)                                                                                          \
  asm volatile(                                                                                                        \
      "1:\n"                                                                                                           \
      "ldrd %[b0], %[b1], %[b01]\n"                                                                                    \
      "ldrd %[b2], %[b3], %[b23]\n"                                                                                    \
      "ldrd %[s0], %[s1], %[s01]\n"                                                                                    \
      "ldrd %[s2], %[s3], %[s23]\n"                                                                                    \
      "wlstp.8 lr, %[inner], 3f\n"                                                                                     \
      "2:\n"                                                                                                           \
      "vldrb.8 %q[x], [%[a]], #16\n"                                                                                   \
      "vldrb.8 %q[y], [%[b0]], #16\n"                                                                                  \
      "vmladava.s8 %[s0], %q[x], %q[y]\n"                                                                              \
      "vldrb.8 %q[sums], [%[b1]], #16\n"                                                                               \
      "vmladava.s8 %[s1], %q[x], %q[sums]\n"                                                                           \
      "vldrb.8 %q[y], [%[b2]], #16\n"                                                                                  \
      "vmladava.s8 %[s2], %q[x], %q[y]\n"                                                                              \
      "vldrb.8 %q[sums], [%[b3]], #16\n"                                                                               \
      "vmladava.s8 %[s3], %q[x], %q[sums]\n"                                                                           \
      "letp lr, 2b\n"                                                                                                  \
      "3:\n"                                                                                                           \
      "vmov %q[sums][2], %q[sums][0], %[s0], %[s2]\n"                                                                  \
      "vmov %q[sums][3], %q[sums][1], %[s1], %[s3]\n" add_more                                                         \
      "vqrdmulh.s32 %q[sums], %q[sums], %q[multipliers]\n"                                                             \
      "vand %q[x], %q[sums], %q[shifts]\n"                                                                             \
      "vshr.s32 %q[x], %q[x], #31\n"                                                                                   \
      "vqadd.s32 %q[sums], %q[sums], %q[x]\n"                                                                          \
      "vrshl.s32 %q[sums], %q[sums], %q[shifts]\n"                                                                     \
      "vadd.i32 %q[sums], %q[sums], %q[zero]\n"                                                                        \
      "vmax.s32 %q[sums], %q[sums], %q[low]\n"                                                                         \
      "vmin.s32 %q[sums], %q[sums], %q[high]\n"                                                                        \
      "vstrb.32 %q[sums], [%[out]]\n"                                                                                  \
      "ldrd %[s0], %[s1], %[steps]\n"                                                                                  \
      "ldr %[s2], %[end]\n"                                                                                            \
      "add %[a], %[a], %[s0]\n"                                                                                        \
      "add %[out], %[out], %[s1]\n"                                                                                    \
      "cmp %[out], %[s2]\n"                                                                                            \
      "bne 1b\n"                                                                                                       \
      : [a] "+r"(a), [out] "+r"(out), [b0] "=&r"(b0), [b1] "=&r"(b1), [b2] "=&r"(b2), [b3] "=&r"(b3), [s0] "=&Te"(s0), \
        [s1] "=&Te"(s1), [s2] "=&Te"(s2), [s3] "=&Te"(s3), [sums] "=&w"(sums), [x] "=&w"(x), [y] "=&w"(y),             \
        [more] "+m"(more)                                                                                              \
      : [inner] "r"(p.inner), [b01] "m"(columns[0]), [b23] "m"(columns[2]), [s01] "m"(starts[0]),                      \
        [s23] "m"(starts[2]), [steps] "m"(steps[0]), [end] "m"(end), [multipliers] "w"(multipliers_),                  \
        [shifts] "w"(shifts_), [zero] "w"(zero), [low] "w"(low_), [high] "w"(high_)                                    \
      : "memory", "lr", "cc")
    const int32x4_t zero = vdupq_n_s32(zero_point_);
    if (more == nullptr) {
      CARINA_ROWS("");
    } else {
      CARINA_ROWS(
          "ldr %[b0], %[more]\n"
          "ldr %[b1], [%[b0]], #4\n"
          "vadd.i32 %q[sums], %q[sums], %[b1]\n"
          "str %[b0], %[more]\n");
    }
#undef CARINA_ROWS
  }
#else  // clang has too few registers for this assembly
  void write_rows(const FourColumns& p) const {
    const int8_t* a = p.a;
    int8_t* out = p.out;
    for (size_t row = 0; row < p.rows; ++row, a += p.inner, out += p.out_step) {
      int32_t sums[4];
      for (int i = 0; i < 4; ++i)
        sums[i] = dot(a, p.b + i * p.inner, p.inner, 0) + (p.starts == nullptr ? 0 : p.starts[i]) +
                  (p.more == nullptr ? 0 : p.more[row]);
      (*this)(out, FourSums(sums));
    }
  }
#endif

 private:
  [[gnu::always_inline]] FourCodes(int32x4_t multipliers, int32x4_t shifts, const OutputCodes& codes)
      : multipliers_(multipliers),
        shifts_(shifts),
        low_(vdupq_n_s32(static_cast<int32_t>(codes.low))),
        high_(vdupq_n_s32(static_cast<int32_t>(codes.high))),
        zero_point_(static_cast<int32_t>(codes.zero_point)) {}

  int32x4_t multipliers_, shifts_, low_, high_;
  int32_t zero_point_;
#else
  FourCodes(const Requantization& scale, const OutputCodes& codes) : codes_(codes) { scales_.fill(scale); }
  FourCodes(const int32_t* multipliers, const int32_t* shifts, const OutputCodes& codes) : codes_(codes) {
    for (size_t i = 0; i < 4; ++i) scales_[i] = {.multiplier = multipliers[i], .shift = shifts[i]};
  }
  void operator()(int8_t* to, const FourSums& sums) const {
    for (size_t i = 0; i < 4; ++i) to[i] = codes_(scales_[i], sums.values()[i]);
  }

  // The codes of all rows.
  void write_rows(const FourColumns& p) const {
    const int8_t* a = p.a;
    int8_t* out = p.out;
    for (size_t row = 0; row < p.rows; ++row, a += p.inner, out += p.out_step) {
      FourSums sums(p.starts);
      sums.add_dots(a, p.b, p.inner, p.inner);
      if (p.more != nullptr) sums.add(p.more[row]);
      (*this)(out, sums);
    }
  }

 private:
  std::array<Requantization, 4> scales_{};
  OutputCodes codes_;
#endif
};

inline Requantization requantization(Call& call, size_t multiplier) {
  const Requantization scale{.multiplier = call.integer(multiplier), .shift = call.integer(multiplier + 1)};
  call.require(scale.is_sane());
  return scale;
}

// Rows of int8 of a matrix product.
struct Int8Rows {
  const int8_t* data;
  int64_t offset;  // added to each element
};

// out[m, n] = codes(scale(start[n] + the sum of (a[m, k] + a.offset) * (b[n, k] + b.offset) over k)). Columns have
// scales of their own if `multipliers` and `shifts` are given.
struct Int8Product {
  Int8Rows a, b;
  int64_t rows, columns, inner;
  const int32_t* start = nullptr;  // one per column, or nullptr: 0
  Requantization scale{};
  const int32_t *multipliers = nullptr, *shifts = nullptr;
  OutputCodes codes;

  // Whether four columns can be computed at a time.
  [[nodiscard]] bool fits_fours() const;
  void write_to(int8_t* out, bool in_fours) const;
};

// The axis order of an image tensor: [N, C, H, W] or [N, H, W, C].
enum class Axes : uint8_t { kNchw, kNhwc };
bool image_of(const Tensor& tensor, Axes axes, Image& image);

}  // namespace carina::runtime
