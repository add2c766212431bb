// Lowers sums, means and extrema along axes.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "facts/aten_traits.h"
#include "lower/lowering_internal.h"
#include "lower/ops/casts_internal.h"
#include "tensor/elements.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

struct Reduction {
  std::vector<size_t> axes;
  Shape kept;    // shape of the result with reduced axes of size 1
  double count;  // number of elements per result
};

Reduction reduction_of(const Lowering& in, const Node& node) {
  const Shape& shape = in.shape(node.inputs[0]);
  Reduction reduction{.axes = normalize::reduced_axes(node.attributes, "dim", shape.rank()), .kept = {}, .count = 1};
  reduction.kept = normalize::kept_shape(shape, reduction.axes);
  for (const size_t axis : reduction.axes) reduction.count *= static_cast<double>(shape[axis]);
  return reduction;
}

bool fits(const Shape& image, const WindowLimit& limit) {
  return image[2] <= limit.rows && image[2] * image[3] <= limit.elems;
}

bool over_image(const Shape& shape, const std::vector<size_t>& axes) {
  return shape.rank() == 4 && axes == std::vector<size_t>{2, 3};
}

// The mean over height and width with the input's scale, as one pool.
ValueId image_mean(Lowering& in, ValueId input, const Quantization& q) {
  const ValueId image = in.out.to_nhwc(input);
  const Shape s = in.out.shape(image);
  const ValueId zero_point = in.out.zero_point(q.dtype, q.zero_point());
  const ValueId pooled = in.out.emit(TosaOp::AVG_POOL2D, {image, zero_point, zero_point},
                                     {{"kernel", std::vector{s[1], s[2]}},
                                      {"stride", std::vector<int64_t>{1, 1}},
                                      {"pad", std::vector<int64_t>{0, 0, 0, 0}},
                                      {"acc_type", DType::kInt32}},
                                     {.dtype = q.dtype, .shape = Shape{s[0], 1, 1, s[3]}, .suffix = "pool"});
  return in.out.to_nchw(pooled);
}

// The sum over height and width as a depthwise convolution with ones. It is exact, and one operation instead of several
// for REDUCE_SUM along two axes of an image.
ValueId image_sum(Lowering& in, const std::string& name, ValueId input, const Quantization& q) {
  const ValueId image = in.out.to_nhwc(input);
  const Shape s = in.out.shape(image);
  const Shape kernel{s[1], s[2], s[3], 1};
  const ValueId ones = in.out.constant(
      name + ".ones",
      integer_tensor(DType::kInt8, kernel, std::vector<int64_t>(static_cast<size_t>(kernel.elements()), 1)));
  const ValueId bias = in.out.constant(
      name + ".bias", integer_tensor(DType::kInt32, Shape{s[3]}, std::vector<int64_t>(static_cast<size_t>(s[3]), 0)));
  const ValueId zero_point = in.out.integer(DType::kInt8, q.zero_point()), weight_zp = in.out.integer(DType::kInt8, 0);
  const ValueId sum = in.out.emit(TosaOp::DEPTHWISE_CONV2D, {image, ones, bias, zero_point, weight_zp},
                                  {{"pad", std::vector<int64_t>{0, 0, 0, 0}},
                                   {"stride", std::vector<int64_t>{1, 1}},
                                   {"dilation", std::vector<int64_t>{1, 1}},
                                   {"local_bound", false},
                                   {"acc_type", DType::kInt32}},
                                  {.dtype = DType::kInt32, .shape = Shape{s[0], 1, 1, s[3]}, .suffix = "acc"});
  return sum;
}

ValueId sum_of_integers(Lowering& in, ValueId input, const Quantization& q, const Reduction& reduction) {
  ValueId sum = in.out.rescale(input, {.scales = {1}, .input_zp = q.zero_point(), .output_zp = 0, .to = DType::kInt32});
  for (const size_t axis : reduction.axes) sum = in.out.reduce(TosaOp::REDUCE_SUM, sum, axis);
  return sum;
}

