// ERF, SIGMOID, TANH, CEIL, COS, EXP, FLOOR, LOG, RECIPROCAL, RSQRT, SIN: floats to the same floats.

#include <cmath>

#include "interpret/elementwise_internal.h"
#include "interpret/float_math_internal.h"
#include "interpret/simd/simd_internal.h"

namespace carina::interpret {

namespace {

template <float (*Function)(float)>
struct Unary {
  static constexpr std::string_view kRequire = {};
  static float apply(float x, bool&) { return Function(x); }
};

float ceil_of(float x) {
  return std::ceil(x);
}
float floor_of(float x) {
  return std::floor(x);
}
float reciprocal_of(float x) {
  return 1.0F / x;
}

// One operand and an output of the same shape, so elements stand in the same order.
template <simd::Function Vector>
Kernel vectors(const NodePlan& plan) {
  return {.run = [count = plan.out[0].shape->elements()](const Call& call) -> Result<void> {
    constexpr int64_t kGrain = 2048;
    split(call.runtime.workers, count, kGrain, [&](int64_t begin, int64_t end) {
      simd::apply(Vector, call.input<float>(0) + begin, call.output<float>(0) + begin, end - begin);
    });
    return {};
  }};
}

using enum DType;
template <simd::Function Vector, float (*Function)(float)>
Result<Kernel> prepare(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {
      {.types = {kFp32, kFp32}, .make = &vectors<Vector>},
      {.types = {kFp16, kFp16}, .make = &elementwise<Unary<Function>, F16, F16>},
      {.types = {kBf16, kBf16}, .make = &elementwise<Unary<Function>, BF16, BF16>},
  };
  return prepare_elementwise(plan, 1, kRows);
}

template <float (*Function)(float)>
Result<Kernel> prepare(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {
      {.types = {kFp32, kFp32}, .make = &elementwise<Unary<Function>, F32, F32>},
      {.types = {kFp16, kFp16}, .make = &elementwise<Unary<Function>, F16, F16>},
      {.types = {kBf16, kBf16}, .make = &elementwise<Unary<Function>, BF16, BF16>},
  };
  return prepare_elementwise(plan, 1, kRows);
}

}  // namespace

Result<Kernel> prepare_ERF(const NodePlan& plan) {
  return prepare<simd::Function::kErf, &exact_erf>(plan);
}
Result<Kernel> prepare_SIGMOID(const NodePlan& plan) {
  return prepare<simd::Function::kSigmoid, &exact_sigmoid>(plan);
}
Result<Kernel> prepare_TANH(const NodePlan& plan) {
  return prepare<simd::Function::kTanh, &exact_tanh>(plan);
}
Result<Kernel> prepare_CEIL(const NodePlan& plan) {
  return prepare<&ceil_of>(plan);
}
Result<Kernel> prepare_COS(const NodePlan& plan) {
  return prepare<simd::Function::kCos, &exact_cos>(plan);
}
Result<Kernel> prepare_EXP(const NodePlan& plan) {
  return prepare<simd::Function::kExp, &exact_exp>(plan);
}
Result<Kernel> prepare_FLOOR(const NodePlan& plan) {
  return prepare<&floor_of>(plan);
}
Result<Kernel> prepare_LOG(const NodePlan& plan) {
  return prepare<simd::Function::kLog, &exact_log>(plan);
}
Result<Kernel> prepare_RECIPROCAL(const NodePlan& plan) {
  return prepare<&reciprocal_of>(plan);
}
Result<Kernel> prepare_RSQRT(const NodePlan& plan) {
  return prepare<simd::Function::kRsqrt, &exact_rsqrt>(plan);
}
Result<Kernel> prepare_SIN(const NodePlan& plan) {
  return prepare<simd::Function::kSin, &exact_sin>(plan);
}

}  // namespace carina::interpret
