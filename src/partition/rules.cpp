#include "partition/rules_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "facts/aten_traits.h"
#include "facts/npu_targets.h"

namespace carina::partition {

namespace {

using ir::Refusal;
using Refused = std::optional<Refusal>;

// How one ATen op is judged beyond its types. A null rule: nothing more to ask.
struct OpRow {
  AtenOp op;
  enum class Integers : uint8_t {
    kQuantizedOnly,
    kInt32Too,
    kAny
  } integers;  // plain integers that are not quantized reals
  Refused (*rule)(const Candidate& c);
};

// More operations than this, one per output row or column, are not worth a stride beyond what the hardware does.
constexpr int64_t kMostUnrolledWindows = 1024;

std::string axis_name(size_t axis) {
  return axis == 0 ? "y" : "x";
}

// The NPU strides by at most 3; where it must not move at all, or seldom, each position becomes an operation of its
// own.
Refused check_stride(const Candidate& c, const std::vector<int64_t>& stride) {
  const Shape& result = c.output().shape;
  int64_t windows = 1;
  for (size_t axis = 0; axis < 2; ++axis) {
    if (stride[axis] > npu::kMaxStride) windows *= result[2 + axis];
  }
  for (size_t axis = 0; axis < 2; ++axis) {
    if (stride[axis] <= npu::kMaxStride || windows <= kMostUnrolledWindows) continue;
    return Refusal{.rule = "window.stride",
                   .reason = fmt::format("stride_{} is {}, {} supports at most {}", axis_name(axis), stride[axis],
                                         c.options.target, npu::kMaxStride),
                   .hint = fmt::format("use a stride of at most {}", npu::kMaxStride)};
  }
  return std::nullopt;
}

struct KernelLimits {
  int64_t height;
  int64_t elements;
};

Refused check_kernel(const Candidate& c, const std::vector<int64_t>& kernel, const std::vector<int64_t>& dilation,
                     const KernelLimits& limits) {
  const int64_t height = dilation[0] * (kernel[0] - 1) + 1, width = dilation[1] * (kernel[1] - 1) + 1;
  if (height > limits.height) {
    return Refusal{.rule = "window.height",
                   .reason = fmt::format("the kernel reaches over {} rows, {} supports at most {}", height,
                                         c.options.target, limits.height),
                   .hint = "use a smaller kernel or dilation"};
  }
  if (height * width > limits.elements) {
    return Refusal{.rule = "window.elements",
                   .reason = fmt::format("the kernel covers {}x{} elements, {} supports at most {}", height, width,
                                         c.options.target, limits.elements),
                   .hint = "use a smaller kernel or dilation"};
  }
  return std::nullopt;
}

Refused check_axes(const Candidate& c, const ir::Value& value) {
  for (size_t axis = 0; axis < value.shape.rank(); ++axis) {
    if (value.shape[axis] <= npu::kMaxAxis) continue;
    return Refusal{.rule = "axis.size",
                   .reason = fmt::format("axis {} of {} has {} elements, {} supports at most {}", axis, value.name,
                                         value.shape[axis], c.options.target, npu::kMaxAxis),
                   .hint = {}};
  }
  return std::nullopt;
}

Refused first_of(std::initializer_list<Refused> refusals) {
  for (const Refused& refusal : refusals) {
    if (refusal) return refusal;
  }
  return std::nullopt;
}

Refused check_weights(const Candidate& c) {
  const ir::Value& weight = c.input(1);
  if (!weight.constant)
    return Refusal{.rule = "weights.computed",
                   .reason = fmt::format("the weights {} are computed at run time", weight.name),
                   .hint = "make the weights constant"};
  if (!weight.quantization)
    return Refusal{.rule = "weights.not-quantized",
                   .reason = fmt::format("the weights {} are not quantized", weight.name),
                   .hint = "quantize the weights to int8"};
  const DType type = weight.quantization->dtype;
  if (type != DType::kInt8 && type != DType::kInt4) {
    return Refusal{.rule = "weights.type",
                   .reason = fmt::format("the weights {} are {}, {} needs int8 or int4", weight.name, name_of(type),
                                         c.options.target),
                   .hint = "quantize the weights to int8"};
  }
  const bool symmetric = std::ranges::all_of(weight.quantization->zero_points, [](int64_t zp) { return zp == 0; });
  if (!symmetric)
    return Refusal{.rule = "weights.zero-points",
                   .reason = fmt::format("the weights {} have zero points", weight.name),
                   .hint = "quantize the weights symmetrically"};
  if (c.node.inputs.size() > 2 && c.node.inputs[2].valid() && !c.input(2).constant) {
    return Refusal{.rule = "bias.computed",
                   .reason = fmt::format("the bias {} is computed at run time", c.input(2).name),
                   .hint = "add it with an addition of its own"};
  }
  return std::nullopt;
}

Refused conv2d(const Candidate& c) {
  const Shape& weight = c.input(1).shape;
  return first_of({check_weights(c), check_axes(c, c.input(0)), check_axes(c, c.output()),
                   check_kernel(c, {weight[2], weight[3]}, c.node.attributes.integers("dilation"),
                                {.height = npu::kMaxKernelHeight, .elements = npu::kMaxKernelElements}),
                   check_stride(c, c.node.attributes.integers("stride"))});
}

Refused linear(const Candidate& c) {
  return first_of({check_weights(c), check_axes(c, c.input(1))});
}

std::vector<int64_t> pool_stride(const Candidate& c) {
  const auto& stride = c.node.attributes.integers("stride");
  return stride.empty() ? c.node.attributes.integers("kernel_size") : stride;
}

Refused pool(const Candidate& c) {
  if (c.input(0).shape.rank() != 4)
    return Refusal{.rule = "pool.rank",
                   .reason = fmt::format("the input has {} axes, a pool needs 4", c.input(0).shape.rank()),
                   .hint = {}};
  return first_of({check_axes(c, c.input(0)),
                   check_kernel(c, c.node.attributes.integers("kernel_size"), {1, 1},
                                {.height = npu::kMaxPoolHeight, .elements = npu::kMaxPoolElements}),
                   check_stride(c, pool_stride(c))});
}

Refused max_pool2d(const Candidate& c) {
  const auto& dilation = c.node.attributes.integers("dilation");
  if (dilation[0] != 1 || dilation[1] != 1) {
    return Refusal{.rule = "pool.dilation",
                   .reason = fmt::format("the dilation is {}x{}, {} pools without dilation", dilation[0], dilation[1],
                                         c.options.target),
                   .hint = "use dilation=1"};
  }
  return pool(c);
}

Refused avg_pool2d(const Candidate& c) {
  const auto& kernel = c.node.attributes.integers("kernel_size");
  const auto& padding = c.node.attributes.integers("padding");
  if (!c.node.attributes.is_none("divisor_override") &&
      c.node.attributes.integer("divisor_override") != kernel[0] * kernel[1]) {
    return Refusal{.rule = "pool.divisor",
                   .reason = fmt::format("divisor_override is {}", c.node.attributes.integer("divisor_override")),
                   .hint = "leave divisor_override out"};
  }
  const bool counted = c.node.attributes.get<bool>("count_include_pad");
  const bool overhangs = c.node.attributes.get<bool>("ceil_mode") || (!counted && padding[0] + padding[1] > 0);
  const int64_t largest = npu::kMaxPaddedAveragePoolSize;
  if (overhangs && (kernel[0] > largest || kernel[1] > largest)) {
    return Refusal{.rule = "pool.padded-window",
                   .reason = fmt::format("the padded window is {}x{}, {} supports at most {}x{}", kernel[0], kernel[1],
                                         c.options.target, largest, largest),
                   .hint = "pad with an op of its own, or use count_include_pad=True"};
  }
  return pool(c);
}

Refused needs_int8(const Candidate& c) {
  for (const ir::ValueId id : c.node.inputs) {
    const DType type = Candidate::type_of(c.graph[id]);
    if (type == DType::kInt8) continue;
    return Refusal{
        .rule = "types.int8-only",
        .reason = fmt::format("{} is {}, {} does this for int8", c.graph[id].name, name_of(type), c.options.target),
        .hint = "quantize to int8"};
  }
  return std::nullopt;
}

Refused slice(const Candidate& c) {
  if (c.output().shape.elements() > 0 && c.node.attributes.integer("step") >= 1) return std::nullopt;
  return Refusal{.rule = "slice.direction", .reason = "the slice is empty or goes backwards", .hint = {}};
}

Refused permute(const Candidate& c) {
  const DType type = Candidate::type_of(c.input(0));
  const bool narrow = c.options.family == NpuFamily::kU85 || type == DType::kInt8 || type == DType::kInt16 ||
                      c.input(0).shape.rank() <= 4;
  if (narrow) return std::nullopt;
  return Refusal{.rule = "permute.axes",
                 .reason = fmt::format("a transposition of {} with {} axes, {} supports at most 4", name_of(type),
                                       c.input(0).shape.rank(), c.options.target),
                 .hint = {}};
}

using enum OpRow::Integers;
constexpr OpRow kRows[] = {
    {AtenOp::conv2d_default, kQuantizedOnly, conv2d},
    {AtenOp::linear_default, kQuantizedOnly, linear},
    {AtenOp::bmm_default, kQuantizedOnly, needs_int8},
    {AtenOp::max_pool2d_default, kQuantizedOnly, max_pool2d},
    {AtenOp::avg_pool2d_default, kQuantizedOnly, avg_pool2d},
    {AtenOp::sum_dim_IntList, kInt32Too, nullptr},
    {AtenOp::mean_dim, kQuantizedOnly, nullptr},
    {AtenOp::amax_default, kQuantizedOnly, needs_int8},
    {AtenOp::amin_default, kQuantizedOnly, needs_int8},
    {AtenOp::add_Tensor, kInt32Too, nullptr},
    {AtenOp::sub_Tensor, kInt32Too, nullptr},
    {AtenOp::mul_Tensor, kInt32Too, nullptr},
    {AtenOp::maximum_default, kInt32Too, nullptr},
    {AtenOp::minimum_default, kInt32Too, nullptr},
    {AtenOp::relu_default, kInt32Too, nullptr},
    {AtenOp::clamp_default, kInt32Too, nullptr},
    {AtenOp::exp_default, kQuantizedOnly, needs_int8},
    {AtenOp::exp2_default, kQuantizedOnly, needs_int8},
    {AtenOp::expm1_default, kQuantizedOnly, needs_int8},
    {AtenOp::log_default, kQuantizedOnly, needs_int8},
    {AtenOp::log2_default, kQuantizedOnly, needs_int8},
    {AtenOp::log10_default, kQuantizedOnly, needs_int8},
    {AtenOp::log1p_default, kQuantizedOnly, needs_int8},
    {AtenOp::reciprocal_default, kQuantizedOnly, needs_int8},
    {AtenOp::rsqrt_default, kQuantizedOnly, needs_int8},
    {AtenOp::sqrt_default, kQuantizedOnly, needs_int8},
    {AtenOp::pow_Tensor_Scalar, kQuantizedOnly, needs_int8},
    {AtenOp::sigmoid_default, kQuantizedOnly, needs_int8},
    {AtenOp::tanh_default, kQuantizedOnly, needs_int8},
    {AtenOp::erf_default, kQuantizedOnly, needs_int8},
    {AtenOp::sin_default, kQuantizedOnly, needs_int8},
    {AtenOp::cos_default, kQuantizedOnly, needs_int8},
    {AtenOp::tan_default, kQuantizedOnly, needs_int8},
    {AtenOp::asin_default, kQuantizedOnly, needs_int8},
    {AtenOp::acos_default, kQuantizedOnly, needs_int8},
    {AtenOp::atan_default, kQuantizedOnly, needs_int8},
    {AtenOp::sinh_default, kQuantizedOnly, needs_int8},
    {AtenOp::cosh_default, kQuantizedOnly, needs_int8},
    {AtenOp::asinh_default, kQuantizedOnly, needs_int8},
    {AtenOp::acosh_default, kQuantizedOnly, needs_int8},
    {AtenOp::atanh_default, kQuantizedOnly, needs_int8},
    {AtenOp::abs_default, kQuantizedOnly, needs_int8},
    {AtenOp::neg_default, kQuantizedOnly, needs_int8},
    {AtenOp::ceil_default, kQuantizedOnly, needs_int8},
    {AtenOp::floor_default, kQuantizedOnly, needs_int8},
    {AtenOp::round_default, kQuantizedOnly, needs_int8},
    {AtenOp::sign_default, kQuantizedOnly, needs_int8},
    {AtenOp::silu_default, kQuantizedOnly, needs_int8},
    {AtenOp::mish_default, kQuantizedOnly, needs_int8},
    {AtenOp::hardswish_default, kQuantizedOnly, needs_int8},
    {AtenOp::hardsigmoid_default, kQuantizedOnly, needs_int8},
    {AtenOp::log_sigmoid_default, kQuantizedOnly, needs_int8},
    {AtenOp::softplus_default, kQuantizedOnly, needs_int8},
    {AtenOp::gelu_default, kQuantizedOnly, needs_int8},
    {AtenOp::elu_default, kQuantizedOnly, needs_int8},
    {AtenOp::celu_default, kQuantizedOnly, needs_int8},
    {AtenOp::selu_default, kQuantizedOnly, needs_int8},
    {AtenOp::leaky_relu_default, kQuantizedOnly, needs_int8},
    {AtenOp::view_default, kAny, nullptr},
    {AtenOp::permute_default, kAny, permute},
    {AtenOp::clone_default, kAny, nullptr},
    {AtenOp::slice_Tensor, kAny, slice},
    {AtenOp::cat_default, kAny, nullptr},
    {AtenOp::constant_pad_nd_default, kAny, nullptr},
    {AtenOp::expand_default, kAny, nullptr},
    {AtenOp::repeat_default, kAny, nullptr},
};

const OpRow* row_of_op(ir::Op op) {
  if (!op.is_aten()) return nullptr;
  const auto row = std::ranges::find(kRows, op.aten(), &OpRow::op);
  return row == std::end(kRows) ? nullptr : &*row;
}

Refused check_shape(const ir::Value& value) {
  constexpr size_t kMostAxes = 6;
  if (value.shape.rank() > kMostAxes)
    return Refusal{
        .rule = "shape.rank",
        .reason = fmt::format("{} has {} axes, at most {} are supported", value.name, value.shape.rank(), kMostAxes),
        .hint = {}};
  if (std::ranges::any_of(value.shape.dims(), [](int64_t n) { return n < 0; }))
    return Refusal{
        .rule = "shape.dynamic", .reason = value.name + " has no static shape", .hint = "export with static shapes"};
  if (std::ranges::any_of(value.shape.dims(), [](int64_t n) { return n == 0; }))
    return Refusal{.rule = "shape.empty", .reason = value.name + " has no elements", .hint = {}};
  return std::nullopt;
}

Refused check_quantization(const Candidate& c, const ir::Value& value) {
  const Quantization& q = *value.quantization;
  if (value.constant) return std::nullopt;
  if (q.per_channel())
    return Refusal{.rule = "types.per-channel",
                   .reason = fmt::format("{} is quantized per channel, activations must be per tensor", value.name),
                   .hint = {}};
  if (q.dtype == DType::kInt8 || q.dtype == DType::kInt16) return std::nullopt;
  return Refusal{.rule = "types.activation",
                 .reason = fmt::format("{} is quantized to {}, {} computes with int8", value.name, name_of(q.dtype),
                                       c.options.target),
                 .hint = "quantize activations to int8"};
}

// Quantized as a whole, or plain integers that the op takes.
Refused check_types(const Candidate& c, const OpRow& row) {
  std::vector<ir::ValueId> values = c.node.inputs;
  values.push_back(c.node.outputs.front());
  for (const ir::ValueId id : values) {
    if (!id.valid()) continue;
    const ir::Value& value = c.graph[id];
    if (auto refusal = check_shape(value)) return refusal;
    if (value.quantization) {
      if (auto refusal = check_quantization(c, value)) return refusal;
      continue;
    }
    if (is_float(value.dtype)) {
      if (value.constant && takes_float_constants(c.node.op.aten()) && c.output().quantization) continue;
      return Refusal{.rule = "types.not-quantized",
                     .reason = fmt::format("{} is not quantized", value.name),
                     .hint = "quantize the model: --quantize int8 --calibrate DATA"};
    }
    const bool whole = row.integers == kAny || (row.integers == kInt32Too && value.dtype == DType::kInt32);
    const bool narrow = value.dtype == DType::kInt32 || value.dtype == DType::kInt16 || value.dtype == DType::kInt8;
    if (!narrow || !whole) {
      return Refusal{.rule = "types.integers",
                     .reason = fmt::format("{} is {}, {} does not do this op with it", value.name, name_of(value.dtype),
                                           c.options.target),
                     .hint = {}};
    }
  }
  return std::nullopt;
}

// A moved value that is quantized differently before and after needs all its parts quantized alike or rescaled, which
// the lowering does; a mix of quantized and plain integers cannot be.
Refused check_mixture(const Candidate& c) {
  const bool quantized = c.output().quantization.has_value();
  for (const ir::ValueId id : c.node.inputs) {
    if (!id.valid() || (c.graph[id].constant && is_float(c.graph[id].dtype))) continue;
    if (c.graph[id].quantization.has_value() != quantized) {
      return Refusal{.rule = "types.mixed",
                     .reason = fmt::format("{} is {}quantized, the result is {}", c.graph[id].name,
                                           quantized ? "not " : "", quantized ? "quantized" : "not"),
                     .hint = {}};
    }
  }
  return std::nullopt;
}

std::string hint_of(ir::Op op) {
  const bool known = op.is_aten() && traits_of(op.aten()).lowering.kind == AtenLowering::Kind::kNone;
  return known ? std::string(traits_of(op.aten()).lowering.text) : std::string();
}

}  // namespace

std::optional<ir::Refusal> refusal_of(const Candidate& c) {
  const OpRow* row = row_of_op(c.node.op);
  if (row == nullptr)
    return Refusal{.rule = "op.unknown",
                   .reason = fmt::format("{} has no implementation for {}", c.node.op.name(), c.options.target),
                   .hint = hint_of(c.node.op)};
  if (c.node.outputs.empty()) return Refusal{.rule = "node.no-result", .reason = "the node has no result", .hint = {}};
  if (auto refusal = check_types(c, *row)) return refusal;
  if (auto refusal = check_mixture(c)) return refusal;
  return row->rule == nullptr ? std::nullopt : row->rule(c);
}

}  // namespace carina::partition
