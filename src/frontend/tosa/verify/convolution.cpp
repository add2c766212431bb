#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/tosa/verify/rule.h"

namespace carina::tosa {

namespace {

// Rules of sections 2.3.3 to 2.3.5 and 2.3.10. Spatial axes are in the order of the shapes: [depth,] y, x. `first` is
// the weight's first kernel axis.
struct Kernel {
  size_t spatial;
  size_t first;
};
Kernel kernel_of(const RuleContext& at) {
  switch (at.row.op) {
    case TosaOp::CONV3D:
      return {.spatial = 3, .first = 1};
    case TosaOp::DEPTHWISE_CONV2D:
      return {.spatial = 2, .first = 0};
    default:
      return {.spatial = 2, .first = 1};
  }
}

Problem input_zp(const RuleContext& at) {
  if (at.input(0).dtype == DType::kInt8 || !is_nonzero_constant(at.input(3))) return std::nullopt;
  return fmt::format("input_zp is not zero for {}", name_of(at.input(0).dtype));
}

Problem weight_zp(const RuleContext& at) {
  if (at.input(1).dtype == DType::kInt8 || !is_nonzero_constant(at.input(4))) return std::nullopt;
  return fmt::format("weight_zp is not zero for {}", name_of(at.input(1).dtype));
}

Problem below(const RuleContext& at, std::string_view name, int64_t min) {
  const auto& list = at.ints(name);
  if (std::ranges::all_of(list, [&](int64_t value) { return value >= min; })) return std::nullopt;
  return to_string(list);
}
Problem negative_pad(const RuleContext& at) {
  return below(at, "pad", 0);
}
Problem stride(const RuleContext& at) {
  return below(at, "stride", 1);
}
Problem dilation(const RuleContext& at) {
  return below(at, "dilation", 1);
}

Problem output_size(const RuleContext& at) {
  const Kernel kernel = kernel_of(at);
  for (size_t axis = 0; axis < kernel.spatial; ++axis) {
    const int64_t span = (at.in_shape(1)[kernel.first + axis] - 1) * at.ints("dilation")[axis];
    const int64_t extent =
        at.in_shape(0)[1 + axis] - 1 + at.ints("pad")[2 * axis] + at.ints("pad")[2 * axis + 1] - span;
    const auto steps = exact_quotient(extent, at.ints("stride")[axis]);
    if (Problem found = differs(fmt::format("output axis {}", 1 + axis), at.out_shape(0)[1 + axis],
                                steps ? std::optional(*steps + 1) : std::nullopt))
      return found;
  }
  return std::nullopt;
}

Problem bias_size(const RuleContext& at) {
  const int64_t channels = at.out_shape(0)[at.out_shape(0).rank() - 1];
  const int64_t got = at.in_shape(2)[0];
  if (got == channels || got == 1) return std::nullopt;
  return fmt::format("{} for {} output channels", got, channels);
}

Problem over_level(const RuleContext& at, std::span<const int64_t> values, int64_t limit) {
  if (std::ranges::all_of(values, [&](int64_t value) { return value <= limit; })) return std::nullopt;
  return fmt::format("{}, level {} allows {}", to_string(values), at.options.level.name, limit);
}
Problem level_stride(const RuleContext& at) {
  return over_level(at, at.ints("stride"), at.options.level.max_stride);
}
Problem level_pad(const RuleContext& at) {
  return over_level(at, at.ints("pad"), at.options.level.max_kernel);
}
Problem level_out_pad(const RuleContext& at) {
  return over_level(at, at.ints("out_pad"), at.options.level.max_kernel);
}
Problem level_kernel(const RuleContext& at) {
  const Kernel kernel = kernel_of(at);
  std::vector<int64_t> spans;
  for (size_t axis = 0; axis < kernel.spatial; ++axis) {
    const bool dilated = at.node.attributes.find("dilation") != nullptr;
    spans.push_back((dilated ? at.ints("dilation")[axis] : 1) * at.in_shape(1)[kernel.first + axis]);
  }
  return over_level(at, spans, at.options.level.max_kernel);
}

Problem out_pad(const RuleContext& at) {
  for (size_t i = 0; i < 4; ++i) {
    if (at.ints("out_pad")[i] <= -at.in_shape(1)[1 + i / 2])
      return fmt::format("{} for kernel {}", to_string(at.ints("out_pad")), carina::to_string(at.in_shape(1)));
  }
  return std::nullopt;
}

Problem transposed_size(const RuleContext& at) {
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t wanted = (at.in_shape(0)[1 + axis] - 1) * at.ints("stride")[axis] + at.ints("out_pad")[2 * axis] +
                           at.ints("out_pad")[2 * axis + 1] + at.in_shape(1)[1 + axis];
    if (Problem found = differs(fmt::format("output axis {}", 1 + axis), at.out_shape(0)[1 + axis], wanted))
      return found;
  }
  return std::nullopt;
}

constexpr auto kConvolution = std::to_array<Rule>({
    {.id = "CONV.1", .must = "only int8 inputs may have a zero point", .broken = input_zp},
    {.id = "CONV.2", .must = "only int8 weights may have a zero point", .broken = weight_zp},
    {.id = "CONV.3", .must = "padding must not be negative", .broken = negative_pad},
    {.id = "CONV.4", .must = "strides must be at least 1", .broken = stride},
    {.id = "CONV.5", .must = "dilations must be at least 1", .broken = dilation},
    {.id = "CONV.6",
     .must = "the output's size must be (in - 1 + padding - (kernel - 1) * dilation) / stride + 1 without rest",
     .broken = output_size},
    {.id = "CONV.7", .must = "the bias must have one element, or one for each output channel", .broken = bias_size},
    {.id = "CONV.8", .must = "strides must keep to the level's MAX_STRIDE", .broken = level_stride},
    {.id = "CONV.9", .must = "padding must keep to the level's MAX_KERNEL", .broken = level_pad},
    {.id = "CONV.10", .must = "kernel sizes must keep to the level's MAX_KERNEL", .broken = level_kernel},
});

constexpr auto kTransposed = std::to_array<Rule>({
    {.id = "TRANSPOSE_CONV2D.1", .must = "only int8 inputs may have a zero point", .broken = input_zp},
    {.id = "TRANSPOSE_CONV2D.2", .must = "only int8 weights may have a zero point", .broken = weight_zp},
    {.id = "TRANSPOSE_CONV2D.3", .must = "out_pad must be larger than minus the kernel's size", .broken = out_pad},
    {.id = "TRANSPOSE_CONV2D.4", .must = "strides must be at least 1", .broken = stride},
    {.id = "TRANSPOSE_CONV2D.5",
     .must = "the output's size must be (in - 1) * stride + out_pad + kernel",
     .broken = transposed_size},
    {.id = "TRANSPOSE_CONV2D.6",
     .must = "the bias must have one element, or one for each output channel",
     .broken = bias_size},
    {.id = "TRANSPOSE_CONV2D.7", .must = "strides must keep to the level's MAX_STRIDE", .broken = level_stride},
    {.id = "TRANSPOSE_CONV2D.8", .must = "out_pad must keep to the level's MAX_KERNEL", .broken = level_out_pad},
    {.id = "TRANSPOSE_CONV2D.9", .must = "kernel sizes must keep to the level's MAX_KERNEL", .broken = level_kernel},
});

constexpr auto kConvolutionFamily = std::to_array<OpRules>({
    {.op = TosaOp::CONV2D, .rules = kConvolution},
    {.op = TosaOp::CONV3D, .rules = kConvolution},
    {.op = TosaOp::DEPTHWISE_CONV2D, .rules = kConvolution},
    {.op = TosaOp::TRANSPOSE_CONV2D, .rules = kTransposed},
});

}  // namespace

std::span<const OpRules> convolution_rules() {
  return kConvolutionFamily;
}

}  // namespace carina::tosa
