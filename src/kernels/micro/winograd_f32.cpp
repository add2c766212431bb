#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/winograd_f32.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"
#include "kernels/micro/clamp_inl.h"
#include "kernels/micro/extremes_inl.h"

#include <algorithm>
#include <limits>

#include "kernels/micro/microkernels.h"

// The Winograd transforms of 3x3 convolutions, F(4x4, 3x3) and F(2x2, 3x3): of tiles of the input, of filters, and
// back. A 3x3 filter over a tile of 6x6 inputs gives 4x4 outputs with 36 products for each channel instead of 144.
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Products and sums are rounded one by one, in the same order on every target.

// A row or column of a tile, of its window or of its products: kSide elements, from which kOutputs results are
// computed. Stored elements are `step` floats apart.
struct FourOutputs {
  static constexpr int64_t kOutputs = 4, kSide = 6;

  template <typename D, typename V = hn::Vec<D>>
  static HWY_INLINE void transform(D d, const V (&x)[kSide], float* HWY_RESTRICT out, int64_t step) {
    const V two = hn::Set(d, 2.0F), four = hn::Set(d, 4.0F), five = hn::Set(d, 5.0F);
    const V even = hn::Sub(x[4], hn::Mul(four, x[2])), odd = hn::Sub(x[3], hn::Mul(four, x[1]));
    const V even2 = hn::Sub(x[4], x[2]), odd2 = hn::Mul(two, hn::Sub(x[3], x[1]));
    hn::StoreU(hn::Add(hn::Sub(hn::Mul(four, x[0]), hn::Mul(five, x[2])), x[4]), d, out);
    hn::StoreU(hn::Add(even, odd), d, out + step);
    hn::StoreU(hn::Sub(even, odd), d, out + 2 * step);
    hn::StoreU(hn::Add(even2, odd2), d, out + 3 * step);
    hn::StoreU(hn::Sub(even2, odd2), d, out + 4 * step);
    hn::StoreU(hn::Add(hn::Sub(hn::Mul(four, x[1]), hn::Mul(five, x[3])), x[5]), d, out + 5 * step);
  }
  template <typename D, typename V = hn::Vec<D>>
  static HWY_INLINE void results(D d, const V (&m)[kSide], V (&y)[kOutputs]) {
    const V sum = hn::Add(m[1], m[2]), difference = hn::Sub(m[1], m[2]);
    const V sum2 = hn::Add(m[3], m[4]), difference2 = hn::Sub(m[3], m[4]);
    y[0] = hn::Add(hn::Add(m[0], sum), sum2);
    y[1] = hn::Add(difference, hn::Mul(hn::Set(d, 2.0F), difference2));
    y[2] = hn::Add(sum, hn::Mul(hn::Set(d, 4.0F), sum2));
    y[3] = hn::Add(hn::Add(difference, hn::Mul(hn::Set(d, 8.0F), difference2)), m[5]);
  }
  template <typename D, typename V = hn::Vec<D>>
  static HWY_INLINE void transform_weights(D d, const V (&w)[3], float* HWY_RESTRICT out, int64_t step) {
    const V sixth = hn::Set(d, -1.0F / 6);
    const V sum = hn::Add(w[0], w[2]);
    const V even = hn::Add(hn::Mul(hn::Set(d, 1.0F / 24), w[0]), hn::Mul(hn::Set(d, 1.0F / 6), w[2]));
    const V odd = hn::Mul(hn::Set(d, 1.0F / 12), w[1]);
    hn::StoreU(hn::Mul(hn::Set(d, 0.25F), w[0]), d, out);
    hn::StoreU(hn::Mul(sixth, hn::Add(sum, w[1])), d, out + step);
    hn::StoreU(hn::Mul(sixth, hn::Sub(sum, w[1])), d, out + 2 * step);
    hn::StoreU(hn::Add(even, odd), d, out + 3 * step);
    hn::StoreU(hn::Sub(even, odd), d, out + 4 * step);
    hn::StoreU(w[2], d, out + 5 * step);
  }
};

struct TwoOutputs {
  static constexpr int64_t kOutputs = 2, kSide = 4;

  template <typename D, typename V = hn::Vec<D>>
  static HWY_INLINE void transform(D d, const V (&x)[kSide], float* HWY_RESTRICT out, int64_t step) {
    hn::StoreU(hn::Sub(x[0], x[2]), d, out);
    hn::StoreU(hn::Add(x[1], x[2]), d, out + step);
    hn::StoreU(hn::Sub(x[2], x[1]), d, out + 2 * step);
    hn::StoreU(hn::Sub(x[1], x[3]), d, out + 3 * step);
  }
  template <typename D, typename V = hn::Vec<D>>
  static HWY_INLINE void results(D, const V (&m)[kSide], V (&y)[kOutputs]) {
    y[0] = hn::Add(hn::Add(m[0], m[1]), m[2]);
    y[1] = hn::Sub(hn::Sub(m[1], m[2]), m[3]);
  }
  template <typename D, typename V = hn::Vec<D>>
  static HWY_INLINE void transform_weights(D d, const V (&w)[3], float* HWY_RESTRICT out, int64_t step) {
    const V half = hn::Set(d, 0.5F), sum = hn::Add(w[0], w[2]);
    hn::StoreU(w[0], d, out);
    hn::StoreU(hn::Mul(half, hn::Add(sum, w[1])), d, out + step);
    hn::StoreU(hn::Mul(half, hn::Sub(sum, w[1])), d, out + 2 * step);
    hn::StoreU(w[2], d, out + 3 * step);
  }
};

