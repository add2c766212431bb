// The plain kernels of convolutions. They support every type and geometry and compute one output element at a time.

#include <cmath>

#include "interpret/elements_internal.h"
#include "interpret/ops/conv_internal.h"

namespace carina::interpret {

namespace {

using enum DType;

// The accumulation of products: integers exactly in 64 bits, floats in one chain of fused multiply-adds in the
// specification's order of taps and channels.
struct IntegerSum {
  using Value = int64_t;
  static Value add(Value sum, int64_t x, int64_t w) { return sum + x * w; }
};
struct FloatSum {
  using Value = float;
  static Value add(Value sum, float x, float w) { return std::fma(x, w, sum); }
};

template <typename In, typename Weight, typename Out>
struct PlainConv {
  using Sum = std::conditional_t<In::kIsFloat, FloatSum, IntegerSum>;
  using Value = typename Sum::Value;

  ConvGeometry g;
  Shape shape;

  struct Operands {
    const typename In::Storage* in;
    const typename Weight::Storage* weight;
    const typename Out::Storage* bias;
    typename Out::Storage* out;
    Value input_zp;
    Value weight_zp;
  };

  // Adds the products of one tap. Weights of successive input channels are `step` apart.
  Value tap(const Operands& o, Value sum, const typename In::Storage* x, const typename Weight::Storage* w,
            int64_t count, int64_t step) const {
    for (int64_t c = 0; c < count; ++c) {
      sum = Sum::add(sum, static_cast<Value>(In::load(x[c])) - o.input_zp,
                     static_cast<Value>(Weight::load(w[c * step])) - o.weight_zp);
    }
    return sum;
  }

  Value element(const Operands& o, int64_t n, const std::array<int64_t, 3>& at, int64_t oc) const {
    Value sum = 0;
    for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
      const int64_t d = tap_position(g, 0, at[0], kd);
      if (d < 0 || d >= g.in[0]) continue;
      for (int64_t kh = 0; kh < g.kernel[1]; ++kh) {
        const int64_t h = tap_position(g, 1, at[1], kh);
        if (h < 0 || h >= g.in[1]) continue;
        for (int64_t kw = 0; kw < g.kernel[2]; ++kw) {
          const int64_t w = tap_position(g, 2, at[2], kw);
          if (w < 0 || w >= g.in[2]) continue;
          const auto* x = o.in + (((n * g.in[0] + d) * g.in[1] + h) * g.in[2] + w) * g.ic;
          const int64_t k = (kd * g.kernel[1] + kh) * g.kernel[2] + kw;
          sum = g.multiplier == 0 ? tap(o, sum, x, o.weight + (oc * g.taps() + k) * g.ic, g.ic, 1)
                                  : tap(o, sum, x + oc / g.multiplier, o.weight + k * g.oc + oc, 1, 1);
        }
      }
    }
    return sum;
  }

  // Adds the bias. Returns false if an integer does not fit the accumulator's type, which is the output's type.
  bool epilogue(const Operands& o, Value sum, int64_t oc, typename Out::Storage& out) const {
    const auto bias = static_cast<Value>(Out::load(o.bias[g.bias_count == 1 ? 0 : oc]));
    const Value value = sum + bias;
    out = Out::store(static_cast<typename Out::Compute>(value));
    if constexpr (!In::kIsFloat) {
      const IntegerRange range = range_of(Out::kDType);
      return value >= range.min && value <= range.max;
    }
    return true;
  }

  Result<void> run(const Call& call) const {
    Operands o{.in = call.input<typename In::Storage>(0),
               .weight = call.input<typename Weight::Storage>(1),
               .bias = call.input<typename Out::Storage>(2),
               .out = call.output<typename Out::Storage>(0),
               .input_zp = 0,
               .weight_zp = 0};
    if constexpr (!In::kIsFloat) {
      o.input_zp = scalar_at(call.in[3], In::kDType);
      o.weight_zp = scalar_at(call.in[4], Weight::kDType);
    }
    FirstBad first_bad;
    split(call.runtime.workers, g.pixels(), 1 + 16384 / (g.taps() * g.ic * g.oc + 1), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const std::array<int64_t, 3> at{p / (g.out[1] * g.out[2]) % g.out[0], p / g.out[2] % g.out[1], p % g.out[2]};
        const int64_t n = p / (g.out[0] * g.out[1] * g.out[2]);
        for (int64_t oc = 0; oc < g.oc; ++oc) {
          if (!epilogue(o, element(o, n, at, oc), oc, o.out[p * g.oc + oc])) first_bad.report(p * g.oc + oc);
        }
      }
    });
    if (first_bad.any()) return fail_at(call, shape, first_bad.element(), "the accumulator overflows");
    return {};
  }
};

template <typename In, typename Weight, typename Out>
Kernel make(const NodePlan& plan, const ConvGeometry& g) {
  return {.run = [conv = PlainConv<In, Weight, Out>{.g = g, .shape = *plan.out[0].shape}](const Call& call) {
    return conv.run(call);
  }};
}

struct Row {
  std::array<DType, 3> types;
  Kernel (*make)(const NodePlan&, const ConvGeometry&);
};
constexpr Row kConvRows[] = {
    {{kInt8, kInt8, kInt32}, &make<I8, I8, I32>},          {{kInt8, kInt4, kInt32}, &make<I8, I4, I32>},
    {{kInt16, kInt8, kInt48}, &make<I16, I8, I48>},        {{kFp32, kFp32, kFp32}, &make<F32, F32, F32>},
    {{kFp16, kFp16, kFp16}, &make<F16, F16, F16>},         {{kBf16, kBf16, kBf16}, &make<BF16, BF16, BF16>},
    {{kFp8E4M3, kFp8E4M3, kFp16}, &make<E4M3, E4M3, F16>}, {{kFp8E5M2, kFp8E5M2, kFp16}, &make<E5M2, E5M2, F16>},
};

}  // namespace

Result<Kernel> plain_conv(const NodePlan& plan, const ConvGeometry& geometry) {
  for (const Row& row : kConvRows) {
    if (row.types == std::array{plan.in[0].dtype, plan.in[1].dtype, plan.out[0].dtype}) return row.make(plan, geometry);
  }
  return fail(plan.diagnostic("the convolution does not have these types",
                              "i8,i8 -> i32; i8,i4 -> i32; i16,i8 -> i48; equal floats; fp8 -> fp16",
                              std::string(name_of(plan.in[0].dtype)) + "," + std::string(name_of(plan.in[1].dtype)) +
                                  " -> " + std::string(name_of(plan.out[0].dtype))));
}

}  // namespace carina::interpret
