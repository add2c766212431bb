#pragma once

#include <array>
#include <cstddef>
#include <utility>

// Sums of products of floats, which matrix products and convolutions share, and sums of floats. The terms of each sum
// are added one after the other, so the bits are those of a loop over one sum; several sums at a time need fewer loads.
namespace carina::runtime {

// A run of terms: their number, and the distances between two of them in both operands.
struct Terms {
  size_t count = 1;
  ptrdiff_t a_step = 0, b_step = 0;
};

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

[[gnu::always_inline]] inline void add_products(std::array<float, 1>& sums, const float* a, const float* b,
                                                ptrdiff_t b_next, const Terms& terms) {
  float sum = sums[0];
  add_products_to(std::make_index_sequence<1>(), a, b, b_next, terms, sum);
  sums = {sum};
}
[[gnu::always_inline]] inline void add_products(std::array<float, 4>& sums, const float* a, const float* b,
                                                ptrdiff_t b_next, const Terms& terms) {
  auto [s0, s1, s2, s3] = sums;
  add_products_to(std::make_index_sequence<4>(), a, b, b_next, terms, s0, s1, s2, s3);
  sums = {s0, s1, s2, s3};
}

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
