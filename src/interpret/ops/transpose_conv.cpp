// TRANSPOSE_CONV2D: each input element adds its products to the window around its output position.

#include <cmath>

#include "interpret/elements_internal.h"
#include "interpret/ops/clamp_bounds_internal.h"
#include "interpret/ops/conv_internal.h"

namespace carina::interpret {

namespace {

using enum DType;

struct Geometry {
  int64_t n, ih, iw, ic, oh, ow, oc, kh, kw;
  int64_t stride_y, stride_x;
  int64_t pad_top, pad_left;  // out_pad; negative: rows are cut off
  int64_t bias_count;
};

// Computes each output from its inputs: output (oy, ox) reads input (iy, ix) at tap (ky, kx) if oy = iy * stride + pad
// + ky.
template <typename In, typename Weight, typename Out>
struct TransposeConv {
  using Value = std::conditional_t<In::kIsFloat, float, int64_t>;
  Geometry g;
  Shape shape;

  struct Operands {
    const typename In::Storage* in;
    const typename Weight::Storage* weight;
    const typename Out::Storage* bias;
    typename Out::Storage* out;
    Value input_zp;
    Value weight_zp;
  };

  Value element(const Operands& o, int64_t n, int64_t oy, int64_t ox, int64_t oc) const {
    Value sum = 0;
    for (int64_t ky = 0; ky < g.kh; ++ky) {
      const int64_t y = oy - g.pad_top - ky;
      if (y < 0 || y % g.stride_y != 0 || y / g.stride_y >= g.ih) continue;
      for (int64_t kx = 0; kx < g.kw; ++kx) {
        const int64_t x = ox - g.pad_left - kx;
        if (x < 0 || x % g.stride_x != 0 || x / g.stride_x >= g.iw) continue;
        const auto* in = o.in + ((n * g.ih + y / g.stride_y) * g.iw + x / g.stride_x) * g.ic;
        const auto* weight = o.weight + ((oc * g.kh + ky) * g.kw + kx) * g.ic;
        for (int64_t c = 0; c < g.ic; ++c) {
          const Value a = static_cast<Value>(In::load(in[c])) - o.input_zp;
          const Value b = static_cast<Value>(Weight::load(weight[c])) - o.weight_zp;
          if constexpr (In::kIsFloat) {
            sum = std::fma(a, b, sum);
          } else {
            sum += a * b;
          }
        }
      }
    }
    return sum;
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
    split(call.runtime.workers, g.n * g.oh * g.ow, 1, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin * g.oc; at < end * g.oc; ++at) {
        const int64_t oc = at % g.oc;
        const int64_t pixel = at / g.oc;
        const Value value = element(o, pixel / (g.oh * g.ow), pixel / g.ow % g.oh, pixel % g.ow, oc) +
                            static_cast<Value>(Out::load(o.bias[g.bias_count == 1 ? 0 : oc]));
        o.out[at] = Out::store(static_cast<typename Out::Compute>(value));
        if constexpr (!In::kIsFloat) {
          const IntegerRange range = range_of(Out::kDType);
          if (value < range.min || value > range.max) first_bad.report(at);
        }
      }
    });
    if (first_bad.any()) return fail_at(call, shape, first_bad.element(), "the accumulator overflows");
    return {};
  }
};

Geometry geometry_of(const NodePlan& plan) {
  const ir::Attributes& attributes = plan.node.attributes;
  return {.n = plan.in[0].dim(0),
          .ih = plan.in[0].dim(1),
          .iw = plan.in[0].dim(2),
          .ic = plan.in[0].dim(3),
          .oh = plan.out[0].dim(1),
          .ow = plan.out[0].dim(2),
          .oc = plan.out[0].dim(3),
          .kh = plan.in[1].dim(1),
          .kw = plan.in[1].dim(2),
          .stride_y = attributes.integers("stride")[0],
          .stride_x = attributes.integers("stride")[1],
          .pad_top = attributes.integers("out_pad")[0],
          .pad_left = attributes.integers("out_pad")[2],
          .bias_count = plan.in[2].dim(0)};
}

template <typename In, typename Weight, typename Out>
Kernel make(const NodePlan& plan) {
  return {.run = [conv = TransposeConv<In, Weight, Out>{.g = geometry_of(plan), .shape = *plan.out[0].shape}](
                     const Call& call) { return conv.run(call); }};
}

