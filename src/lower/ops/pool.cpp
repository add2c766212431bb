// Pools of images: MAX_POOL2D and AVG_POOL2D keep the quantization of their input.

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

Result<ValueId> max_pool2d(Lowering& in, const Node& node) {
  const Shape from = in.shape(node.inputs[0]), to = in.shape(node.outputs[0]);
  const Ints& padding = node.attributes.integers("padding");
  const Ints& dilation = node.attributes.integers("dilation");
  if (from.rank() != 4) return fail(about(node, "max_pool2d needs a batch of images"));
  if (dilation[0] != 1 || dilation[1] != 1) return fail(about(node, "max_pool2d with dilation is not supported"));
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
  if (from.rank() != 4) return fail(about(node, "avg_pool2d needs a batch of images"));
  if (!node.attributes.is_none("divisor_override") &&
      node.attributes.integer("divisor_override") != kernel[0] * kernel[1]) {
    return fail(about(node, "avg_pool2d with divisor_override is not supported"));
  }
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

constexpr LoweringRow kRows[] = {
    {AtenOp::max_pool2d_default, max_pool2d},
    {AtenOp::avg_pool2d_default, avg_pool2d},
};
static_assert(lowers_all_of(kRows, {AtenFamily::kPool}));

}  // namespace

std::span<const LoweringRow> pool_rows() {
  return kRows;
}

}  // namespace carina::lower
