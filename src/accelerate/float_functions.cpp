#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "accelerate/float_functions.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>

#include "accelerate/float_functions_internal.h"
#include "carina/check.h"
#include "runtime/kernels/float_functions.h"

// The runtime's functions of floats with the vectors of the host. The formulas are those of the runtime, which computes
// four elements at a time. Here they stand in plain loops, which the compiler vectorizes for the target. The library is
// compiled without fusing products and sums, so the bits are those of the runtime.
HWY_BEFORE_NAMESPACE();
namespace carina::accelerate::HWY_NAMESPACE {
namespace {

constexpr int64_t kBlock = 256;  // elements that are tested together for arguments out of range

// The loops for arguments in range have no branches. In a block with others, those are computed after it: they are
// rare, and are found by integers, because comparisons of floats in a reduction are not vectorized. NaN is beyond the
// limit, and stays as the formula makes it.
template <typename Function>
void map_here(const float* in, float* out, int64_t count) {
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t length = std::min(kBlock, count - begin);
    const float* from = in + begin;
    float kept[kBlock];  // `out` may be `in`
    uint32_t largest = 0;
    for (int64_t i = 0; i < length; ++i) {
      const uint32_t magnitude = std::bit_cast<uint32_t>(from[i]) & 0x7fffffffU;
      largest = magnitude > largest ? magnitude : largest;
      kept[i] = from[i];
    }
    float* to = out + begin;
    for (int64_t i = 0; i < length; ++i) to[i] = Function::in_range(kept[i]);
    if (largest <= std::bit_cast<uint32_t>(Function::kLimit)) continue;
    for (int64_t i = 0; i < length; ++i) {
      if (runtime::magnitude(kept[i]) > Function::kLimit) to[i] = Function::out_of_range(kept[i]);
    }
  }
}

void apply_here(FloatFunctionKind kind, const float* in, float* out, int64_t count) {
  switch (kind) {
    case FloatFunctionKind::kExp:
      return map_here<runtime::ExpFunction>(in, out, count);
    case FloatFunctionKind::kSigmoid:
      return map_here<runtime::SigmoidFunction>(in, out, count);
    case FloatFunctionKind::kTanh:
      return map_here<runtime::TanhFunction>(in, out, count);
    case FloatFunctionKind::kGelu:
      return map_here<runtime::GeluFunction>(in, out, count);
    case FloatFunctionKind::kTanhGelu:
      return map_here<runtime::TanhGeluFunction>(in, out, count);
  }
  CARINA_UNREACHABLE("function", static_cast<int>(kind));
}

}  // namespace
}  // namespace carina::accelerate::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::accelerate {

HWY_EXPORT(apply_here);

void apply(FloatFunctionKind kind, const float* in, float* out, int64_t count) {
  HWY_DYNAMIC_DISPATCH(apply_here)(kind, in, out, count);
}

}  // namespace carina::accelerate
#endif
