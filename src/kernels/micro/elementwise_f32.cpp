#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/elementwise_f32.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include "carina/check.h"
#include "kernels/micro/microkernels.h"

// Additions, subtractions, products and quotients of float rows, where an operand may repeat one value.
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Operations for vectors and for the remaining elements.
struct Add {
  HWY_INLINE auto operator()(auto a, auto b) const { return hn::Add(a, b); }
  HWY_INLINE float operator()(float a, float b) const { return a + b; }
};
struct Sub {
  HWY_INLINE auto operator()(auto a, auto b) const { return hn::Sub(a, b); }
  HWY_INLINE float operator()(float a, float b) const { return a - b; }
};
struct Mul {
  HWY_INLINE auto operator()(auto a, auto b) const { return hn::Mul(a, b); }
  HWY_INLINE float operator()(float a, float b) const { return a * b; }
};
struct Div {
  HWY_INLINE auto operator()(auto a, auto b) const { return hn::Div(a, b); }
  HWY_INLINE float operator()(float a, float b) const { return a / b; }
};

template <bool kRepeats>
HWY_INLINE auto load(const float* row, int64_t column) {
  const hn::ScalableTag<float> d;
  if constexpr (kRepeats) {
    return hn::Set(d, *row);
  } else {
    return hn::LoadU(d, row + column);
  }
}

// The last vector of a row is moved back so that it ends with the row. Some elements are computed twice; they are
// computed before anything is written, because the output may be an operand.
template <typename Op, bool kRepeatsA, bool kRepeatsB>
HWY_INLINE void combine_row(const float* a, const float* b, float* out, int64_t columns) {
  const hn::ScalableTag<float> d;
  const auto wide = static_cast<int64_t>(hn::Lanes(d));
  const Op op;
  if (columns < wide) {
    for (int64_t c = 0; c < columns; ++c) out[c] = op(a[kRepeatsA ? 0 : c], b[kRepeatsB ? 0 : c]);
    return;
  }
  const int64_t end = columns - wide;
  const auto last = op(load<kRepeatsA>(a, end), load<kRepeatsB>(b, end));
  for (int64_t c = 0; c < end; c += wide) hn::StoreU(op(load<kRepeatsA>(a, c), load<kRepeatsB>(b, c)), d, out + c);
  hn::StoreU(last, d, out + end);
}

template <typename Op, bool kRepeatsA, bool kRepeatsB>
void combine_rows(const CombineF32& job) {
  const bool is_one = are_one_row(job.columns, job.a, job.b);
  const int64_t rows = is_one ? 1 : job.rows;
  const int64_t columns = is_one ? job.rows * job.columns : job.columns;
  for (int64_t r = 0; r < rows; ++r) {
    combine_row<Op, kRepeatsA, kRepeatsB>(job.a.data + r * job.a.stride, job.b.data + r * job.b.stride,
                                          job.out + r * columns, columns);
  }
}

template <typename Op>
void combine_with(const CombineF32& job) {
  if (job.a.repeats) return job.b.repeats ? combine_rows<Op, true, true>(job) : combine_rows<Op, true, false>(job);
  return job.b.repeats ? combine_rows<Op, false, true>(job) : combine_rows<Op, false, false>(job);
}

void combine_f32_here(const CombineF32& job) {
  switch (job.op) {
    case Combine::kAdd:
      return combine_with<Add>(job);
    case Combine::kSub:
      return combine_with<Sub>(job);
    case Combine::kMul:
      return combine_with<Mul>(job);
    case Combine::kDiv:
      return combine_with<Div>(job);
  }
  CARINA_UNREACHABLE("operation", static_cast<int>(job.op));
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(combine_f32_here);

void combine_f32(const CombineF32& job) {
  HWY_DYNAMIC_DISPATCH(combine_f32_here)(job);
}

}  // namespace carina::kernels
#endif
