#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/tosa/verify/rule.h"

namespace carina::tosa {

namespace {

// Rules of the operators of EXT-MXFP, TOSA 1.1-draft.

// Checks elements and their scales: whole blocks along the last axis, one scale for each.
Problem blocks_of(const RuleContext& at, const ir::Value& data, const ir::Value& scale) {
  const int64_t block = at.integer("block_size");
  Shape wanted = data.shape;
  int64_t& last = wanted[wanted.rank() - 1];
  if (last % block != 0) return fmt::format("{} elements along the last axis of {}", last, data.name);
  last /= block;
  if (scale.shape == wanted) return std::nullopt;
  return fmt::format("{} for elements {}", carina::to_string(scale.shape), carina::to_string(data.shape));
}

Problem blocks(const RuleContext& at) {
  if (at.row.op == TosaOp::CAST_TO_BLOCK_SCALED) return blocks_of(at, at.output(0), at.output(1));
  if (Problem found = blocks_of(at, at.input(0), at.input(1))) return found;
  return at.node.inputs.size() > 2 ? blocks_of(at, at.input(2), at.input(3)) : std::nullopt;
}

Problem batches(const RuleContext& at) {
  const int64_t a = at.in_shape(0)[0], b = at.in_shape(2)[0];
  return b == 1 || b == a ? std::nullopt : Problem(fmt::format("{} for {} batches of A", b, a));
}

// Pad, stride and dilation are operands.
struct Window {
  std::vector<int64_t> pad, stride, dilation;
};
Window window_of(const RuleContext& at) {
  return {.pad = *constant_ints(at.input(5)),
          .stride = *constant_ints(at.input(6)),
          .dilation = *constant_ints(at.input(7))};
}

Problem unknown_window(const RuleContext& at) {
  for (const size_t operand : {size_t{5}, size_t{6}, size_t{7}}) {
    if (!constant_ints(at.input(operand))) return std::string(at.row.inputs[operand].name);
  }
  return std::nullopt;
}

Problem window_range(const RuleContext& at) {
  const Window window = window_of(at);
  const auto at_least = [](const std::vector<int64_t>& list, int64_t min) {
    return std::ranges::all_of(list, [min](int64_t value) { return value >= min; });
  };
  if (at_least(window.pad, 0) && at_least(window.stride, 1) && at_least(window.dilation, 1)) return std::nullopt;
  return fmt::format("pad {}, stride {}, dilation {}", to_string(window.pad), to_string(window.stride),
                     to_string(window.dilation));
}

Problem scaled_output_size(const RuleContext& at) {
  const Window window = window_of(at);
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t span = (at.in_shape(2)[1 + axis] - 1) * window.dilation[axis];
    const int64_t extent = at.in_shape(0)[1 + axis] - 1 + window.pad[2 * axis] + window.pad[2 * axis + 1] - span;
    const auto steps = exact_quotient(extent, window.stride[axis]);
    if (Problem found = differs(fmt::format("output axis {}", 1 + axis), at.out_shape(0)[1 + axis],
                                steps ? std::optional(*steps + 1) : std::nullopt))
      return found;
  }
  return std::nullopt;
}

Problem scaled_bias_size(const RuleContext& at) {
  const int64_t channels = at.out_shape(0)[3], got = at.in_shape(4)[0];
  if (got == channels || got == 1) return std::nullopt;
  return fmt::format("{} for {} output channels", got, channels);
}

Problem level(const RuleContext& at) {
  const Window window = window_of(at);
  const auto& limits = at.options.level;
  const auto within = [](const std::vector<int64_t>& list, int64_t max) {
    return std::ranges::all_of(list, [max](int64_t value) { return value <= max; });
  };
  const std::vector<int64_t> kernel{at.in_shape(2)[1] * window.dilation[0], at.in_shape(2)[2] * window.dilation[1]};
  if (within(window.stride, limits.max_stride) && within(window.pad, limits.max_kernel) &&
      within(kernel, limits.max_kernel))
    return std::nullopt;
  return fmt::format("stride {}, pad {}, kernel with dilation {}; level {} allows {}, {}, {}", to_string(window.stride),
                     to_string(window.pad), to_string(kernel), limits.name, limits.max_stride, limits.max_kernel,
                     limits.max_kernel);
}

constexpr Rule kWholeBlocks{.id = "BLOCK_SCALED.1",
                            .must = "the last axis must have whole blocks, and the scales one element for each block",
                            .broken = blocks};
constexpr auto kBlockScaledCast = std::to_array<Rule>({kWholeBlocks});
constexpr auto kBlockScaledMatmul = std::to_array<Rule>({
    kWholeBlocks,
    {.id = "BLOCK_SCALED.2", .must = "B must have one batch, or as many as A", .broken = batches},
});
constexpr auto kBlockScaledConvolution = std::to_array<Rule>({
    kWholeBlocks,
    {.id = "BLOCK_SCALED.3", .must = "pad, stride and dilation must be constants", .broken = unknown_window},
    {.id = "BLOCK_SCALED.4",
     .must = "padding must not be negative, strides and dilations must be at least 1",
     .broken = window_range},
    {.id = "BLOCK_SCALED.5",
     .must = "the output's size must be (in - 1 + padding - (kernel - 1) * dilation) / stride + 1 without rest",
     .broken = scaled_output_size},
    {.id = "BLOCK_SCALED.6",
     .must = "the bias must have one element, or one for each output channel",
     .broken = scaled_bias_size},
    {.id = "BLOCK_SCALED.7", .must = "strides, padding and kernel sizes must keep to the level", .broken = level},
});

constexpr auto kBlockScaledFamily = std::to_array<OpRules>({
    {.op = TosaOp::CAST_FROM_BLOCK_SCALED, .rules = kBlockScaledCast},
    {.op = TosaOp::CAST_TO_BLOCK_SCALED, .rules = kBlockScaledCast},
    {.op = TosaOp::MATMUL_T_BLOCK_SCALED, .rules = kBlockScaledMatmul},
    {.op = TosaOp::CONV2D_BLOCK_SCALED, .rules = kBlockScaledConvolution},
});

}  // namespace

std::span<const OpRules> block_scaled_rules() {
  return kBlockScaledFamily;
}

}  // namespace carina::tosa
