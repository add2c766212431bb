// REDUCE_* reduces one axis to size 1; ARGMAX removes one axis.

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "interpret/checks_internal.h"
#include "interpret/elements_internal.h"
#include "interpret/ops/integer_epilogue_internal.h"
#include "interpret/ops/nan_internal.h"
#include "interpret/ops/rescale_internal.h"
#include "kernels/micro/microkernels.h"

namespace carina::interpret {

namespace {

using enum DType;

// The input as [outer, length, inner], with the reduced axis in the middle.
struct Middle {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;
};
Middle middle_of(const Shape& shape, int64_t axis) {
  Middle m;
  for (size_t i = 0; i < shape.rank(); ++i) {
    const auto at = static_cast<int64_t>(i);
    (at < axis ? m.outer : at == axis ? m.length : m.inner) *= shape[i];
  }
  return m;
}

// A reduction is a struct with start(), apply(so far, next, bad) and kRequire. Each output is one chain in the order of
// the axis. Several outputs are computed side by side, so the bits do not depend on the width of vectors.
template <typename R, typename Element>
Kernel reduce(const NodePlan& plan) {
  using C = typename Element::Compute;
  using S = typename Element::Storage;
  using SoFar = decltype(R::start());
  const Middle m = middle_of(*plan.in[0].shape, plan.node.attributes.integer("axis"));
  auto run = [m, shape = *plan.out[0].shape](const Call& call) -> Result<void> {
    constexpr int64_t kSide = 32, kRows = 8;
    FirstBad first_bad;
    const S* in = call.input<S>(0);
    S* out = call.output<S>(0);
    // Neighboring outputs are adjacent in the input, or, for the last axis, one row apart.
    const int64_t side = m.inner == 1 ? kRows : kSide;
    const int64_t step = m.inner == 1 ? m.length : 1;
    split(call.runtime.workers, m.outer * m.inner, 1 + 16384 / (m.length + 1), [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end;) {
        const int64_t o = at / m.inner;
        const int64_t i = at % m.inner;
        const int64_t count = std::min({side, m.inner == 1 ? kRows : m.inner - i, end - at});
        const S* column = in + o * m.length * m.inner + i;
        SoFar sums[kSide];
        bool bad = false;
        for (int64_t c = 0; c < count; ++c) sums[c] = R::start();
        const auto add = [&](int64_t k, int64_t c) {
          sums[c] = R::apply(sums[c], Element::load(column[k * m.inner + c * step]), bad);
        };
        if (m.inner == 1 && count == kRows) {
          for (int64_t k = 0; k < m.length; ++k) {
            for (int64_t c = 0; c < kRows; ++c) add(k, c);
          }
        } else {
          for (int64_t k = 0; k < m.length; ++k) {
            for (int64_t c = 0; c < count; ++c) add(k, c);
          }
        }
        for (int64_t c = 0; c < count; ++c) out[at + c] = Element::store(static_cast<C>(sums[c]));
        if (bad) first_bad.report(at);
        at += count;
      }
    });
    if (first_bad.any()) return fail_at(call, shape, first_bad.element(), std::string(R::kRequire));
    return {};
  };
  return {.run = std::move(run)};
}

struct All {
  static constexpr std::string_view kRequire = {};
  static uint8_t start() { return 1; }
  static uint8_t apply(uint8_t a, uint8_t b, bool&) { return (a != 0 && b != 0) ? 1 : 0; }
};
struct Any {
  static constexpr std::string_view kRequire = {};
  static uint8_t start() { return 0; }
  static uint8_t apply(uint8_t a, uint8_t b, bool&) { return (a != 0 || b != 0) ? 1 : 0; }
};
struct SumInt {
  static constexpr std::string_view kRequire = "a sum from here on does not fit i32";
  static int32_t start() { return 0; }
  static int32_t apply(int32_t a, int32_t b, bool& bad) {
    int32_t sum = 0;
    bad |= __builtin_add_overflow(a, b, &sum);
    return sum;
  }
};
struct SumFloat {
  static constexpr std::string_view kRequire = {};
  static float start() { return 0; }
  static float apply(float a, float b, bool&) { return a + b; }
};
// Computed in double, because a factor below fp32's normal range must not reduce the precision of the product.
struct ProductFloat {
  static constexpr std::string_view kRequire = {};
  static double start() { return 1; }
  static double apply(double a, float b, bool&) { return a * b; }
};
struct MaxInt {
  static constexpr std::string_view kRequire = {};
  static int32_t start() { return std::numeric_limits<int32_t>::min(); }
  static int32_t apply(int32_t a, int32_t b, bool&) { return a > b ? a : b; }
};
struct MinInt {
  static constexpr std::string_view kRequire = {};
  static int32_t start() { return std::numeric_limits<int32_t>::max(); }
  static int32_t apply(int32_t a, int32_t b, bool&) { return a < b ? a : b; }
};
// With kIgnore, the chain starts with a NaN, which any number replaces. So only NaN gives NaN.
template <NanMode Mode>
struct MaxFloat {
  static constexpr std::string_view kRequire = {};
  static float start() {
    return Mode == NanMode::kIgnore ? std::numeric_limits<float>::quiet_NaN() : -std::numeric_limits<float>::infinity();
  }
  static float apply(float a, float b, bool&) { return float_max<Mode>(a, b); }
};
template <NanMode Mode>
struct MinFloat {
  static constexpr std::string_view kRequire = {};
  static float start() {
    return Mode == NanMode::kIgnore ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  }
  static float apply(float a, float b, bool&) { return float_min<Mode>(a, b); }
};

// Computes fp32 sums or extremes along the last axis, whose elements are adjacent. `rows` handles the input rows
// [begin, end).
template <typename Rows>
Kernel reduce_rows(const Middle& m, const Rows& rows) {
  return {.run = [m, rows](const Call& call) -> Result<void> {
    split(call.runtime.workers, m.outer, 1 + 16384 / (m.length + 1), [&](int64_t begin, int64_t end) {
      rows(m, call.input<float>(0) + begin * m.length, end - begin, call.output<float>(0) + begin);
    });
    return {};
  }};
}

Kernel sum_f32(const NodePlan& plan) {
  const Middle m = middle_of(*plan.in[0].shape, plan.node.attributes.integer("axis"));
  if (m.inner != 1) return reduce<SumFloat, F32>(plan);
  return reduce_rows(m, [](const Middle& middle, const float* in, int64_t rows, float* out) {
    kernels::sum_rows_f32({.in = in, .rows = rows, .length = middle.length, .out = out});
  });
}

// An fp32 extreme has the same bits in any order of evaluation, except if it is a zero, which has two signs, or if an
// element is NaN. In these cases the row is evaluated again in the order of the axis.
template <typename R, float kernels::Extremes::* kWhich>
Kernel extreme_f32(const NodePlan& plan) {
  const Middle m = middle_of(*plan.in[0].shape, plan.node.attributes.integer("axis"));
  if (m.inner != 1 || m.length == 0) return reduce<R, F32>(plan);
  return reduce_rows(m, [](const Middle& middle, const float* in, int64_t rows, float* out) {
    for (int64_t r = 0; r < rows; ++r, in += middle.length) {
      const kernels::Extremes found = kernels::extremes_of({in, static_cast<size_t>(middle.length)});
      out[r] = found.*kWhich;
      if (found.numbers && out[r] != 0) continue;
      bool bad = false;
      out[r] = R::start();
      for (int64_t k = 0; k < middle.length; ++k) out[r] = R::apply(out[r], in[k], bad);
    }
  });
}

Result<void> check_reduce(const NodePlan& plan) {
  Checks checks(plan);
  checks.operands(1, 1);
  if (checks.good()) checks.axis(plan.in[0]);
  if (!checks.good()) return checks.done();
  Shape shape = *plan.in[0].shape;
  shape[static_cast<size_t>(plan.node.attributes.integer("axis"))] = 1;
  return checks.shape(plan.out[0], shape).done();
}

Result<Kernel> prepare_reduce(const NodePlan& plan, std::span<const TypeRow> rows) {
  CARINA_CHECKED(check_reduce(plan));
  return choose(plan, rows);
}

// Rows of i32 along the last axis. If the magnitudes of a row sum up to an i32, so does each part of it, and the order
// of the additions does not matter. Otherwise the plain kernel looks at each addition.
Kernel sum_i32(const NodePlan& plan) {
  Kernel plain = reduce<SumInt, I32>(plan);
  const Middle m = middle_of(*plan.in[0].shape, plan.node.attributes.integer("axis"));
  if (m.inner != 1) return plain;
  return {.run = [m, plain = std::move(plain)](const Call& call) -> Result<void> {
    std::atomic<bool> fits = true;
    split(call.runtime.workers, m.outer, 1 + 16384 / (m.length + 1), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int32_t* in = call.input<int32_t>(0) + row * m.length;
        int64_t sum = 0, magnitude = 0;
        for (int64_t k = 0; k < m.length; ++k) {
          sum += in[k];
          magnitude += std::abs(int64_t{in[k]});
        }
        if (magnitude > std::numeric_limits<int32_t>::max()) fits = false;
        call.output<int32_t>(0)[row] = static_cast<int32_t>(sum);
      }
    });
    return fits ? Result<void>() : plain.run(call);
  }};
}

