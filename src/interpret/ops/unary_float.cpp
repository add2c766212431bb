// ERF, SIGMOID, TANH, CEIL, COS, EXP, FLOOR, LOG, RECIPROCAL, RSQRT, SIN: operators on floats of one type.

#include <cmath>

#include "interpret/elementwise_internal.h"
#include "interpret/ops/elementwise_f32_internal.h"
#include "kernels/micro/float_math.h"

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

using enum DType;
template <float (*Function)(float), auto kF32 = &elementwise_f32>
Result<Kernel> prepare(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {
      {.types = {kFp32, kFp32}, .make = kF32},
      {.types = {kFp16, kFp16}, .make = &elementwise<Unary<Function>, F16, F16>},
      {.types = {kBf16, kBf16}, .make = &elementwise<Unary<Function>, BF16, BF16>},
  };
  return prepare_elementwise(plan, 1, kRows);
}

// For functions without a vector kernel.
template <float (*Function)(float)>
Result<Kernel> prepare_plain(const NodePlan& plan) {
  return prepare<Function, &elementwise<Unary<Function>, F32, F32>>(plan);
}

}  // namespace

Result<Kernel> prepare_ERF(const NodePlan& plan) {
  return prepare<&kernels::exact_erf>(plan);
}
Result<Kernel> prepare_SIGMOID(const NodePlan& plan) {
  return prepare<&kernels::exact_sigmoid>(plan);
}
Result<Kernel> prepare_TANH(const NodePlan& plan) {
  return prepare<&kernels::exact_tanh>(plan);
}
Result<Kernel> prepare_CEIL(const NodePlan& plan) {
  return prepare_plain<&ceil_of>(plan);
}
Result<Kernel> prepare_COS(const NodePlan& plan) {
  return prepare<&kernels::exact_cos>(plan);
}
Result<Kernel> prepare_EXP(const NodePlan& plan) {
  return prepare<&kernels::exact_exp>(plan);
}
Result<Kernel> prepare_FLOOR(const NodePlan& plan) {
  return prepare_plain<&floor_of>(plan);
}
Result<Kernel> prepare_LOG(const NodePlan& plan) {
  return prepare<&kernels::exact_log>(plan);
}
Result<Kernel> prepare_RECIPROCAL(const NodePlan& plan) {
  return prepare_plain<&reciprocal_of>(plan);
}
Result<Kernel> prepare_RSQRT(const NodePlan& plan) {
  return prepare<&kernels::exact_rsqrt>(plan);
}
Result<Kernel> prepare_SIN(const NodePlan& plan) {
  return prepare<&kernels::exact_sin>(plan);
}

}  // namespace carina::interpret
