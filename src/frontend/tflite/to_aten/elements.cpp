#include <algorithm>
#include <array>
#include <numeric>

#include "frontend/tflite/stretch.h"
#include "frontend/tflite/to_aten/aten_call_internal.h"

// Functions of elements, reductions, and operators that move elements.
namespace carina::tflite {

namespace {

using ir::ValueId;
using Ints = std::vector<int64_t>;

Result<void> unary(AtenCall& call, AtenOp op, ir::Attributes attributes = {}) {
  CARINA_TRY(const ValueId x, call.value(0));
  return call.set(call.make(op, {x}, std::move(attributes)));
}

Result<void> limited(AtenCall& call, double min, double max) {
  return unary(call, AtenOp::hardtanh_default, {{"min_val", min}, {"max_val", max}});
}

Result<void> binary(AtenCall& call, AtenOp op, ir::Attributes attributes = {}) {
  CARINA_CHECKED(call.need(2));
  CARINA_TRY(const ValueId a, call.value(0));
  CARINA_TRY(const ValueId b, call.value(1));
  CARINA_TRY(const ValueId made, call.activated(call.make(op, {a, b}, std::move(attributes))));
  return call.set(made);
}

ir::Attributes alpha_of_one() {
  return {{"alpha", int64_t{1}}};
}

}  // namespace

Result<void> aten_sum(AtenCall& call) {
  return binary(call, AtenOp::add_Tensor, alpha_of_one());
}

Result<void> aten_difference(AtenCall& call) {
  return binary(call, AtenOp::sub_Tensor, alpha_of_one());
}

Result<void> aten_product(AtenCall& call) {
  return binary(call, AtenOp::mul_Tensor);
}

Result<void> aten_quotient(AtenCall& call) {
  return binary(call, AtenOp::div_Tensor);
}

Result<void> aten_maximum(AtenCall& call) {
  return binary(call, AtenOp::maximum_default);
}

Result<void> aten_minimum(AtenCall& call) {
  return binary(call, AtenOp::minimum_default);
}

Result<void> aten_squared_difference(AtenCall& call) {
  CARINA_CHECKED(call.need(2));
  CARINA_TRY(const ValueId a, call.value(0));
  CARINA_TRY(const ValueId b, call.value(1));
  const ValueId distance = call.make(AtenOp::sub_Tensor, {a, b}, alpha_of_one());
  return call.set(call.make(AtenOp::mul_Tensor, {distance, distance}));
}

Result<void> aten_absolute(AtenCall& call) {
  return unary(call, AtenOp::abs_default);
}

Result<void> aten_negated(AtenCall& call) {
  return unary(call, AtenOp::neg_default);
}

Result<void> aten_exponential(AtenCall& call) {
  return unary(call, AtenOp::exp_default);
}

Result<void> aten_logarithm(AtenCall& call) {
  return unary(call, AtenOp::log_default);
}

Result<void> aten_square_root(AtenCall& call) {
  return unary(call, AtenOp::sqrt_default);
}

Result<void> aten_reciprocal_square_root(AtenCall& call) {
  return unary(call, AtenOp::rsqrt_default);
}

Result<void> aten_square(AtenCall& call) {
  CARINA_TRY(const ValueId x, call.value(0));
  return call.set(call.make(AtenOp::mul_Tensor, {x, x}));
}

Result<void> aten_logistic(AtenCall& call) {
  return unary(call, AtenOp::sigmoid_default);
}

Result<void> aten_hyperbolic_tangent(AtenCall& call) {
  return unary(call, AtenOp::tanh_default);
}

Result<void> aten_hard_swish(AtenCall& call) {
  return unary(call, AtenOp::hardswish_default);
}

Result<void> aten_elu(AtenCall& call) {
  return unary(call, AtenOp::elu_default, {{"alpha", int64_t{1}}, {"scale", int64_t{1}}, {"input_scale", int64_t{1}}});
}

Result<void> aten_gelu(AtenCall& call) {
  return unary(call, AtenOp::gelu_default,
               {{"approximate", std::string(call.options().approximate ? "tanh" : "none")}});
}

Result<void> aten_relu(AtenCall& call) {
  return unary(call, AtenOp::relu_default);
}

Result<void> aten_relu6(AtenCall& call) {
  return limited(call, 0, 6);
}

Result<void> aten_relu_0_to_1(AtenCall& call) {
  return limited(call, 0, 1);
}

Result<void> aten_relu_n1_to_1(AtenCall& call) {
  return limited(call, -1, 1);
}

Result<void> aten_leaky_relu(AtenCall& call) {
  return unary(call, AtenOp::leaky_relu_default, {{"negative_slope", double{call.options().alpha}}});
}

// PReLU of PyTorch has its slopes along axis 1.
Result<void> aten_prelu(AtenCall& call) {
  CARINA_CHECKED(call.need(2));
  CARINA_CHECKED(call.need_rank(0, 4));
  CARINA_TRY(const std::vector<float> slopes, call.floats(1));
  const int64_t channels = call.in(0).shape[3];
  if (static_cast<int64_t>(slopes.size()) != channels && slopes.size() != 1)
    return call.reject("there is not one slope for each channel");
  CARINA_TRY(const ValueId given, call.value(0));
  const ValueId slope = call.constant("slope", Shape{static_cast<int64_t>(slopes.size())}, slopes);
  return call.set(call.to_nhwc(call.make(AtenOp::prelu_default, {call.to_nchw(given), slope})));
}

Result<void> aten_softmax(AtenCall& call) {
  CARINA_TRY(ValueId x, call.value(0));
  if (call.options().beta != 1.0F) x = call.make(AtenOp::mul_Tensor, {x, call.scalar(double{call.options().beta})});
  return call.set(call.make(AtenOp::softmax_int, {x}, {{"dim", int64_t{-1}}, {"dtype", std::monostate()}}));
}

// The constant of a model whose weights are half floats or integers.
Result<void> aten_dequantized(AtenCall& call) {
  CARINA_TRY(const ValueId value, call.value(0));
  return call.set(value);
}

namespace {

Result<int64_t> axis_of(const AtenCall& call, int64_t axis, size_t rank) {
  if (axis < 0) axis += static_cast<int64_t>(rank);
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) return call.reject("an axis that the tensor does not have");
  return axis;
}

Result<void> reduced(AtenCall& call, AtenOp op, bool has_dtype) {
  CARINA_CHECKED(call.need(2));
  CARINA_TRY(Ints axes, call.integers(1));
  for (int64_t& axis : axes) {
    CARINA_TRY(axis, axis_of(call, axis, call.in(0).shape.rank()));
  }
  CARINA_TRY(const ValueId x, call.value(0));
  ir::Attributes attributes{{"dim", axes}, {"keepdim", true}};
  if (has_dtype) attributes.set("dtype", std::monostate());
  return call.set(call.view(call.make(op, {x}, std::move(attributes)), call.result().shape));
}

// Elements [start, start + size) of an axis.
ValueId part(AtenCall& call, ValueId x, int64_t axis, int64_t start, int64_t size, int64_t step = 1) {
  return call.make(AtenOp::slice_Tensor, {x},
                   {{"dim", axis}, {"start", start}, {"end", start + (size - 1) * step + 1}, {"step", step}});
}

Result<void> parted(AtenCall& call, size_t data, int64_t axis, const Ints& sizes) {
  const Shape shape = call.in(data).shape;
  if (sizes.size() != call.results() ||
      std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != shape[static_cast<size_t>(axis)] ||
      std::ranges::min(sizes) < 1)
    return call.reject("the parts are not the whole axis");
  CARINA_TRY(const ValueId x, call.value(data));
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    CARINA_CHECKED(call.set(i, call.view(part(call, x, axis, start, sizes[i]), call.result(i).shape)));
    start += sizes[i];
  }
  return {};
}

}  // namespace

