#include "kernels/micro/targets_internal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/softmax.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/micro/microkernels.h"

HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

// Softmax, sums and clamps of floats: plain loops, which the compiler vectorizes for the target. The library is
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

// Inlined, or the loops around it are not vectors.
// e^x for x <= 0, as 2^n e^r with |r| <= ln 2 / 2. The result is 0 if it is below the normal floats; NaN propagates.
HWY_INLINE float exponential(float x) {
  const float bounded = x < -87.0F ? -87.0F : x;
  const float scaled = bounded * 1.44269504F;
  const float n = (scaled + 12582912.0F) - 12582912.0F;  // rounded to the nearest integer
  const float r = (bounded - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const float value = p * (r * r) + r + 1.0F;
  const float two_to_n = std::bit_cast<float>(static_cast<int32_t>(n == n ? n + 127.0F : 0.0F) << 23);
  const float result = x < -87.0F ? 0.0F : value * two_to_n;
  return x == x ? result : x;
}

void softmax_here(const float* in, float* out, int64_t count, bool log) {
  float max = in[0];
  for (int64_t i = 1; i < count; ++i) max = in[i] > max || in[i] != in[i] ? in[i] : max;
  for (int64_t i = 0; i < count; ++i) out[i] = exponential(in[i] - max);
  const auto sum = static_cast<float>(sum_here(out, count));
  if (log) {
    const float log_sum = std::log(sum);
    for (int64_t i = 0; i < count; ++i) out[i] = in[i] - max - log_sum;
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = out[i] / sum;
  }
}

void softmax_columns_here(const SoftmaxColumns& job) {
  float max[kSoftmaxColumns];
  double sum[kSoftmaxColumns] = {};
  float total[kSoftmaxColumns];
  const int64_t columns = job.columns;
  std::copy_n(job.in, columns, max);
  for (int64_t row = 1; row < job.rows; ++row) {
    const float* in = job.in + row * job.stride;
    for (int64_t c = 0; c < columns; ++c) max[c] = in[c] > max[c] || in[c] != in[c] ? in[c] : max[c];
  }
  for (int64_t row = 0; row < job.rows; ++row) {
    const float* in = job.in + row * job.stride;
    float power[kSoftmaxColumns];
    for (int64_t c = 0; c < columns; ++c) power[c] = exponential(in[c] - max[c]);
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