// The sum of the real values, times `factor`.
ValueId quantized_sum(Lowering& in, const Node& node, const Reduction& reduction, double factor) {
  const ValueId input = in.operand(node.inputs[0]);
  const Quantization& from = in.quantization(node.inputs[0]);
  const Quantization& to = in.quantization(node.outputs[0]);
  const Shape& shape = in.shape(node.inputs[0]);
  const ir::Rescaling rescaling{
      .scales = {factor * from.scale() / to.scale()}, .input_zp = 0, .output_zp = to.zero_point(), .to = to.dtype};
  if (over_image(shape, reduction.axes) && from.dtype == DType::kInt8) {
    const bool same = from.scales == to.scales && from.zero_points == to.zero_points && from.dtype == to.dtype;
    if (same && factor * reduction.count == 1 && fits(shape, in.target.idioms.pooled_mean))
      return in.within_range(image_mean(in, input, from), to);
    if (fits(shape, in.target.idioms.convolved_sum))
      return in.out.to_nchw(in.within_range(in.out.rescale(image_sum(in, node.name, input, from), rescaling), to));
  }
  return in.within_range(in.out.rescale(sum_of_integers(in, input, from, reduction), rescaling), to);
}

// Adds integers in int32, whose low bits are the sums of narrower ones, and floats in fp32.
ValueId plain_sum(Lowering& in, const Node& node, const Reduction& reduction) {
  const DType type = in.value(node.outputs[0]).dtype;
  ValueId sum = converted(in.out, in.operand(node.inputs[0]), is_float(type) ? DType::kFp32 : DType::kInt32);
  for (const size_t axis : reduction.axes) sum = in.out.reduce(TosaOp::REDUCE_SUM, sum, axis);
  return sum;
}

// TOSA's REDUCE_PRODUCT supports floats only.
Result<ValueId> product(Lowering& in, const Node& node) {
  const DType type = in.value(node.outputs[0]).dtype;
  if (in.is_quantized(node) || !computes(type))
    return fail(normalize::about(node, "a product along an axis is computed with floats only"));
  const Shape& shape = in.shape(node.inputs[0]);
  ValueId result = converted(in.out, in.operand(node.inputs[0]), DType::kFp32);
  if (shape.rank() > 0)
    result =
        in.out.reduce(TosaOp::REDUCE_PRODUCT, result, normalize::axis_of(node.attributes.integer("dim"), shape.rank()));
  return in.out.reshape(in.out.cast(result, type), in.shape(node.outputs[0]));
}

Rejected no_integer_product(const Candidate& c) {
  return rejected("prod.integers", fmt::format("{} has no product along an axis", c.target.name),
                  "slice the axis and multiply the slices");
}

Result<ValueId> sum(Lowering& in, const Node& node) {
  const Reduction reduction = reduction_of(in, node);
  const ValueId result = in.is_quantized(node) ? quantized_sum(in, node, reduction, 1)
                                               : converted(in.out, plain_sum(in, node, reduction),
                                                           tosa_type(in.value(node.outputs[0]).dtype));
  return in.out.reshape(result, in.shape(node.outputs[0]));
}

Result<ValueId> mean(Lowering& in, const Node& node) {
  const Reduction reduction = reduction_of(in, node);
  if (in.is_quantized(node)) {
    return in.out.reshape(quantized_sum(in, node, reduction, 1 / reduction.count), in.shape(node.outputs[0]));
  }
  const ValueId total = plain_sum(in, node, reduction);
  const ValueId inverse = in.out.splat(DType::kFp32, 1 / reduction.count, reduction.kept.rank());
  const ValueId result =
      in.out.cast(in.out.binary(TosaOp::MUL, total, inverse), tosa_type(in.value(node.outputs[0]).dtype));
  return in.out.reshape(result, in.shape(node.outputs[0]));
}

// Quantization is monotonic, so integers are compared directly.
template <TosaOp kOp>
Result<ValueId> extremum(Lowering& in, const Node& node) {
  ValueId result = in.operand(node.inputs[0]);
  for (const size_t axis : reduction_of(in, node).axes) result = in.out.reduce(kOp, result, axis);
  if (in.is_quantized(node))
    result = in.requantize(result, in.quantization(node.inputs[0]), in.quantization(node.outputs[0]));
  return in.out.reshape(result, in.shape(node.outputs[0]));
}

ValueId argmax(ir::Emitter& out, ValueId input, size_t axis) {
  const std::vector<int64_t> dims = normalize::dims_of(out.shape(input));
  std::vector<int64_t> rest(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(axis));
  rest.insert(rest.end(), dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, dims.end());
  return out.emit(TosaOp::ARGMAX, {input}, {{"axis", static_cast<int64_t>(axis)}, {"nan_mode", ir::kNanPropagate}},
                  {.dtype = DType::kInt32, .shape = Shape(rest), .suffix = "argmax"});
}

