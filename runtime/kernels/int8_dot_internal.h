#pragma once

#include <cstdint>

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

// Sums of int8 products that fit int32. On cores with MVE, sixteen products are computed at a time, with the same bits.
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
  for (int32_t left = count; left > 0; left -= 16) {
    const mve_pred16_t lanes = vctp8q(static_cast<uint32_t>(left));
    const int8x16_t x = vldrbq_z_s8(a, lanes), y = vldrbq_z_s8(b, lanes);
    products = vmladavaq_p_s8(products, x, y, lanes);
    sum = vaddvaq_p_s8(sum, y, lanes);
    a += 16;
    b += 16;
  }
  return products + offset * sum;
#else
  int32_t sum = 0;
  for (int32_t i = 0; i < count; ++i) sum += (a[i] + offset) * b[i];
  return sum;
#endif
}

// Adds (a[i] + offset) * b[i] to sums[i] for four i.
inline void add_products(int32_t* sums, const int8_t* a, const int8_t* b, int32_t offset) {
#if defined(__ARM_FEATURE_MVE)
  const int32x4_t x = vaddq_n_s32(vldrbq_s32(a), offset);
  vst1q_s32(sums, vaddq_s32(vld1q_s32(sums), vmulq_s32(x, vldrbq_s32(b))));
#else
  for (int i = 0; i < 4; ++i) sums[i] += (a[i] + offset) * b[i];
#endif
}

// Adds factor * b[i] to sums[i] for four i.
inline void add_multiples(int32_t* sums, int32_t factor, const int8_t* b) {
#if defined(__ARM_FEATURE_MVE)
  vst1q_s32(sums, vmlaq_n_s32(vld1q_s32(sums), vldrbq_s32(b), factor));
#else
  for (int i = 0; i < 4; ++i) sums[i] += factor * b[i];
#endif
}

}  // namespace carina::runtime
