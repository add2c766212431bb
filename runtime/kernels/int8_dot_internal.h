#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

// Sums of int8 products that fit int32. On cores with MVE, sixteen products are computed at a time, with the same bits.
// Those loops are assembly, because GCC writes no tail-predicated loops of intrinsics before version 15.
namespace carina::runtime {

inline constexpr int64_t kMaxOffset = 255;                                       // the maximum magnitude
inline constexpr int64_t kMaxProducts = INT32_MAX / ((128 + kMaxOffset) * 128);  // products in one sum
constexpr bool sums_fit(int64_t products, int64_t offset) {
  return products <= kMaxProducts && offset >= -kMaxOffset && offset <= kMaxOffset;
}

// The sum of (a[i] + offset) * b[i].
inline int32_t dot(const int8_t* a, const int8_t* b, int32_t count, int32_t offset) {
#if defined(__ARM_FEATURE_MVE)
  int32_t products = 0, sum = 0;
  asm volatile(
      "wlstp.8 lr, %[count], 2f\n"
      "1:\n"
      "vldrb.8 q0, [%[a]], #16\n"
      "vldrb.8 q1, [%[b]], #16\n"
      "vmladava.s8 %[products], q0, q1\n"
      "vaddva.s8 %[sum], q1\n"
      "letp lr, 1b\n"
      "2:\n"
      : [a] "+r"(a), [b] "+r"(b), [products] "+Te"(products), [sum] "+Te"(sum)
      : [count] "r"(count)
      : "q0", "q1", "memory", "lr");
  return products + offset * sum;
#else
  int32_t sum = 0;
  for (int32_t i = 0; i < count; ++i) sum += (a[i] + offset) * b[i];
  return sum;
#endif
}

// The sum of a[i].
inline int32_t sum_of(const int8_t* a, int32_t count) {
  int32_t sum = 0;
#if defined(__ARM_FEATURE_MVE)
  asm volatile(
      "wlstp.8 lr, %[count], 2f\n"
      "1:\n"
      "vldrb.8 q0, [%[a]], #16\n"
      "vaddva.s8 %[sum], q0\n"
      "letp lr, 1b\n"
      "2:\n"
      : [a] "+r"(a), [sum] "+Te"(sum)
      : [count] "r"(count)
      : "q0", "memory", "lr");
#else
  for (int32_t i = 0; i < count; ++i) sum += a[i];
#endif
  return sum;
}

// Copies `count` adjacent elements.
inline void copy_bytes(const int8_t* from, int8_t* to, int32_t count) {
#if defined(__ARM_FEATURE_MVE)
  asm volatile(
      "wlstp.8 lr, %[count], 2f\n"
      "1:\n"
      "vldrb.8 q0, [%[from]], #16\n"
      "vstrb.8 q0, [%[to]], #16\n"
      "letp lr, 1b\n"
      "2:\n"
      : [from] "+r"(from), [to] "+r"(to)
      : [count] "r"(count)
      : "q0", "memory", "lr");
#else
  std::memcpy(to, from, static_cast<size_t>(count));
#endif
}

// Four sums, which start with four int32, or with 0 if `starts` is nullptr.
class FourSums {
 public:
#if defined(__ARM_FEATURE_MVE)
  explicit FourSums(const int32_t* starts) : sums_(starts == nullptr ? vdupq_n_s32(0) : vld1q_s32(starts)) {}
  // Adds (a[i] + offset) * b[i] to sum i.
  void add_products(const int8_t* a, const int8_t* b, int32_t offset) {
    sums_ = vaddq_s32(sums_, vmulq_s32(vaddq_n_s32(vldrbq_s32(a), offset), vldrbq_s32(b)));
  }
  // Adds factor * b[i] to sum i.
  void add_multiples(int32_t factor, const int8_t* b) { sums_ = vmlaq_n_s32(sums_, vldrbq_s32(b), factor); }
  [[nodiscard]] int32x4_t values() const { return sums_; }

 private:
  int32x4_t sums_;
#else
  explicit FourSums(const int32_t* starts) {
    for (int i = 0; i < 4; ++i) sums_[i] = starts == nullptr ? 0 : starts[i];
  }
  void add(int32_t value) {
    for (int32_t& sum : sums_) sum += value;
  }
  void add_products(const int8_t* a, const int8_t* b, int32_t offset) {
    for (int i = 0; i < 4; ++i) sums_[i] += (a[i] + offset) * b[i];
  }
  void add_multiples(int32_t factor, const int8_t* b) {
    for (int i = 0; i < 4; ++i) sums_[i] += factor * b[i];
  }
  // Adds the sum of a[k] * b[k + i * step] over `count` k to sum i.
  void add_dots(const int8_t* a, const int8_t* b, ptrdiff_t step, int32_t count) {
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;  // in registers
    const int8_t *b1 = b + step, *b2 = b1 + step, *b3 = b2 + step;
    for (int32_t i = 0; i < count; ++i) {
      const int32_t x = a[i];
      s0 += x * b[i], s1 += x * b1[i], s2 += x * b2[i], s3 += x * b3[i];
    }
    sums_[0] += s0, sums_[1] += s1, sums_[2] += s2, sums_[3] += s3;
  }
  [[nodiscard]] const int32_t* values() const { return sums_; }

 private:
  int32_t sums_[4];
#endif
};

}  // namespace carina::runtime