// TOSA has no ARGMAX of int32. The result is the smallest index at which the element is equal to the maximum.
ValueId argmax_of_int32(ir::Emitter& out, const std::string& name, ValueId input, size_t axis) {
  const Shape shape = out.shape(input);
  std::vector<int64_t> numbers(static_cast<size_t>(shape[axis])), dims(shape.rank(), 1);
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  dims[axis] = shape[axis];
  const ValueId indices = out.constant(name + ".places", integer_tensor(DType::kInt32, Shape(dims), numbers));
  const ValueId none = out.splat(DType::kInt32, static_cast<double>(shape[axis]), shape.rank());
  const ValueId greatest = out.compare(TosaOp::EQUAL, input, out.reduce(TosaOp::REDUCE_MAX, input, axis));
  return out.reduce(TosaOp::REDUCE_MIN, out.select(greatest, indices, none), axis);
}

// The index of the maximum along one axis, or among all elements. Of equal elements it is the first.
ValueId index_of_greatest(Lowering& in, const Node& node, ValueId input) {
  const bool flat = node.attributes.is_none("dim") || in.shape(node.inputs[0]).rank() == 0;
  if (flat) input = in.out.reshape(input, Shape{in.out.shape(input).elements()});
  const size_t axis = flat ? 0 : normalize::axis_of(node.attributes.integer("dim"), in.out.shape(input).rank());
  return in.out.dtype(input) == DType::kInt32 ? argmax_of_int32(in.out, node.name, input, axis)
                                              : argmax(in.out, input, axis);
}

enum class Extreme : uint8_t { kMax, kMin };

// Reverses the order: -1 - x for integers, which does not overflow.
ValueId turned(ir::Emitter& out, ValueId input) {
  if (!is_float(out.dtype(input))) return out.unary(TosaOp::BITWISE_NOT, input);
  return out.binary(TosaOp::SUB, out.splat(out.dtype(input), 0, out.shape(input).rank()), input);
}

template <Extreme kWhich>
Result<ValueId> index_of(Lowering& in, const Node& node) {
  ValueId input = in.operand(node.inputs[0]);
  const DType type = in.out.dtype(input);
  if (type == DType::kBool) input = in.out.cast(input, DType::kInt8);
  if (kWhich == Extreme::kMin) input = turned(in.out, input);
  return in.out.reshape(index_of_greatest(in, node, input), in.shape(node.outputs[0]));
}

// TOSA's ARGMAX supports narrow integers only.
Rejected narrow(const Candidate& c) {
  const DType type = Candidate::type_of(c.input(0));
  if (type == DType::kInt8 || type == DType::kInt16) return std::nullopt;
  return rejected("argmax.type", fmt::format("the place of an extremum among {}", name_of(type)),
                  "convert the tensor to int8 or int16");
}

constexpr LoweringRow kReduceRows[] = {
    {.op = AtenOp::argmax_default, .integers = PlainIntegers::kAny, .legal = narrow, .lower = index_of<Extreme::kMax>},
    {.op = AtenOp::argmin_default, .integers = PlainIntegers::kAny, .legal = narrow, .lower = index_of<Extreme::kMin>},
    {.op = AtenOp::sum_dim_IntList, .integers = PlainIntegers::kAny, .legal = always, .lower = sum},
    {.op = AtenOp::prod_dim_int, .integers = PlainIntegers::kNone, .legal = no_integer_product, .lower = product},
    {.op = AtenOp::mean_dim, .integers = PlainIntegers::kNone, .legal = always, .lower = mean},
    {.op = AtenOp::amax_default,
     .integers = PlainIntegers::kNone,
     .legal = always,
     .lower = extremum<TosaOp::REDUCE_MAX>},
    {.op = AtenOp::amin_default,
     .integers = PlainIntegers::kNone,
     .legal = always,
     .lower = extremum<TosaOp::REDUCE_MIN>},
};
static_assert(lowers_all_of(kReduceRows, {AtenFamily::kReduction}));

}  // namespace

std::span<const LoweringRow> reduce_rows() {
  return kReduceRows;
}

}  // namespace carina::lower