// Loads kCount vectors that are `step` floats apart.
template <int64_t kCount, typename D, typename V = hn::Vec<D>>
HWY_INLINE void load(D d, const float* from, int64_t step, V (&to)[kCount]) {
  HWY_UNROLL(8)
  for (int64_t i = 0; i < kCount; ++i) to[i] = hn::LoadU(d, from + i * step);
}

template <typename Kind>
void transform_tile(const WinogradTile& job) {
  constexpr int64_t kSide = Kind::kSide;
  const hn::ScalableTag<float> d;
  const auto wide = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN float columns[kSide * kSide * kLanes];  // [row of the transform][column of the tile]
  hn::Vec<decltype(d)> x[kSide];
  for (int64_t c = 0; c < job.channels; c += wide) {
    for (int64_t column = 0; column < kSide; ++column) {
      HWY_UNROLL(8)
      for (int64_t y = 0; y < kSide; ++y) x[y] = hn::LoadU(d, job.x[y * kSide + column] + c);
      Kind::transform(d, x, columns + column * wide, kSide * wide);
    }
    for (int64_t y = 0; y < kSide; ++y) {
      load<kSide>(d, columns + y * kSide * wide, wide, x);
      Kind::transform(d, x, job.out + y * kSide * job.stride + c, job.stride);
    }
  }
}

void transform_here(const WinogradTile& job) {
  job.outputs == 2 ? transform_tile<TwoOutputs>(job) : transform_tile<FourOutputs>(job);
}

template <typename Kind>
void epilogue_tile(const WinogradEpilogue& job) {
  constexpr int64_t kSide = Kind::kSide, kOutputs = Kind::kOutputs;
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const auto wide = static_cast<int64_t>(hn::Lanes(d));
  const V low = hn::Set(d, job.low), high = hn::Set(d, job.high);
  V min = hn::Set(d, std::numeric_limits<float>::infinity()), max = hn::Neg(min);
  auto not_numbers = hn::IsNaN(min);
  HWY_ALIGN float rows[kOutputs * kSide * kLanes];  // [row of the result][column of the product]
  V m[kSide], results[kOutputs];
  for (int64_t c = 0; c < job.channels; c += wide) {
    for (int64_t x = 0; x < kSide; ++x) {
      load<kSide>(d, job.products + x * job.stride + c, kSide * job.stride, m);
      Kind::results(d, m, results);
      for (int64_t y = 0; y < kOutputs; ++y) hn::StoreU(results[y], d, rows + (y * kSide + x) * wide);
    }
    const V bias = hn::LoadU(d, job.bias + c);
    for (int64_t y = 0; y < kOutputs; ++y) {
      load<kSide>(d, rows + y * kSide * wide, wide, m);
      Kind::results(d, m, results);
      for (int64_t x = 0; x < kOutputs; ++x) {
        float* const to = job.out[y * kOutputs + x];
        if (to == nullptr) continue;
        const V value = clamp_vector(hn::Add(results[x], bias), low, high);
        see(value, min, max, not_numbers);
        hn::StoreU(value, d, to + c);
      }
    }
  }
  if (job.extremes != nullptr) job.extremes->add(seen(d, min, max, not_numbers));
}

void winograd_epilogue_here(const WinogradEpilogue& job) {
  job.outputs == 2 ? epilogue_tile<TwoOutputs>(job) : epilogue_tile<FourOutputs>(job);
}

template <typename Kind>
void transform_window(const WinogradWeights& job) {
  constexpr int64_t kSide = Kind::kSide;
  const hn::ScalableTag<float> d;
  const auto wide = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN float columns[kSide * 3 * kLanes];  // [row of the transform][column of the window]
  hn::Vec<decltype(d)> w[3];
  for (int64_t c = 0; c < job.channels; c += wide) {
    for (int64_t x = 0; x < 3; ++x) {
      load<3>(d, job.weights + x * job.channels + c, 3 * job.channels, w);
      Kind::transform_weights(d, w, columns + x * wide, 3 * wide);
    }
    for (int64_t y = 0; y < kSide; ++y) {
      load<3>(d, columns + y * 3 * wide, wide, w);
      Kind::transform_weights(d, w, job.out + y * kSide * job.stride + c, job.stride);
    }
  }
}

void transform_weights_here(const WinogradWeights& job) {
  job.outputs == 2 ? transform_window<TwoOutputs>(job) : transform_window<FourOutputs>(job);
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(transform_here);
HWY_EXPORT(winograd_epilogue_here);
HWY_EXPORT(transform_weights_here);

void transform_winograd(const WinogradTile& job) {
  HWY_DYNAMIC_DISPATCH(transform_here)(job);
}
void winograd_epilogue(const WinogradEpilogue& job) {
  HWY_DYNAMIC_DISPATCH(winograd_epilogue_here)(job);
}

void transform_winograd_weights(const WinogradWeights& job) {
  HWY_DYNAMIC_DISPATCH(transform_weights_here)(job);
}

}  // namespace carina::kernels
#endif
