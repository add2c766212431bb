#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/combine_i32.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>

#include "carina/check.h"
#include "kernels/micro/microkernels.h"
#include "kernels/micro/widen_inl.h"

// Sums, differences and products of integer rows. The first operand may be narrow, with a zero point and a scale of
// 2^left_shift; the second may repeat one value.
//   Example: a = i8 [130 - 128 ...], zero point 1, left shift 3: (a - 1) * 8 - b, in 32 bits.
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D32 = hn::ScalableTag<int32_t>;
using V32 = hn::Vec<D32>;

struct Add {
  HWY_INLINE V32 operator()(V32 a, V32 b) const { return hn::Add(a, b); }
};
struct Sub {
  HWY_INLINE V32 operator()(V32 a, V32 b) const { return hn::Sub(a, b); }
};
struct SubFrom {
  HWY_INLINE V32 operator()(V32 a, V32 b) const { return hn::Sub(b, a); }
};
struct Mul {
  HWY_INLINE V32 operator()(V32 a, V32 b) const { return hn::Mul(a, b); }
};
struct Square {
  HWY_INLINE V32 operator()(V32 a, V32) const { return hn::Mul(a, a); }
};

// The value of an element. `kShifts`: as NarrowRows says; otherwise the zero point and the shift are 0.
template <bool kShifts>
struct Value {
  V32 zero_point;
  int left_shift;

  template <typename In>
  HWY_INLINE V32 operator()(const In* in) const {
    if constexpr (sizeof(In) == 4) return load_i32(in);
    const V32 value = hn::Sub(load_i32(in), zero_point);
    if constexpr (kShifts) return hn::ShiftLeftSame(value, left_shift);
    return value;
  }
};

// `b` is one element for all columns, or one for each. The last elements go through buffers of one vector.
template <typename Op, bool kRepeats, typename Value, typename In>
HWY_INLINE void combine_row(const Value& value, const In* a, const int32_t* b, int32_t* out, int64_t columns) {
  const D32 d32;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d32));
  const Op op;
  const V32 one = hn::Set(d32, *b);
  const auto result = [&](int64_t c) HWY_ATTR {
    if constexpr (kRepeats) return op(value(a + c), one);
    return op(value(a + c), hn::LoadU(d32, b + c));
  };
  int64_t c = 0;
  for (; c + 2 * lanes <= columns; c += 2 * lanes) {
    const V32 first = result(c), second = result(c + lanes);
    hn::StoreU(first, d32, out + c);
    hn::StoreU(second, d32, out + c + lanes);
  }
  for (; c + lanes <= columns; c += lanes) hn::StoreU(result(c), d32, out + c);
  if (c == columns) return;
  In rest_a[kLanes] = {};
  int32_t rest_b[kLanes] = {}, rest[kLanes];
  for (int64_t i = c; i < columns; ++i) {
    rest_a[i - c] = a[i];
    rest_b[i - c] = b[kRepeats ? 0 : i];
  }
  hn::StoreU(op(value(rest_a), hn::LoadU(d32, rest_b)), d32, rest);
  std::copy_n(rest, columns - c, out + c);
}

template <typename Op, bool kRepeats, bool kShifts, typename In>
void combine_rows_with(const CombineI32& job) {
  const bool is_one = are_one_row(job.columns, job.a, job.b);
  const int64_t rows = is_one ? 1 : job.rows, columns = is_one ? job.rows * job.columns : job.columns;
  const Value<kShifts> value{.zero_point = hn::Set(D32(), job.a.zero_point), .left_shift = job.a.left_shift};
  for (int64_t r = 0; r < rows; ++r) {
    combine_row<Op, kRepeats>(value, static_cast<const In*>(job.a.data) + r * job.a.stride,
                              job.b.data + r * job.b.stride, job.out + r * columns, columns);
  }
}

template <typename Op, typename In>
void combine_rows(const CombineI32& job) {
  if (job.b.repeats)
    return job.a.left_shift == 0 ? combine_rows_with<Op, true, false, In>(job)
                                 : combine_rows_with<Op, true, true, In>(job);
  return job.a.left_shift == 0 ? combine_rows_with<Op, false, false, In>(job)
                               : combine_rows_with<Op, false, true, In>(job);
}

template <typename Op>
void combine_as(const CombineI32& job) {
  switch (job.a.type) {
    case DType::kInt8:
      return combine_rows<Op, int8_t>(job);
    case DType::kInt16:
      return combine_rows<Op, int16_t>(job);
    case DType::kInt32:
      return combine_rows<Op, int32_t>(job);
    default:
      CARINA_UNREACHABLE("type", job.a.type);
  }
}

void combine_i32_here(const CombineI32& job) {
  switch (job.op) {
    case CombineIntegers::kAdd:
      return combine_as<Add>(job);
    case CombineIntegers::kSub:
      return combine_as<Sub>(job);
    case CombineIntegers::kSubFrom:
      return combine_as<SubFrom>(job);
    case CombineIntegers::kMul:
      return combine_as<Mul>(job);
    case CombineIntegers::kSquare:
      return combine_as<Square>(job);
  }
  CARINA_UNREACHABLE("operation", static_cast<int>(job.op));
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(combine_i32_here);

void combine_i32(const CombineI32& job) {
  HWY_DYNAMIC_DISPATCH(combine_i32_here)(job);
}

}  // namespace carina::kernels
#endif