// Calls reduce_integers() for parts of the results.
void reduce_parts(const Middle& m, kernels::Reduction op, DType type, const Call& call) {
  const auto out_bytes = op == kernels::Reduction::kSum ? sizeof(int32_t) : element_bytes(type);
  const auto part = [&](int64_t in, int64_t out, int64_t count) {
    kernels::reduce_integers({.op = op,
                              .type = type,
                              .in = call.in[0] + static_cast<size_t>(in) * element_bytes(type),
                              .out = call.out[0] + static_cast<size_t>(out) * out_bytes,
                              .length = m.length,
                              .stride = m.inner,
                              .count = count});
  };
  const int64_t grain = 1 + 16'384 / (m.length + 1);
  if (m.inner == 1) {
    split(call.runtime.workers, m.outer, grain,
          [&](int64_t begin, int64_t end) { part(begin * m.length, begin, end - begin); });
    return;
  }
  split(call.runtime.workers, m.outer * m.inner, grain, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end;) {
      const int64_t outer = at / m.inner, inner = at % m.inner;
      const int64_t count = std::min(m.inner - inner, end - at);
      part(outer * m.length * m.inner + inner, at, count);
      at += count;
    }
  });
}

template <typename R, typename Element, kernels::Reduction kOp>
Kernel extreme_of_integers(const NodePlan& plan) {
  const Middle m = middle_of(*plan.in[0].shape, plan.node.attributes.integer("axis"));
  if (plan.kernels == Kernels::kPlain || m.length == 0) return reduce<R, Element>(plan);
  return {.run = [m](const Call& call) -> Result<void> {
    reduce_parts(m, kOp, Element::kDType, call);
    return {};
  }};
}

