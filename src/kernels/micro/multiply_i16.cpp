#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/multiply_i16.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>
#include <cstring>

#include "kernels/micro/microkernels.h"

// Multiplies rows of int16 with int8 weights. Two products at a time are added in 32 bits as long as they fit, and then
// in 64 bits. The weights are widened to 16 bits; element (k, lane) of a panel is at [k / 2][lane][k % 2].
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kPair = 2;
constexpr int64_t kMaxPairs = 128;  // two products are at most 2^23, so 128 pairs fit 32 bits

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

template <int kRows>
void add_pairs(const MatrixJobI16& job, int64_t row, const int16_t* panel, int64_t first, int64_t end,
               int32_t (&sums)[kRows][kLanes]) {
  const hn::CappedTag<int32_t, kLanes> d32;
  const hn::Repartition<int16_t, decltype(d32)> d16;
  constexpr int64_t kWide = hn::MaxLanes(d32);
  constexpr int kVectors = static_cast<int>(kLanes / kWide);
  hn::Vec<decltype(d32)> added[kRows][kVectors];
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) added[r][v] = hn::Zero(d32);
  }
  for (int64_t pair = first; pair < end; ++pair) {
    HWY_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      int32_t two = 0;
      std::memcpy(&two, job.a + (row + r) * job.row_stride + pair * kPair, sizeof(two));
      const auto x = hn::BitCast(d16, hn::Set(d32, two));
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        const auto b = hn::LoadU(d16, panel + (pair * kLanes + v * kWide) * kPair);
        auto unused = hn::Zero(d32);  // on x86 all products are added to the first sum
        added[r][v] = hn::ReorderWidenMulAccumulate(d32, x, b, added[r][v], unused);
      }
    }
  }
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) hn::StoreU(added[r][v], d32, sums[r] + v * kWide);
  }
}

#else

template <int kRows>
void add_pairs(const MatrixJobI16& job, int64_t row, const int16_t* panel, int64_t first, int64_t end,
               int32_t (&sums)[kRows][kLanes]) {
  for (int r = 0; r < kRows; ++r) {
    const int16_t* a = job.a + (row + r) * job.row_stride;
    std::fill_n(sums[r], kLanes, 0);
    for (int64_t pair = first; pair < end; ++pair) {
      const int16_t* b = panel + pair * kLanes * kPair;
      for (int64_t lane = 0; lane < kLanes; ++lane)
        sums[r][lane] += a[2 * pair] * b[2 * lane] + a[2 * pair + 1] * b[2 * lane + 1];
    }
  }
}

#endif

template <int kRows>
void multiply_rows(const MatrixJobI16& job, int64_t row) {
  const int64_t pairs = (job.k + 1) / kPair;
  int32_t sums[kRows][kLanes];
  for (int64_t p = 0; p < job.panel_count; ++p) {
    const int16_t* panel = job.panels + p * pairs * kPair * kLanes;
    for (int r = 0; r < kRows; ++r) std::fill_n(job.c + (row + r) * job.c_stride + p * kLanes, kLanes, int64_t{0});
    for (int64_t first = 0; first < pairs; first += kMaxPairs) {
      add_pairs<kRows>(job, row, panel, first, std::min(pairs, first + kMaxPairs), sums);
      for (int r = 0; r < kRows; ++r) {
        for (int64_t lane = 0; lane < kLanes; ++lane)
          job.c[(row + r) * job.c_stride + p * kLanes + lane] += sums[r][lane];
      }
    }
  }
}

void multiply_i16_here(const MatrixJobI16& job) {
  int64_t row = 0;
  for (; row + 4 <= job.rows; row += 4) multiply_rows<4>(job, row);
  for (; row < job.rows; ++row) multiply_rows<1>(job, row);
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(multiply_i16_here);

void multiply_i16(const MatrixJobI16& job) {
  HWY_DYNAMIC_DISPATCH(multiply_i16_here)(job);
}

std::vector<int16_t> pack_matrix_i16(std::span<const int8_t> weights, int64_t k, int64_t channels) {
  const int64_t row = k + k % 2;
  std::vector<int16_t> panels(static_cast<size_t>(row * padded(channels)), 0);
  for (int64_t c = 0; c < channels; ++c) {
    int16_t* panel = panels.data() + c / kLanes * row * kLanes;
    for (int64_t i = 0; i < k; ++i)
      panel[(i / 2 * kLanes + c % kLanes) * 2 + i % 2] = weights[static_cast<size_t>(c * k + i)];
  }
  return panels;
}

}  // namespace carina::kernels
#endif
