// MATMUL: A [N,H,C] times B [N,C,W].

#include <array>
#include <cmath>

#include "interpret/checks_internal.h"
#include "interpret/elements_internal.h"
#include "interpret/ops/conv_internal.h"
#include "kernels/matmul.h"

namespace carina::interpret {

namespace {

using enum DType;
using kernels::MatmulSizes;

template <typename In, typename Out>
struct PlainMatmul {
  using Value = std::conditional_t<In::kIsFloat, float, int64_t>;
  MatmulSizes s;
  Shape shape;

  Result<void> run(const Call& call) const {
    Value a_zp = 0;
    Value b_zp = 0;
    if constexpr (!In::kIsFloat) {
      a_zp = scalar_at(call.in[2], In::kDType);
      b_zp = scalar_at(call.in[3], In::kDType);
    }
    FirstBad first_bad;
    split(call.runtime.workers, s.n * s.h, 1 + 65536 / (s.c * s.w + 1), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const auto* a = call.input<typename In::Storage>(0) + row * s.c;
        const auto* b = call.input<typename In::Storage>(1) + row / s.h * s.c * s.w;
        auto* out = call.output<typename Out::Storage>(0) + row * s.w;
        for (int64_t w = 0; w < s.w; ++w) {
          Value sum = 0;
          for (int64_t c = 0; c < s.c; ++c) {
            const Value x = static_cast<Value>(In::load(a[c])) - a_zp;
            const Value y = static_cast<Value>(In::load(b[c * s.w + w])) - b_zp;
            if constexpr (In::kIsFloat) {
              sum = std::fma(x, y, sum);
            } else {
              sum += x * y;
            }
          }
          out[w] = Out::store(static_cast<typename Out::Compute>(sum));
          if constexpr (!In::kIsFloat) {
            const IntegerRange range = range_of(Out::kDType);
            if (sum < range.min || sum > range.max) first_bad.report(row * s.w + w);
          }
        }
      }
    });
    if (first_bad.any()) return fail_at(call, shape, first_bad.element(), "the accumulator overflows");
    return {};
  }
};

MatmulSizes sizes_of(const NodePlan& plan) {
  return {.n = plan.in[0].dim(0), .h = plan.in[0].dim(1), .c = plan.in[0].dim(2), .w = plan.in[1].dim(2)};
}

template <typename In, typename Out>
Kernel make(const NodePlan& plan) {
  return {.run = [matmul = PlainMatmul<In, Out>{.s = sizes_of(plan), .shape = *plan.out[0].shape}](const Call& call) {
    return matmul.run(call);
  }};
}

Result<void> check(const NodePlan& plan) {
  Checks checks(plan);
  checks.operands(4, 1);
  if (checks.good()) checks.rank(plan.in[0], 3, 3).rank(plan.in[1], 3, 3).scalar(plan.in[2]).scalar(plan.in[3]);
  if (!checks.good()) return checks.done();
  const Operand& a = plan.in[0];
  checks.shape(plan.in[1], {a.dim(0), a.dim(2), plan.in[1].dim(2)})
      .shape(plan.out[0], {a.dim(0), a.dim(1), plan.in[1].dim(2)});
  checks.same_type(plan.in[2], a.dtype).same_type(plan.in[3], plan.in[1].dtype);
  return checks.done();
}

// A vector kernel with the tail fused in.
std::optional<Kernel> vector_matmul(const TailPlan& fused) {
  const NodePlan& plan = fused.node;
  const std::array types{plan.in[0].dtype, plan.in[1].dtype, plan.out[0].dtype};
  std::optional<kernels::Operator> op;
  if (types == std::array{kInt8, kInt8, kInt32})
    op = kernels::matmul_i8(sizes_of(plan), epilogue_of(fused), plan.threads);
  else if (types == std::array{kFp32, kFp32, kFp32} && fused.tail.empty())
    op = kernels::matmul_f32(sizes_of(plan), plan.threads);
  return op ? std::optional(kernel_of(*std::move(op))) : std::nullopt;
}

}  // namespace

std::optional<Kernel> fuse_tail_MATMUL(const TailPlan& plan) {
  return check(plan.node) ? vector_matmul(plan) : std::nullopt;
}

Result<Kernel> prepare_MATMUL(const NodePlan& plan) {
  CARINA_CHECKED(check(plan));
  if (plan.kernels == Kernels::kFast) {
    if (auto kernel = vector_matmul({.node = plan})) return *std::move(kernel);
  }
  static constexpr TypeRow kRows[] = {
      {.types = {kInt8, kInt8, kInt8, kInt8, kInt32}, .make = &make<I8, I32>},
      {.types = {kInt16, kInt16, kInt16, kInt16, kInt48}, .make = &make<I16, I48>},
      {.types = {kFp32, kFp32, kFp32, kFp32, kFp32}, .make = &make<F32, F32>},
      {.types = {kFp16, kFp16, kFp16, kFp16, kFp16}, .make = &make<F16, F16>},
      {.types = {kFp16, kFp16, kFp16, kFp16, kFp32}, .make = &make<F16, F32>},
      {.types = {kBf16, kBf16, kBf16, kBf16, kFp32}, .make = &make<BF16, F32>},
      {.types = {kFp8E4M3, kFp8E4M3, kFp8E4M3, kFp8E4M3, kFp16}, .make = &make<E4M3, F16>},
      {.types = {kFp8E5M2, kFp8E5M2, kFp8E5M2, kFp8E5M2, kFp16}, .make = &make<E5M2, F16>},
  };
  return choose(plan, kRows);
}

}  // namespace carina::interpret
