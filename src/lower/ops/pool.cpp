// Pools of images: MAX_POOL2D and AVG_POOL2D keep the quantization of their input.

#include <fmt/format.h>

#include "facts/aten_traits.h"
#include "lower/ops/window_internal.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;
using Ints = std::vector<int64_t>;

ValueId to_output(Lowering& in, const Node& node, ValueId pooled) {
  if (in.is_quantized(node))
    pooled = in.requantize(pooled, in.quantization(node.inputs[0]), in.quantization(node.outputs[0]));
  return in.out.to_nchw(pooled);
}

Shape nhwc(const Shape& s) {
  return {s[0], s[2], s[3], s[1]};
}

Ints strides(const Node& node) {
  const Ints& stride = node.attributes.integers("stride");
  return stride.empty() ? node.attributes.integers("kernel_size") : stride;
}

Refused check_image(const Candidate& c) {
  const size_t rank = c.input(0).shape.rank();
  if (rank == 4) return std::nullopt;
  return refused("pool.rank", fmt::format("the input has {} axes, a pool needs 4", rank));
}

Refused check_dilation(const Candidate& c) {
  const Ints& dilation = c.node.attributes.integers("dilation");
  if (dilation[0] == 1 && dilation[1] == 1) return std::nullopt;
  return refused(
      "pool.dilation",
      fmt::format("the dilation is {}x{}, {} pools without dilation", dilation[0], dilation[1], c.target.name),
      "use dilation=1");
}

Refused check_divisor(const Candidate& c) {
  const Ints& kernel = c.node.attributes.integers("kernel_size");
  if (c.node.attributes.is_none("divisor_override")) return std::nullopt;
  const int64_t divisor = c.node.attributes.integer("divisor_override");
  if (divisor == kernel[0] * kernel[1]) return std::nullopt;
  return refused("pool.divisor", fmt::format("divisor_override is {}", divisor), "leave divisor_override out");
}

// Where the divisor changes along the border, the window is small.
Refused check_overhang(const Candidate& c) {
  const Ints& kernel = c.node.attributes.integers("kernel_size");
  const Ints& padding = c.node.attributes.integers("padding");
  const bool counted = c.node.attributes.get<bool>("count_include_pad");
  const bool overhangs = c.node.attributes.get<bool>("ceil_mode") || (!counted && padding[0] + padding[1] > 0);
  const int64_t largest = c.target.limits.padded_average_pool;
  if (!overhangs || (kernel[0] <= largest && kernel[1] <= largest)) return std::nullopt;
  return refused("pool.padded-window",
                 fmt::format("the padded window is {}x{}, {} supports at most {}x{}", kernel[0], kernel[1],
                             c.target.name, largest, largest),
                 "pad with an op of its own, or use count_include_pad=True");
}

Refused pool_fits(const Candidate& c) {
  if (auto refusal = check_image(c)) return refusal;
  return first_of({check_axes(c, c.input(0)),
                   check_kernel(c, c.node.attributes.integers("kernel_size"), {1, 1}, c.target.limits.pool),
                   check_stride(c, strides(c.node))});
}

Refused max_pool2d_fits(const Candidate& c) {
  return first_of({check_dilation(c), pool_fits(c)});
}

Refused avg_pool2d_fits(const Candidate& c) {
  return first_of({check_divisor(c), check_overhang(c), pool_fits(c)});
}

Result<ValueId> max_pool2d(Lowering& in, const Node& node) {
  const Shape from = in.shape(node.inputs[0]), to = in.shape(node.outputs[0]);
  const Ints& padding = node.attributes.integers("padding");
  const Ints& dilation = node.attributes.integers("dilation");
  CARINA_CHECKED(accepted(node, first_of({check_dilation(in.candidate(node)), check_image(in.candidate(node))})));
  const Ints& kernel = node.attributes.integers("kernel_size");
  const WindowPlan plan = plan_windows({.kernel = kernel,
                                        .stride = strides(node),
                                        .dilation = dilation,
                                        .pad = {padding[0], padding[0], padding[1], padding[1]}},
                                       from, to);
  const ValueId image = trimmed(in.out, in.out.to_nhwc(in.operand(node.inputs[0])), plan);
  const ValueId pooled =
      in.out.emit(TosaOp::MAX_POOL2D, {image},
                  {{"kernel", kernel}, {"stride", plan.stride}, {"pad", plan.pad}, {"nan_mode", kNanPropagate}},
                  {.dtype = in.out.dtype(image), .shape = nhwc(to), .suffix = "pool"});
  return to_output(in, node, pooled);
}

// TOSA divides by the number of elements inside the image; PyTorch also counts its own padding (but never what a ceil
// mode hangs over), unless told not to. Counted padding therefore becomes part of the image.
Result<ValueId> avg_pool2d(Lowering& in, const Node& node) {
  Shape from = in.shape(node.inputs[0]);
  const Shape to = in.shape(node.outputs[0]);
  const Ints& kernel = node.attributes.integers("kernel_size");
  CARINA_CHECKED(accepted(node, first_of({check_divisor(in.candidate(node)), check_image(in.candidate(node))})));
  Ints padding = node.attributes.integers("padding");
  const bool quantized = in.is_quantized(node);
  const int64_t zero = quantized ? in.quantization(node.inputs[0]).zero_point() : 0;
  ValueId image = in.out.to_nhwc(in.operand(node.inputs[0]));
  if (node.attributes.get<bool>("count_include_pad")) {
    image = in.out.pad(image, {0, 0, padding[0], padding[0], padding[1], padding[1], 0, 0}, static_cast<double>(zero));
    from[2] += 2 * padding[0];
    from[3] += 2 * padding[1];
    padding = {0, 0};
  }
  const WindowPlan plan = plan_windows({.kernel = kernel,
                                        .stride = strides(node),
                                        .dilation = {1, 1},
                                        .pad = {padding[0], padding[0], padding[1], padding[1]}},
                                       from, to);
  image = trimmed(in.out, image, plan);
  const DType type = in.out.dtype(image);
  const ValueId zero_point = in.out.zero_point(type, zero);
  const ValueId pooled = in.out.emit(TosaOp::AVG_POOL2D, {image, zero_point, zero_point},
                                     {{"kernel", kernel},
                                      {"stride", plan.stride},
                                      {"pad", plan.pad},
                                      {"acc_type", quantized ? DType::kInt32 : DType::kFp32}},
                                     {.dtype = type, .shape = nhwc(to), .suffix = "pool"});
  return to_output(in, node, pooled);
}

constexpr LoweringRow kPoolRows[] = {
    {.op = AtenOp::max_pool2d_default, .integers = PlainIntegers::kNone, .legal = max_pool2d_fits, .lower = max_pool2d},
    {.op = AtenOp::avg_pool2d_default, .integers = PlainIntegers::kNone, .legal = avg_pool2d_fits, .lower = avg_pool2d},
};
static_assert(lowers_all_of(kPoolRows, {AtenFamily::kPool}));

}  // namespace

std::span<const LoweringRow> pool_rows() {
  return kPoolRows;
}

}  // namespace carina::lower
