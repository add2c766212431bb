#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/normalize.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <cmath>

#include "kernels/micro/microkernels.h"

HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

// Norms of rows: layer norm and group norm in doubles, batch norm in floats. Plain loops, which the compiler vectorizes
// for the target; eight partial sums in a fixed order, so that the bits do not depend on it.

// The sum of (in[i] - mean)^2.
double squares_here(const float* in, int64_t count, double mean) {
  constexpr int64_t kSums = 8;
  double sums[kSums] = {};
  int64_t i = 0;
  const auto add = [&](int64_t k, float value) {
    const double distance = static_cast<double>(value) - mean;
    sums[k] += distance * distance;
  };
  for (; i + kSums <= count; i += kSums) {
    for (int64_t k = 0; k < kSums; ++k) add(k, in[i + k]);
  }
  for (; i < count; ++i) add(i % kSums, in[i]);
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

RowStatistics normalize_here(const NormalizedRow& row) {
  const auto count = static_cast<double>(row.count);
  const double mean = sum_of(row.in, row.count) / count;
  const double inverse = 1 / std::sqrt(squares_here(row.in, row.count, mean) / count + row.eps);
  const float* in = row.in;
  float* out = row.out;
  if (row.per_weight == 1 && row.scale != nullptr && row.shift != nullptr) {
    for (int64_t i = 0; i < row.count; ++i) {
      const double normalized = (static_cast<double>(in[i]) - mean) * inverse;
      out[i] = static_cast<float>(normalized * static_cast<double>(row.scale[i]) + static_cast<double>(row.shift[i]));
    }
    return {.mean = mean, .inverse_deviation = inverse};
  }
  for (int64_t begin = 0, entry = 0; begin < row.count; begin += row.per_weight, ++entry) {
    const double scale = row.scale == nullptr ? 1 : static_cast<double>(row.scale[entry]);
    const double shift = row.shift == nullptr ? 0 : static_cast<double>(row.shift[entry]);
    for (int64_t i = begin; i < begin + row.per_weight; ++i)
      out[i] = static_cast<float>((static_cast<double>(in[i]) - mean) * inverse * scale + shift);
  }
  return {.mean = mean, .inverse_deviation = inverse};
}

void affine_here(const AffineF32& job) {
  const float *in = job.in, *means = job.mean, *scales = job.scale, *shifts = job.shift;
  float* out = job.out;
  if (job.repeats) {
    const float mean = *means, scale = *scales, shift = *shifts;
    for (int64_t i = 0; i < job.count; ++i) out[i] = (in[i] - mean) * scale + shift;
  } else {
    for (int64_t i = 0; i < job.count; ++i) out[i] = (in[i] - means[i]) * scales[i] + shifts[i];
  }
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(affine_here);
HWY_EXPORT(normalize_here);
HWY_EXPORT(squares_here);

RowStatistics normalize_row(const NormalizedRow& row) {
  return HWY_DYNAMIC_DISPATCH(normalize_here)(row);
}
double squares_of(const float* in, int64_t count, double mean) {
  return HWY_DYNAMIC_DISPATCH(squares_here)(in, count, mean);
}
void affine_f32(const AffineF32& job) {
  HWY_DYNAMIC_DISPATCH(affine_here)(job);
}

}  // namespace carina::kernels
#endif