template <typename Int, kernels::Reduction kOp, typename Float, float kernels::Extremes::* kWhich>
Result<Kernel> prepare_extreme(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {
      {.types = {kInt8, kInt8}, .make = &extreme_of_integers<Int, I8, kOp>},
      {.types = {kInt16, kInt16}, .make = &extreme_of_integers<Int, I16, kOp>},
      {.types = {kInt32, kInt32}, .make = &extreme_of_integers<Int, I32, kOp>},
      {.types = {kFp32, kFp32}, .make = &extreme_f32<Float, kWhich>},
      {.types = {kFp16, kFp16}, .make = &reduce<Float, F16>},
      {.types = {kBf16, kBf16}, .make = &reduce<Float, BF16>},
  };
  return prepare_reduce(plan, kRows);
}

template <typename Float>
Result<Kernel> prepare_float(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {
      {.types = {kFp32, kFp32}, .make = &reduce<Float, F32>},
      {.types = {kFp16, kFp16}, .make = &reduce<Float, F16>},
      {.types = {kBf16, kBf16}, .make = &reduce<Float, BF16>},
  };
  return prepare_reduce(plan, kRows);
}

// Returns whether `value` replaces `best`. Of equal values the first one is kept. A NaN is kept first or never chosen,
// depending on the mode.
template <typename C, NanMode Mode>
bool replaces(C value, C best) {
  if constexpr (std::is_floating_point_v<C>) {
    if (Mode == NanMode::kPropagate && std::isnan(best)) return false;
    if (std::isnan(value)) return Mode == NanMode::kPropagate;
    if (std::isnan(best)) return true;
  }
  return value > best;
}

template <typename Element, NanMode Mode>
Kernel argmax_with(const NodePlan& plan) {
  using C = typename Element::Compute;
  const Middle m = middle_of(*plan.in[0].shape, plan.node.attributes.integer("axis"));
  auto run = [m](const Call& call) -> Result<void> {
    const auto* in = call.input<typename Element::Storage>(0);
    auto* out = call.output<int32_t>(0);
    split(call.runtime.workers, m.outer * m.inner, 1 + 16384 / (m.length + 1), [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        const auto* column = in + at / m.inner * m.length * m.inner + at % m.inner;
        C best = Element::load(column[0]);
        int64_t index = 0;
        for (int64_t k = 1; k < m.length; ++k) {
          const C value = Element::load(column[k * m.inner]);
          if (!replaces<C, Mode>(value, best)) continue;
          best = value;
          index = k;
        }
        out[at] = static_cast<int32_t>(index);
      }
    });
    return {};
  };
  return {.run = std::move(run)};
}

template <typename Element>
Kernel argmax(const NodePlan& plan) {
  return nan_mode_of(plan) == NanMode::kIgnore ? argmax_with<Element, NanMode::kIgnore>(plan)
                                               : argmax_with<Element, NanMode::kPropagate>(plan);
}

}  // namespace