Result<void> aten_mean(AtenCall& call) {
  return reduced(call, AtenOp::mean_dim, true);
}

Result<void> aten_sum_of_axes(AtenCall& call) {
  return reduced(call, AtenOp::sum_dim_IntList, true);
}

Result<void> aten_reduce_max(AtenCall& call) {
  return reduced(call, AtenOp::amax_default, false);
}

Result<void> aten_reduce_min(AtenCall& call) {
  return reduced(call, AtenOp::amin_default, false);
}

Result<void> aten_reshaped(AtenCall& call) {
  CARINA_TRY(const ValueId x, call.value(0));
  if (call.in(0).shape.elements() != call.result().shape.elements())
    return call.reject("the result has another number of elements");
  return call.set(call.view(x, call.result().shape));
}

Result<void> aten_transposed(AtenCall& call) {
  CARINA_CHECKED(call.need(2));
  CARINA_TRY(const Ints dims, call.integers(1));
  Ints sorted = dims, expected(call.in(0).shape.rank());
  std::ranges::sort(sorted);
  std::iota(expected.begin(), expected.end(), 0);
  if (sorted != expected) return call.reject("the axes are not a permutation");
  return unary(call, AtenOp::permute_default, {{"dims", dims}});
}

// PyTorch's amounts begin with the last axis.
Result<void> aten_pad(AtenCall& call) {
  CARINA_CHECKED(call.need(2));
  CARINA_TRY(const Ints amounts, call.integers(1));
  const size_t rank = call.in(0).shape.rank();
  if (amounts.size() != 2 * rank || std::ranges::any_of(amounts, [](int64_t n) { return n < 0; }))
    return call.reject("the amounts do not fit");
  double value = 0;
  if (call.op().name == "PADV2") {
    CARINA_TRY(const std::vector<float> values, call.floats(2));
    if (values.size() != 1) return call.reject("there is not one value");
    value = double{values.front()};
  }
  Ints pad;
  for (size_t axis = rank; axis-- > 0;) pad.insert(pad.end(), {amounts[2 * axis], amounts[2 * axis + 1]});
  return unary(call, AtenOp::constant_pad_nd_default, {{"pad", pad}, {"value", value}});
}

