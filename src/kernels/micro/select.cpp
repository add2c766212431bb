#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/select.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <functional>

#include "carina/check.h"
#include "kernels/micro/microkernels.h"

// Comparisons of floats, and the choice between two operands by bytes. Plain loops, which the compiler vectorizes for
// the target.
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

template <typename Op, bool kRepeatsA, bool kRepeatsB>
void compare_row(const CompareF32& job) {
  const float *a = job.a.data, *b = job.b.data;
  uint8_t* HWY_RESTRICT out = job.out;
  const Op op;
  for (int64_t i = 0; i < job.count; ++i) out[i] = op(a[kRepeatsA ? 0 : i], b[kRepeatsB ? 0 : i]) ? 1 : 0;
}

template <typename Op>
void compare_with(const CompareF32& job) {
  if (job.a.repeats) return job.b.repeats ? compare_row<Op, true, true>(job) : compare_row<Op, true, false>(job);
  return job.b.repeats ? compare_row<Op, false, true>(job) : compare_row<Op, false, false>(job);
}

void compare_here(const CompareF32& job) {
  switch (job.op) {
    case Comparison::kEqual:
      return compare_with<std::equal_to<float>>(job);
    case Comparison::kNotEqual:
      return compare_with<std::not_equal_to<float>>(job);
    case Comparison::kLess:
      return compare_with<std::less<float>>(job);
    case Comparison::kLessEqual:
      return compare_with<std::less_equal<float>>(job);
    case Comparison::kGreater:
      return compare_with<std::greater<float>>(job);
    case Comparison::kGreaterEqual:
      return compare_with<std::greater_equal<float>>(job);
  }
  CARINA_UNREACHABLE("comparison", static_cast<int>(job.op));
}

template <bool kRepeatsA, bool kRepeatsB>
void select_row(const SelectF32& job) {
  const float *a = job.a.data, *b = job.b.data;
  for (int64_t i = 0; i < job.count; ++i) {
    const float x = a[kRepeatsA ? 0 : i], y = b[kRepeatsB ? 0 : i];
    job.out[i] = job.mask[i] != 0 ? x : y;
  }
}

void select_here(const SelectF32& job) {
  if (job.a.repeats) return job.b.repeats ? select_row<true, true>(job) : select_row<true, false>(job);
  return job.b.repeats ? select_row<false, true>(job) : select_row<false, false>(job);
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(compare_here);
HWY_EXPORT(select_here);

void compare_f32(const CompareF32& job) {
  HWY_DYNAMIC_DISPATCH(compare_here)(job);
}
void select_f32(const SelectF32& job) {
  HWY_DYNAMIC_DISPATCH(select_here)(job);
}

}  // namespace carina::kernels
#endif