Result<Geometry> checked_geometry(const NodePlan& plan) {
  Checks checks(plan);
  checks.operands(5, 1);
  constexpr int64_t kMax = INT32_MAX;
  if (checks.good()) {
    checks.rank(plan.in[0], 4, 4)
        .rank(plan.in[1], 4, 4)
        .rank(plan.out[0], 4, 4)
        .list("stride", 2, 1, kMax)
        .list("out_pad", 4, -kMax, kMax);
  }
  if (!checks.good()) return fail(checks.done().error());
  const Geometry g = geometry_of(plan);
  const auto& out_pad = plan.node.attributes.integers("out_pad");
  checks.require(g.ih >= 1 && g.iw >= 1 && g.kh >= 1 && g.kw >= 1, "kernel and input must not be empty")
      .require(out_pad[0] > -g.kh && out_pad[1] > -g.kh && out_pad[2] > -g.kw && out_pad[3] > -g.kw,
               "out_pad cuts off a whole kernel");
  const Shape out{plan.in[0].dim(0), (g.ih - 1) * g.stride_y + out_pad[0] + out_pad[1] + g.kh,
                  (g.iw - 1) * g.stride_x + out_pad[2] + out_pad[3] + g.kw, plan.in[1].dim(0)};
  checks.shape(plan.out[0], out)
      .require(plan.in[1].dim(3) == g.ic, "weights [OC,KH,KW,IC] and channels do not fit together");
  CARINA_CHECKED(checks.done());
  CARINA_CHECKED(check_conv_operands(plan, g.oc));
  return g;
}

kernels::TransposedGeometry in_axes(const Geometry& g) {
  return {.batch = g.n,
          .ic = g.ic,
          .oc = g.oc,
          .axes = {{{.in = g.ih, .out = g.oh, .kernel = g.kh, .stride = g.stride_y, .pad = g.pad_top},
                    {.in = g.iw, .out = g.ow, .kernel = g.kw, .stride = g.stride_x, .pad = g.pad_left}}},
          .bias_count = g.bias_count};
}

// A vector kernel for constant weights, with the tail fused in.
std::optional<Kernel> vector_transposed_conv(const TailPlan& plan, const Geometry& g) {
  if (const auto constants = i8_constants(plan.node)) {
    auto op = kernels::transposed_i8(
        {.geometry = in_axes(g), .constants = *constants, .epilogue = epilogue_of(plan), .threads = plan.node.threads});
    return op ? std::optional(kernel_of(*std::move(op))) : std::nullopt;
  }
  const auto bounds = clamp_bounds_of(plan);
  const auto constants = f32_constants(plan.node);
  if (!bounds || !constants) return std::nullopt;
  auto op = kernels::transposed_f32({.geometry = in_axes(g),
                                     .weights = constants->weights.values<float>(),
                                     .bias = constants->bias,
                                     .bounds = *bounds,
                                     .threads = plan.node.threads});
  return op ? std::optional(kernel_of_floats(*std::move(op))) : std::nullopt;
}

}  // namespace

std::optional<Kernel> fuse_tail_TRANSPOSE_CONV2D(const TailPlan& plan) {
  const auto g = checked_geometry(plan.node);
  return g ? vector_transposed_conv(plan, *g) : std::nullopt;
}

Result<Kernel> prepare_TRANSPOSE_CONV2D(const NodePlan& plan) {
  CARINA_TRY(const Geometry g, checked_geometry(plan));
  if (plan.kernels == Kernels::kFast) {
    if (auto kernel = vector_transposed_conv({.node = plan}, g)) return *std::move(kernel);
  }
  static constexpr struct {
    std::array<DType, 3> types;
    Kernel (*make)(const NodePlan&);
  } kRows[] = {
      {{kInt8, kInt8, kInt32}, &make<I8, I8, I32>},          {{kInt8, kInt4, kInt32}, &make<I8, I4, I32>},
      {{kInt16, kInt8, kInt48}, &make<I16, I8, I48>},        {{kFp32, kFp32, kFp32}, &make<F32, F32, F32>},
      {{kFp16, kFp16, kFp16}, &make<F16, F16, F16>},         {{kBf16, kBf16, kBf16}, &make<BF16, BF16, BF16>},
      {{kFp8E4M3, kFp8E4M3, kFp16}, &make<E4M3, E4M3, F16>}, {{kFp8E5M2, kFp8E5M2, kFp16}, &make<E5M2, E5M2, F16>},
  };
  for (const auto& row : kRows) {
    if (row.types == std::array{plan.in[0].dtype, plan.in[1].dtype, plan.out[0].dtype}) return row.make(plan);
  }
  return fail(
      plan.diagnostic("TRANSPOSE_CONV2D does not have these types", {}, std::string(name_of(plan.in[0].dtype))));
}

}  // namespace carina::interpret
