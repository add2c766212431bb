// Lowers pools of images. MAX_POOL2D and AVG_POOL2D keep the quantization of their input.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "facts/aten_traits.h"
#include "lower/ops/window_internal.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;
using Ints = std::vector<int64_t>;

// The type in which TOSA's AVG_POOL2D adds elements.
DType accumulator_of(DType type) {
  if (!is_float(type)) return DType::kInt32;
  return type == DType::kFp8E4M3 || type == DType::kFp8E5M2 ? DType::kFp16 : DType::kFp32;
}

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

Rejected check_image(const Candidate& c) {
  const size_t rank = c.input(0).shape.rank();
  if (rank == 4) return std::nullopt;
  return rejected("pool.rank", fmt::format("the input has {} axes, a pool needs 4", rank), "give it [N,C,H,W]");
}

Rejected check_divisor(const Candidate& c) {
  const Ints& kernel = c.node.attributes.integers("kernel_size");
  if (c.node.attributes.is_none("divisor_override")) return std::nullopt;
  const int64_t divisor = c.node.attributes.integer("divisor_override");
  if (divisor == kernel[0] * kernel[1]) return std::nullopt;
  return rejected("pool.divisor", fmt::format("divisor_override is {}", divisor), "leave divisor_override out");
}

// If the divisor changes at the edge of the image, the window must be small.
Rejected check_overhang(const Candidate& c) {
  const Ints& kernel = c.node.attributes.integers("kernel_size");
  const Ints& padding = c.node.attributes.integers("padding");
  const bool counted = c.node.attributes.get<bool>("count_include_pad");
  const bool overhangs = c.node.attributes.get<bool>("ceil_mode") || (!counted && padding[0] + padding[1] > 0);
  const int64_t largest = c.target.limits.padded_average_pool;
  if (!overhangs || (kernel[0] <= largest && kernel[1] <= largest)) return std::nullopt;
  return rejected("pool.padded-window",
                  fmt::format("the padded window is {}x{}, {} supports at most {}x{}", kernel[0], kernel[1],
                              c.target.name, largest, largest),
                  "pad with an op of its own, or use count_include_pad=True");
}

Rejected pool_fits(const Candidate& c) {
  if (auto rejection = check_image(c)) return rejection;
  return first_of({check_axes(c, c.input(0)),
                   check_kernel(c, c.node.attributes.integers("kernel_size"), {1, 1}, c.target.limits.pool),
                   check_stride(c, strides(c.node))});
}

Rejected max_pool2d_fits(const Candidate& c) {
  return pool_fits(c);
}

Rejected avg_pool2d_fits(const Candidate& c) {
  return first_of({check_divisor(c), check_overhang(c), pool_fits(c)});
}

// A dilated window reads every `dilation`-th row. The rows of each phase (index modulo dilation) become an image of
// their own.
struct Phases {
  int64_t outputs;  // number of outputs with stride 1
  int64_t rows;     // rows of one phase
  int64_t dilation;

  [[nodiscard]] int64_t whole() const { return rows * dilation; }
};

Phases phases_of(int64_t results, int64_t stride, int64_t kernel, int64_t dilation) {
  const int64_t outputs = (results - 1) * stride + 1;
  return {.outputs = outputs, .rows = (outputs + dilation - 1) / dilation + kernel - 1, .dilation = dilation};
}

// Pads or crops to this many rows and columns, starting at the top and left padding. Padding has the smallest value, so
// it never is the maximum.
ValueId padded_to(Lowering& in, ValueId image, const Ints& padding, int64_t height, int64_t width) {
  Shape shape = in.out.shape(image);
  const DType type = in.out.dtype(image);
  const double lowest =
      is_float(type) ? -std::numeric_limits<double>::infinity() : static_cast<double>(range_of(type).min);
  const int64_t below = std::max<int64_t>(0, height - padding[0] - shape[1]);
  const int64_t right = std::max<int64_t>(0, width - padding[1] - shape[2]);
  const ValueId padded = in.out.pad(image, {0, 0, padding[0], below, padding[1], right, 0, 0}, lowest);
  return in.out.slice(padded, {0, 0, 0, 0}, Shape{shape[0], height, width, shape[3]});
}