Result<Kernel> prepare_REDUCE_ALL(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {{.types = {kBool, kBool}, .make = &reduce<All, Bool>}};
  return prepare_reduce(plan, kRows);
}
Result<Kernel> prepare_REDUCE_ANY(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {{.types = {kBool, kBool}, .make = &reduce<Any, Bool>}};
  return prepare_reduce(plan, kRows);
}
Result<Kernel> prepare_REDUCE_SUM(const NodePlan& plan) {
  static constexpr TypeRow kRows[] = {
      {.types = {kInt32, kInt32}, .make = &sum_i32},
      {.types = {kFp32, kFp32}, .make = &sum_f32},
      {.types = {kFp16, kFp16}, .make = &reduce<SumFloat, F16>},
      {.types = {kBf16, kBf16}, .make = &reduce<SumFloat, BF16>},
  };
  return prepare_reduce(plan, kRows);
}
// The sum of a narrow operand whose RESCALE is a shift: (sum of the elements - length * zero point) << shift.
std::optional<FrontKernel> fuse_front_REDUCE_SUM(const FrontPlan& fused) {
  const NodePlan &plan = fused.rest.node, &front = fused.front.front().node;
  const DType type = front.in[0].dtype;
  if (!fused.rest.tail.empty() || !check_reduce(plan) || !check_rescale(front) || (type != kInt8 && type != kInt16) ||
      plan.in[0].dtype != kInt32 || plan.out[0].dtype != kInt32 || front.in[3].constant == nullptr)
    return std::nullopt;
  const IntegerRange range = range_of(type);
  const int64_t zero_point = scalar_at(front.in[3].constant->data.data(), type);
  const int64_t largest = std::max(range.max - zero_point, zero_point - range.min);
  const auto scales = constant_scales(front, largest);
  const Middle m = middle_of(*plan.in[0].shape, plan.node.attributes.integer("axis"));
  // No part of a sum can overflow, with or without zero point and shift.
  if (!scales || !scales->left_shift || *scales->left_shift > 30 ||
      (2 * largest << *scales->left_shift) > std::numeric_limits<int32_t>::max() / std::max<int64_t>(m.length, 1))
    return std::nullopt;
  const auto offset = static_cast<int32_t>(m.length * zero_point);
  return FrontKernel{{.run = [m, type, offset, shift = *scales->left_shift](const Call& call) -> Result<void> {
    reduce_parts(m, kernels::Reduction::kSum, type, call);
    const std::span sums(call.output<int32_t>(0), static_cast<size_t>(m.outer * m.inner));
    for (int32_t& sum : sums) sum = (sum - offset) << shift;
    return {};
  }}};
}
Result<Kernel> prepare_REDUCE_PRODUCT(const NodePlan& plan) {
  return prepare_float<ProductFloat>(plan);
}
Result<Kernel> prepare_REDUCE_MAX(const NodePlan& plan) {
  return nan_mode_of(plan) == NanMode::kIgnore
             ? prepare_extreme<MaxInt, kernels::Reduction::kMax, MaxFloat<NanMode::kIgnore>, &kernels::Extremes::max>(
                   plan)
             : prepare_extreme<MaxInt, kernels::Reduction::kMax, MaxFloat<NanMode::kPropagate>,
                               &kernels::Extremes::max>(plan);
}
Result<Kernel> prepare_REDUCE_MIN(const NodePlan& plan) {
  return nan_mode_of(plan) == NanMode::kIgnore
             ? prepare_extreme<MinInt, kernels::Reduction::kMin, MinFloat<NanMode::kIgnore>, &kernels::Extremes::min>(
                   plan)
             : prepare_extreme<MinInt, kernels::Reduction::kMin, MinFloat<NanMode::kPropagate>,
                               &kernels::Extremes::min>(plan);
}

Result<Kernel> prepare_ARGMAX(const NodePlan& plan) {
  Checks checks(plan);
  checks.operands(1, 1);
  if (checks.good()) checks.axis(plan.in[0]);
  if (!checks.good()) return fail(checks.done().error());
  std::vector<int64_t> dims(plan.in[0].shape->dims().begin(), plan.in[0].shape->dims().end());
  const int64_t axis = plan.node.attributes.integer("axis");
  checks.require(dims[static_cast<size_t>(axis)] > 0, "the axis has no elements");
  dims.erase(dims.begin() + axis);
  CARINA_CHECKED(checks.shape(plan.out[0], Shape(dims)).done());
  static constexpr TypeRow kRows[] = {
      {.types = {kInt8, kInt32}, .make = &argmax<I8>},      {.types = {kInt16, kInt32}, .make = &argmax<I16>},
      {.types = {kFp32, kInt32}, .make = &argmax<F32>},     {.types = {kFp16, kInt32}, .make = &argmax<F16>},
      {.types = {kBf16, kInt32}, .make = &argmax<BF16>},    {.types = {kFp8E4M3, kInt32}, .make = &argmax<E4M3>},
      {.types = {kFp8E5M2, kInt32}, .make = &argmax<E5M2>},
  };
  return choose(plan, kRows);
}

}  // namespace carina::interpret
