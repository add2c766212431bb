#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "runtime/kernels/float_vectors_internal.h"

// Sums of products of floats, which matrix products and convolutions share, and sums of floats. The terms of each sum
// are added one after the other, so the bits are those of a loop over one sum; several sums at a time need fewer loads.
namespace carina::runtime {

// A run of terms: their number, and the distances between two of them in both operands.
struct Terms {
  size_t count = 1;
  ptrdiff_t a_step = 0, b_step = 0;
};

// Sums that begin with 0. The C library of firmware would set an array byte by byte.
template <size_t kSums>
struct FloatSums {
  std::array<float, kSums> sums;
  [[gnu::always_inline]] FloatSums() { sums.fill(0); }
  [[nodiscard]] std::array<float, kSums> values() const { return sums; }
};
#if defined(CARINA_MVE_FLOATS)
template <>
struct FloatSums<4> {
  float32x4_t sums = vdupq_n_f32(0);
  [[gnu::always_inline]] [[nodiscard]] std::array<float, 4> values() const {
    std::array<float, 4> stored;
    vst1q_f32(stored.data(), sums);
    return stored;
  }
};
#endif

// Adds a[k * a_step] * b[k * b_step + i * b_next] to sums[i] for all terms k, at least one. The sums are parameters of
// their own, because compilers that optimize for size keep an array in memory.
template <size_t... kIndexes, typename... Sums>
[[gnu::always_inline]] inline void add_products_to(std::index_sequence<kIndexes...> /*indexes*/, const float* a,
                                                   const float* b, ptrdiff_t b_next, const Terms& terms,
                                                   Sums&... sums) {
  const ptrdiff_t a_step = terms.a_step, b_step = terms.b_step;
  size_t left = terms.count;
  do {
    const float factor = *a;
    ((sums += factor * b[static_cast<ptrdiff_t>(kIndexes) * b_next]), ...);
    a += a_step;
    b += b_step;
  } while (--left != 0);
}

[[gnu::always_inline]] inline void add_products(FloatSums<1>& of, const float* a, const float* b, ptrdiff_t b_next,
                                                const Terms& terms) {
  float sum = of.sums[0];
  add_products_to(std::make_index_sequence<1>(), a, b, b_next, terms, sum);
  of.sums = {sum};
}
#if defined(CARINA_MVE_FLOATS)
[[gnu::always_inline]] inline void add_products(FloatSums<4>& of, const float* a, const float* b, ptrdiff_t b_next,
                                                const Terms& terms) {
  const ptrdiff_t a_step = terms.a_step, b_step = terms.b_step;
  const uint32x4_t offsets = vmulq_n_u32(vidupq_n_u32(0, 1), static_cast<uint32_t>(b_next));
  float32x4_t total = of.sums;
  size_t left = terms.count;
  do {
    total = vaddq_f32(total, vmulq_n_f32(vldrwq_gather_shifted_offset_f32(b, offsets), *a));
    a += a_step;
    b += b_step;
  } while (--left != 0);
  of.sums = total;
}
#else
[[gnu::always_inline]] inline void add_products(FloatSums<4>& of, const float* a, const float* b, ptrdiff_t b_next,
                                                const Terms& terms) {
  auto [s0, s1, s2, s3] = of.sums;
  add_products_to(std::make_index_sequence<4>(), a, b, b_next, terms, s0, s1, s2, s3);
  of.sums = {s0, s1, s2, s3};
}
#endif

// Calls function(element) for `count` elements of a row in their order, four per pass of the loop.
template <typename Function>
[[gnu::always_inline]] inline void for_floats(const float* from, ptrdiff_t step, size_t count,
                                              const Function& function) {
  if (size_t left = count / 4; left > 0) {
    do {
      function(*from), from += step;
      function(*from), from += step;
      function(*from), from += step;
      function(*from), from += step;
    } while (--left != 0);
  }
  if (size_t left = count % 4; left > 0) {
    do {
      function(*from), from += step;
    } while (--left != 0);
  }
}

// A sum of floats in double, one after the other.
[[gnu::noinline]] inline double add_floats(double sum, const float* from, ptrdiff_t step, size_t count) {
  const auto add = [&](float value) __attribute__((always_inline)) { sum += static_cast<double>(value); };
  if (step == 1)
    for_floats(from, 1, count, add);
  else
    for_floats(from, step, count, add);
  return sum;
}

}  // namespace carina::runtime
