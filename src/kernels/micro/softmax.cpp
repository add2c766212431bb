#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/softmax.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>
#include <cmath>

#include "kernels/micro/microkernels.h"

HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Softmax, sums and clamps of floats. Plain loops are vectorized by the compiler for the target. The library is
// compiled without fusing products and sums, so the bits do not depend on the target.

void clamp_here(const float* in, float* out, int64_t count, float low, float high) {
  for (int64_t i = 0; i < count; ++i) {
    const float value = in[i] < low ? low : in[i];
    out[i] = value > high ? high : value;
  }
}

double sum_here(const float* in, int64_t count) {
  constexpr int64_t kSums = 8;
  double sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int64_t k = 0; k < kSums; ++k) sums[k] += static_cast<double>(in[i + k]);
  }
  for (; i < count; ++i) sums[i % kSums] += static_cast<double>(in[i]);
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

void add_rows_here(const float* HWY_RESTRICT in, int64_t rows, int64_t columns, double* HWY_RESTRICT sums) {
  for (int64_t r = 0; r < rows; ++r, in += columns) {
    for (int64_t c = 0; c < columns; ++c) sums[c] += static_cast<double>(in[c]);
  }
}

// Calls body(d, i) for whole vectors of `count` floats, then for each of the remaining elements with a vector of one
// lane. The conditions of these loops keep compilers from vectorizing them for targets without masks.
template <typename Body>
HWY_INLINE void for_vectors(int64_t count, const Body& body) {
  const hn::ScalableTag<float> d;
  const auto wide = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + wide <= count; i += wide) body(d, i);
  for (; i < count; ++i) body(hn::CappedTag<float, 1>(), i);
}

// e^x for x <= 0, as 2^n e^r with |r| <= ln 2 / 2. The result is 0 if it is below the normal floats; NaN propagates.
template <typename D, typename V = hn::Vec<D>>
HWY_INLINE V exponential(D d, V x) {
  const hn::RebindToSigned<D> integers;
  const V low = hn::Set(d, -87.0F);
  const auto is_low = hn::Lt(x, low), is_number = hn::Eq(x, x);
  const V bounded = hn::IfThenElse(is_low, low, x);
  const V to_nearest = hn::Set(d, 12582912.0F);  // 1.5 * 2^23: a sum with it has no fraction
  const V n = hn::Sub(hn::Add(hn::Mul(bounded, hn::Set(d, 1.44269504F)), to_nearest), to_nearest);
  const V r = hn::Sub(hn::Sub(bounded, hn::Mul(n, hn::Set(d, 0.693359375F))), hn::Mul(n, hn::Set(d, -2.12194440e-4F)));
  V p = hn::Set(d, 1.9875691500e-4F);
  for (const float coefficient :
       {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F})
    p = hn::Add(hn::Mul(p, r), hn::Set(d, coefficient));
  const V value = hn::Add(hn::Add(hn::Mul(p, hn::Mul(r, r)), r), hn::Set(d, 1.0F));
  const V biased = hn::IfThenElseZero(is_number, hn::Add(n, hn::Set(d, 127.0F)));
  const V two_to_n = hn::BitCast(d, hn::ShiftLeft<23>(hn::ConvertTo(integers, biased)));
  return hn::IfThenElse(is_number, hn::IfThenZeroElse(is_low, hn::Mul(value, two_to_n)), x);
}

// The larger of the two; NaN if one of them is.
template <typename V>
HWY_INLINE V larger(V max, V x) {
  return hn::IfThenElse(hn::Or(hn::Gt(x, max), hn::Ne(x, x)), x, max);
}

float max_of(const float* in, int64_t count) {
  const hn::ScalableTag<float> d;
  const auto wide = static_cast<int64_t>(hn::Lanes(d));
  float max = in[0];
  int64_t i = 0;
  if (count >= wide) {
    auto maxima = hn::LoadU(d, in);
    for (i = wide; i + wide <= count; i += wide) maxima = larger(maxima, hn::LoadU(d, in + i));
    HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(maxima, d, lanes);
    max = lanes[0];
    for (int64_t lane = 1; lane < wide; ++lane)
      max = lanes[lane] > max || lanes[lane] != lanes[lane] ? lanes[lane] : max;
  }
  for (; i < count; ++i) max = in[i] > max || in[i] != in[i] ? in[i] : max;
  return max;
}

void softmax_here(const float* in, float* out, int64_t count, bool log) {
  const float max = max_of(in, count);
  for_vectors(count, [&](auto d, int64_t i) {
    hn::StoreU(exponential(d, hn::Sub(hn::LoadU(d, in + i), hn::Set(d, max))), d, out + i);
  });
  const auto sum = static_cast<float>(sum_here(out, count));
  if (log) {
    const float log_sum = std::log(sum);
    for (int64_t i = 0; i < count; ++i) out[i] = in[i] - max - log_sum;
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = out[i] / sum;
  }
}

void softmax_columns_here(const SoftmaxColumns& job) {
  HWY_ALIGN float max[kSoftmaxColumns];
  double sum[kSoftmaxColumns] = {};
  float total[kSoftmaxColumns];
  const int64_t columns = job.columns;
  std::copy_n(job.in, columns, max);
  for (int64_t row = 1; row < job.rows; ++row) {
    const float* in = job.in + row * job.stride;
    for_vectors(columns, [&](auto d, int64_t c) {
      hn::StoreU(larger(hn::LoadU(d, max + c), hn::LoadU(d, in + c)), d, max + c);
    });
  }
  for (int64_t row = 0; row < job.rows; ++row) {
    const float* in = job.in + row * job.stride;
    float power[kSoftmaxColumns];
    for_vectors(columns, [&](auto d, int64_t c) {
      hn::StoreU(exponential(d, hn::Sub(hn::LoadU(d, in + c), hn::LoadU(d, max + c))), d, power + c);
    });
    for (int64_t c = 0; c < columns; ++c) sum[c] += static_cast<double>(power[c]);
    if (!job.log) std::copy_n(power, columns, job.out + row * job.stride);
  }
  for (int64_t c = 0; c < columns; ++c)
    total[c] = job.log ? std::log(static_cast<float>(sum[c])) : static_cast<float>(sum[c]);
  for (int64_t row = 0; row < job.rows; ++row) {
    const float* in = job.in + row * job.stride;
    float* out = job.out + row * job.stride;
    if (job.log) {
      for (int64_t c = 0; c < columns; ++c) out[c] = in[c] - max[c] - total[c];
    } else {
      for (int64_t c = 0; c < columns; ++c) out[c] = out[c] / total[c];
    }
  }
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(clamp_here);
HWY_EXPORT(sum_here);
HWY_EXPORT(add_rows_here);
HWY_EXPORT(softmax_here);
HWY_EXPORT(softmax_columns_here);

void clamp_f32(const float* in, float* out, int64_t count, float low, float high) {
  HWY_DYNAMIC_DISPATCH(clamp_here)(in, out, count, low, high);
}
double sum_of(const float* in, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_here)(in, count);
}
void add_rows(const float* in, int64_t rows, int64_t columns, double* sums) {
  HWY_DYNAMIC_DISPATCH(add_rows_here)(in, rows, columns, sums);
}
void softmax_row(const float* in, float* out, int64_t count, bool log) {
  HWY_DYNAMIC_DISPATCH(softmax_here)(in, out, count, log);
}
void softmax_columns(const SoftmaxColumns& job) {
  HWY_DYNAMIC_DISPATCH(softmax_columns_here)(job);
}

}  // namespace carina::kernels
#endif
