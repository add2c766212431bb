#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/interpolate.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include "kernels/micro/microkernels.h"

// Weighted sums of two neighbors, for images that are resized. Plain loops, which the compiler vectorizes for the
// target.
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

void sum_columns_here(const WeightedColumns& job) {
  int32_t* HWY_RESTRICT out = job.out;
  for (const WeightedColumns::Column& column : job.columns) {
    const int8_t *first = job.in + column.first, *second = job.in + column.second;
    const int32_t a = column.first_weight, b = column.second_weight;
    for (int64_t c = 0; c < job.channels; ++c) out[c] = first[c] * a + second[c] * b;
    out += job.channels;
  }
}

template <typename T>
HWY_INLINE void sum_rows(const WeightedSum<T>& job) {
  const T *a = job.a, *b = job.b;
  const T a_weight = job.a_weight, b_weight = job.b_weight;
  T* HWY_RESTRICT out = job.out;
  for (int64_t i = 0; i < job.count; ++i) out[i] = a_weight * a[i] + b_weight * b[i];
}
void sum_floats_here(const WeightedSum<float>& job) {
  sum_rows(job);
}
void sum_integers_here(const WeightedSum<int32_t>& job) {
  sum_rows(job);
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(sum_columns_here);
HWY_EXPORT(sum_floats_here);
HWY_EXPORT(sum_integers_here);

void weighted_columns(const WeightedColumns& job) {
  HWY_DYNAMIC_DISPATCH(sum_columns_here)(job);
}
void weighted_sum(const WeightedSum<float>& job) {
  HWY_DYNAMIC_DISPATCH(sum_floats_here)(job);
}
void weighted_sum(const WeightedSum<int32_t>& job) {
  HWY_DYNAMIC_DISPATCH(sum_integers_here)(job);
}

}  // namespace carina::kernels
#endif