Result<void> aten_concatenation(AtenCall& call) {
  std::vector<ValueId> parts;
  for (size_t i = 0; i < call.inputs(); ++i) {
    CARINA_TRY(const ValueId one, call.value(i));
    if (call.in(i).shape.rank() != call.result().shape.rank()) return call.reject("the operands' ranks differ");
    parts.push_back(one);
  }
  CARINA_TRY(const int64_t axis, axis_of(call, call.options().axis, call.result().shape.rank()));
  CARINA_TRY(const ValueId made, call.activated(call.make(AtenOp::cat_default, parts, {{"dim", axis}})));
  return call.set(made);
}

Result<void> aten_pack(AtenCall& call) {
  CARINA_TRY(const int64_t axis, axis_of(call, call.options().axis, call.result().shape.rank()));
  Shape one = call.result().shape;
  one[static_cast<size_t>(axis)] = 1;
  std::vector<ValueId> parts;
  for (size_t i = 0; i < call.inputs(); ++i) {
    CARINA_TRY(const ValueId value, call.value(i));
    if (call.in(i).shape.elements() != one.elements()) return call.reject("the operands do not fit the result");
    parts.push_back(call.view(value, one));
  }
  return call.set(call.make(AtenOp::cat_default, parts, {{"dim", axis}}));
}

Result<void> aten_unpack(AtenCall& call) {
  CARINA_TRY(const int64_t axis, axis_of(call, call.options().axis, call.in(0).shape.rank()));
  return parted(call, 0, axis, Ints(call.results(), 1));
}

// SPLIT(axis, input) into equal parts.
Result<void> aten_split(AtenCall& call) {
  CARINA_CHECKED(call.need(2));
  CARINA_TRY(const Ints given, call.integers(0));
  if (given.size() != 1) return call.reject("there is not one axis");
  CARINA_TRY(const int64_t axis, axis_of(call, given.front(), call.in(1).shape.rank()));
  const int64_t size = call.in(1).shape[static_cast<size_t>(axis)] / static_cast<int64_t>(call.results());
  return parted(call, 1, axis, Ints(call.results(), size));
}

// SPLIT_V(input, sizes, axis); one size may be -1, the rest.
Result<void> aten_split_v(AtenCall& call) {
  CARINA_CHECKED(call.need(3));
  CARINA_TRY(Ints sizes, call.integers(1));
  CARINA_TRY(const Ints given, call.integers(2));
  if (given.size() != 1) return call.reject("there is not one axis");
  CARINA_TRY(const int64_t axis, axis_of(call, given.front(), call.in(0).shape.rank()));
  int64_t rest = call.in(0).shape[static_cast<size_t>(axis)];
  for (const int64_t size : sizes) rest -= std::max<int64_t>(size, 0);
  for (int64_t& size : sizes) size = size == -1 ? rest : size;
  return parted(call, 0, axis, sizes);
}

Result<void> aten_slice(AtenCall& call) {
  CARINA_CHECKED(call.need(2));
  CARINA_TRY(const Ints begin, call.integers(1));
  const Shape shape = call.in(0).shape, size = call.result().shape;
  if (begin.size() != shape.rank() || size.rank() != shape.rank()) return call.reject("the ranks differ");
  CARINA_TRY(ValueId x, call.value(0));
  for (size_t axis = 0; axis < shape.rank(); ++axis) {
    if (begin[axis] < 0 || size[axis] < 1 || begin[axis] > shape[axis] - size[axis])
      return call.reject("the slice is not in the input");
    if (size[axis] != shape[axis]) x = part(call, x, static_cast<int64_t>(axis), begin[axis], size[axis]);
  }
  return call.set(x);
}

// Only with steps forward; axes of which one index is taken disappear.
Result<void> aten_strided_slice(AtenCall& call) {
  CARINA_CHECKED(call.need(4));
  const Options& o = call.options();
  CARINA_TRY(const Ints begin, call.integers(1));
  CARINA_TRY(const Ints end, call.integers(2));
  CARINA_TRY(const Ints strides, call.integers(3));
  const Shape shape = call.in(0).shape;
  if (begin.size() != shape.rank() || end.size() != shape.rank() || strides.size() != shape.rank() ||
      o.ellipsis_mask != 0 || o.new_axis_mask != 0 || o.has_offset)
    return call.reject("a slice with an ellipsis, a new axis or relative ends is not supported");
  CARINA_TRY(ValueId x, call.value(0));
  for (size_t axis = 0; axis < shape.rank(); ++axis) {
    constexpr int64_t kMax = 1 << 30;
    if (strides[axis] < 1) return call.reject("a slice backwards is not supported");
    if (strides[axis] > kMax) return call.reject("a stride is too large");
    const Stretch stretch = stretch_of(o, axis, begin[axis], end[axis], strides[axis], shape[axis]);
    if (stretch.count < 1 || stretch.begin >= shape[axis]) return call.reject("a slice without elements");
    if (stretch.count != shape[axis])
      x = part(call, x, static_cast<int64_t>(axis), stretch.begin, stretch.count, stretch.stride);
  }
  if (call.shape(x).elements() != call.result().shape.elements())
    return call.reject("the result has another number of elements");
  return call.set(call.view(x, call.result().shape));
}

}  // namespace carina::tflite
