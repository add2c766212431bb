// CONV2D, CONV3D, DEPTHWISE_CONV2D: geometry and checks.

#include <fmt/format.h>

#include "base/checked_math.h"
#include "interpret/ops/clamp_bounds_internal.h"
#include "interpret/ops/conv_internal.h"
#include "interpret/ops/integer_epilogue_internal.h"

namespace carina::interpret {

namespace {

using enum DType;

constexpr int64_t kMaxAttribute = INT32_MAX;

// Returns whether weights, bias and zero points are constants.
bool has_constants(const NodePlan& plan) {
  return std::ranges::all_of(std::span(plan.in).subspan(1, 4), [](const Operand& o) { return o.constant != nullptr; });
}

struct Names {
  size_t spatial;     // axes
  size_t first_axis;  // index among the three axes of ConvGeometry
};
Names names_of(ConvKind kind) {
  return kind == ConvKind::kConv3d ? Names{.spatial = 3, .first_axis = 0} : Names{.spatial = 2, .first_axis = 1};
}

// Checks that out = (in - 1 + pads - (kernel - 1) * dilation) / stride + 1 is an integer. Source: TOSA 1.0, section
// 2.3.2.
void check_axis(Checks& checks, int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t dilation,
                int64_t pads) {
  const int64_t span = in - 1 + pads - (kernel - 1) * dilation;
  checks.require(kernel >= 1 && in >= 1, "kernel and input must not be empty");
  checks.require(span >= 0 && span % stride == 0 && span / stride + 1 == out,
                 "output size does not follow from input, padding, kernel and stride",
                 fmt::format("input {}, kernel {}, stride {}, dilation {}, padding {}, output {}", in, kernel, stride,
                             dilation, pads, out));
}

}  // namespace

Result<void> check_conv_operands(const NodePlan& plan, int64_t out_channels) {
  Checks checks(plan);
  checks.rank(plan.in[2], 1, 1).scalar(plan.in[3]).scalar(plan.in[4]);
  if (!checks.good()) return checks.done();
  const int64_t biases = plan.in[2].dim(0);
  checks
      .require(biases == 1 || biases == out_channels, "bias must have one element or one for each output channel",
               fmt::format("{}", biases))
      .same_type(plan.in[2], plan.out[0].dtype)
      .same_type(plan.in[3], plan.in[0].dtype)
      .same_type(plan.in[4], plan.in[1].dtype);
  return checks.done();
}

Result<ConvGeometry> conv_geometry(const NodePlan& plan, ConvKind kind) {
  const auto [spatial, first_axis] = names_of(kind);
  Checks checks(plan);
  checks.operands(5, 1);
  if (checks.good()) {
    checks.rank(plan.in[0], spatial + 2, spatial + 2)
        .rank(plan.in[1], spatial + 2, spatial + 2)
        .rank(plan.out[0], spatial + 2, spatial + 2);
    checks.list("pad", 2 * spatial, 0, kMaxAttribute)
        .list("stride", spatial, 1, kMaxAttribute)
        .list("dilation", spatial, 1, kMaxAttribute);
  }
  if (!checks.good()) return fail(checks.done().error());
  const Operand& in = plan.in[0];
  const Operand& weight = plan.in[1];
  const Operand& out = plan.out[0];
  const bool depthwise = kind == ConvKind::kDepthwise;
  ConvGeometry g{.batch = in.dim(0), .ic = in.dim(spatial + 1), .oc = out.dim(spatial + 1)};
  const size_t kernel_axis = depthwise ? 0 : 1;
  const auto& pad = plan.node.attributes.integers("pad");
  for (size_t i = 0; i < spatial; ++i) {
    const size_t axis = first_axis + i;
    g.in[axis] = in.dim(i + 1);
    g.out[axis] = out.dim(i + 1);
    g.kernel[axis] = weight.dim(kernel_axis + i);
    g.stride[axis] = plan.node.attributes.integers("stride")[i];
    g.dilation[axis] = plan.node.attributes.integers("dilation")[i];
    g.pad[axis] = pad[2 * i];
    check_axis(checks, g.in[axis], g.out[axis], g.kernel[axis], g.stride[axis], g.dilation[axis],
               pad[2 * i] + pad[2 * i + 1]);
  }
  if (depthwise) {
    g.multiplier = weight.dim(3);
    const auto channels = checked_mul(g.ic, g.multiplier);
    checks.require(weight.dim(2) == g.ic && channels && *channels == g.oc,
                   "weights [KH,KW,C,M] and channels do not fit together");
  } else {
    checks.require(weight.dim(0) == g.oc && weight.dim(spatial + 1) == g.ic,
                   "weights [OC,..,IC] and channels do not fit together");
  }
  checks.require(out.dim(0) == g.batch, "batch sizes differ");
  CARINA_CHECKED(checks.done());
  CARINA_CHECKED(check_conv_operands(plan, g.oc));
  g.bias_count = plan.in[2].dim(0);
  return g;
}

Kernel kernel_of(kernels::Operator op) {
  return {.run = [run = std::move(op.run)](const Call& call) -> Result<void> {
            run({.in = call.in,
                 .out = call.out[0],
                 .scratch = call.scratch,
                 .workers = call.runtime.workers,
                 .extremes = call.extremes});
            return {};
          },
          .scratch_bytes = op.scratch_bytes,
          .packed_bytes = op.packed_bytes};
}

Kernel kernel_of_floats(kernels::Operator op) {
  Kernel kernel = kernel_of(std::move(op));
  kernel.has_weights = kernel.packed_bytes > 0;
  kernel.finds_extremes = true;
  return kernel;
}

std::optional<ConstantsF32> f32_constants(const NodePlan& plan) {
  if (plan.in[0].dtype != kFp32 || plan.in[1].dtype != kFp32 || plan.out[0].dtype != kFp32 ||
      plan.in[1].constant == nullptr || plan.in[2].constant == nullptr)
    return std::nullopt;
  return ConstantsF32{.weights = *plan.in[1].constant, .bias = plan.in[2].constant->values<float>()};
}

std::optional<kernels::ConstantsI8> i8_constants(const NodePlan& plan) {
  const bool types = plan.in[0].dtype == kInt8 && (plan.in[1].dtype == kInt8 || plan.in[1].dtype == kInt4) &&
                     plan.out[0].dtype == kInt32;
  if (!types || !has_constants(plan)) return std::nullopt;
  return kernels::ConstantsI8{.weights = plan.in[1].constant->values<int8_t>().data(),
                              .bias = plan.in[2].constant->values<int32_t>().data(),
                              .bias_count = plan.in[2].dim(0),
                              .input_zp = static_cast<int32_t>(scalar_at(plan.in[3].constant->data.data(), kInt8)),
                              .weight_zp = static_cast<int32_t>(scalar_at(plan.in[4].constant->data.data(), kInt8))};
}

kernels::EpilogueOf epilogue_of(const TailPlan& plan) {
  return [&plan](int64_t bound) { return integer_epilogue(plan, bound); };
}

namespace {

using kernels::Operator;

std::optional<kernels::ConvI8> conv_i8(const TailPlan& plan, const ConvGeometry& g) {
  const auto constants = i8_constants(plan.node);
  if (!constants) return std::nullopt;
  return kernels::ConvI8{
      .geometry = g, .constants = *constants, .epilogue = epilogue_of(plan), .threads = plan.node.threads};
}

std::optional<Operator> operator_i8(const TailPlan& plan, const ConvGeometry& g) {
  const auto conv = conv_i8(plan, g);
  if (!conv) return std::nullopt;
  auto depthwise = kernels::depthwise_i8(*conv);
  return depthwise ? std::move(depthwise) : kernels::dense_i8(*conv);
}

std::optional<Operator> operator_i16(const TailPlan& fused, const ConvGeometry& g) {
  const NodePlan& plan = fused.node;
  const bool types = plan.in[0].dtype == kInt16 && plan.in[1].dtype == kInt8 && plan.out[0].dtype == kInt48;
  if (!types || !fused.tail.empty() || !has_constants(plan)) return std::nullopt;
  if (scalar_at(plan.in[3].constant->data.data(), kInt16) != 0 ||
      scalar_at(plan.in[4].constant->data.data(), kInt8) != 0)
    return std::nullopt;
  const kernels::ConvI16 conv{.geometry = g,
                              .weights = plan.in[1].constant->values<int8_t>(),
                              .bias = plan.in[2].constant->values<int64_t>(),
                              .threads = plan.threads};
  auto depthwise = kernels::depthwise_i16(conv);
  return depthwise ? std::move(depthwise) : kernels::dense_i16(conv);
}

std::optional<kernels::ConvF32> conv_f32(const TailPlan& plan, const ConvGeometry& g) {
  const auto bounds = clamp_bounds_of(plan);
  const auto constants = f32_constants(plan.node);
  if (!bounds || !constants) return std::nullopt;
  return kernels::ConvF32{.geometry = g,
                          .weights = constants->weights,
                          .bias = constants->bias,
                          .bounds = *bounds,
                          .packing = plan.node.packing,
                          .threads = plan.node.threads};
}

std::optional<Operator> operator_f32(const TailPlan& plan, const ConvGeometry& g) {
  const auto conv = conv_f32(plan, g);
  if (!conv) return std::nullopt;
  if (auto depthwise = kernels::depthwise_f32(*conv)) return depthwise;
  if (plan.node.sums == Sums::kFewMultiplications) {
    if (auto winograd = kernels::winograd_f32(*conv)) return winograd;
  }
  return kernels::dense_f32(*conv);
}

std::optional<Kernel> vector_conv(const TailPlan& plan, const ConvGeometry& g) {
  if (auto op = operator_f32(plan, g)) return kernel_of_floats(*std::move(op));
  for (const auto make : {&operator_i8, &operator_i16}) {
    if (auto op = make(plan, g)) return kernel_of(*std::move(op));
  }
  return std::nullopt;
}

template <ConvKind Kind>
Result<Kernel> prepare(const NodePlan& plan) {
  CARINA_TRY(const ConvGeometry geometry, conv_geometry(plan, Kind));
  return best_conv(plan, geometry);
}

template <ConvKind Kind>
std::optional<Kernel> fuse(const TailPlan& plan) {
  const auto geometry = conv_geometry(plan.node, Kind);
  return geometry ? vector_conv(plan, *geometry) : std::nullopt;
}

}  // namespace

Result<Kernel> best_conv(const NodePlan& plan, const ConvGeometry& geometry) {
  if (plan.kernels == Kernels::kFast) {
    if (auto kernel = vector_conv({.node = plan}, geometry)) return *std::move(kernel);
  }
  return plain_conv(plan, geometry);
}

Result<Kernel> prepare_CONV2D(const NodePlan& plan) {
  return prepare<ConvKind::kConv2d>(plan);
}
Result<Kernel> prepare_CONV3D(const NodePlan& plan) {
  return prepare<ConvKind::kConv3d>(plan);
}
Result<Kernel> prepare_DEPTHWISE_CONV2D(const NodePlan& plan) {
  return prepare<ConvKind::kDepthwise>(plan);
}
std::optional<Kernel> scaled_channels(const TailPlan& plan, const kernels::ChannelLayout& layout) {
  const auto geometry = conv_geometry(plan.node, ConvKind::kDepthwise);
  if (!geometry) return std::nullopt;
  const auto floats = conv_f32(plan, *geometry);
  const auto bytes = conv_i8(plan, *geometry);
  auto op = floats  ? kernels::scaled_channels_f32(*floats, layout)
            : bytes ? kernels::scaled_channels_i8(*bytes, layout)
                    : std::nullopt;
  return op ? std::optional(kernel_of(*std::move(op))) : std::nullopt;
}
std::optional<Kernel> fuse_tail_CONV2D(const TailPlan& plan) {
  return fuse<ConvKind::kConv2d>(plan);
}
std::optional<Kernel> fuse_tail_CONV3D(const TailPlan& plan) {
  return fuse<ConvKind::kConv3d>(plan);
}
std::optional<Kernel> fuse_tail_DEPTHWISE_CONV2D(const TailPlan& plan) {
  return fuse<ConvKind::kDepthwise>(plan);
}

}  // namespace carina::interpret