ValueId max_pool(Lowering& in, ValueId image, const Ints& kernel, const Ints& stride) {
  const Shape s = in.out.shape(image);
  const Shape result{s[0], (s[1] - kernel[0]) / stride[0] + 1, (s[2] - kernel[1]) / stride[1] + 1, s[3]};
  return in.out.emit(
      TosaOp::MAX_POOL2D, {image},
      {{"kernel", kernel}, {"stride", stride}, {"pad", Ints{0, 0, 0, 0}}, {"nan_mode", ir::kNanPropagate}},
      {.dtype = in.out.dtype(image), .shape = result, .suffix = "pool"});
}

ValueId dilated_max_pool(Lowering& in, const Node& node) {
  const Shape to = in.shape(node.outputs[0]);
  const Ints &kernel = node.attributes.integers("kernel_size"), &dilation = node.attributes.integers("dilation");
  const Ints stride = strides(node);
  const Phases y = phases_of(to[2], stride[0], kernel[0], dilation[0]);
  const Phases x = phases_of(to[3], stride[1], kernel[1], dilation[1]);
  const ValueId image = padded_to(in, in.out.to_nhwc(in.operand(node.inputs[0])), node.attributes.integers("padding"),
                                  y.whole(), x.whole());
  const ValueId grid = in.out.reshape(image, Shape{to[0], y.rows, y.dilation, x.rows, x.dilation, to[1]});
  const ValueId phases = in.out.reshape(in.out.transpose(grid, {0, 2, 4, 1, 3, 5}),
                                        Shape{to[0] * y.dilation * x.dilation, y.rows, x.rows, to[1]});
  const ValueId pooled = max_pool(in, phases, kernel, {1, 1});
  const int64_t rows = y.rows - kernel[0] + 1, columns = x.rows - kernel[1] + 1;
  const ValueId apart = in.out.reshape(pooled, Shape{to[0], y.dilation, x.dilation, rows, columns, to[1]});
  const ValueId together = in.out.reshape(in.out.transpose(apart, {0, 3, 1, 4, 2, 5}),
                                          Shape{to[0], rows * y.dilation, columns * x.dilation, to[1]});
  const ValueId all = in.out.slice(together, {0, 0, 0, 0}, Shape{to[0], y.outputs, x.outputs, to[1]});
  return stride[0] == 1 && stride[1] == 1 ? all : max_pool(in, all, {1, 1}, stride);
}

Result<ValueId> max_pool2d(Lowering& in, const Node& node) {
  const Shape from = in.shape(node.inputs[0]), to = in.shape(node.outputs[0]);
  const Ints& padding = node.attributes.integers("padding");
  const Ints& dilation = node.attributes.integers("dilation");
  CARINA_CHECKED(accepted(node, check_image(in.candidate(node))));
  const Ints& kernel = node.attributes.integers("kernel_size");
  if (dilation[0] > 1 || dilation[1] > 1) return to_output(in, node, dilated_max_pool(in, node));
  const WindowPlan plan = plan_windows({.kernel = kernel,
                                        .stride = strides(node),
                                        .dilation = dilation,
                                        .pad = {padding[0], padding[0], padding[1], padding[1]}},
                                       from, to);
  const ValueId image = trimmed(in.out, in.out.to_nhwc(in.operand(node.inputs[0])), plan);
  const ValueId pooled =
      in.out.emit(TosaOp::MAX_POOL2D, {image},
                  {{"kernel", kernel}, {"stride", plan.stride}, {"pad", plan.pad}, {"nan_mode", ir::kNanPropagate}},
                  {.dtype = in.out.dtype(image), .shape = nhwc(to), .suffix = "pool"});
  return to_output(in, node, pooled);
}

// TOSA divides by the number of elements inside of the image. PyTorch also counts its own padding, unless
// count_include_pad is false; it never counts the overhang of ceil mode. If padding counts, it becomes part of the
// image.
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
  const ValueId pooled =
      in.out.emit(TosaOp::AVG_POOL2D, {image, zero_point, zero_point},
                  {{"kernel", kernel}, {"stride", plan.stride}, {"pad", plan.pad}, {"acc_type", accumulator_of(type)}},
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
