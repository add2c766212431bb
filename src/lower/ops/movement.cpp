// Lowers operators that move elements and compute nothing.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "facts/aten_traits.h"
#include "lower/lowering_internal.h"
#include "lower/ops/casts_internal.h"
#include "lower/ops/steps_internal.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;
using Ints = std::vector<int64_t>;

// Converts moved integers of the first input to integers of the output.
ValueId to_output(Lowering& in, const Node& node, ValueId moved) {
  if (!in.is_quantized(node)) return moved;
  return in.requantize(moved, in.quantization(node.inputs[0]), in.quantization(node.outputs[0]));
}

Result<ValueId> view(Lowering& in, const Node& node) {
  return to_output(in, node, in.out.reshape(in.operand(node.inputs[0]), in.shape(node.outputs[0])));
}

Result<ValueId> permute(Lowering& in, const Node& node) {
  return to_output(in, node, in.out.transpose(in.operand(node.inputs[0]), node.attributes.integers("dims")));
}

Result<ValueId> same(Lowering& in, const Node& node) {
  return to_output(in, node, in.operand(node.inputs[0]));
}

// The rows and columns of an image that strided slices select.
struct Picked {
  ValueId source;  // the ATen input of the slice
  std::array<int64_t, 2> start;
  std::array<int64_t, 2> step;
};

// Matches a slice along one axis of an image, with a step that the target supports as a stride.
std::optional<Picked> picked_by(const Lowering& in, const Node& node) {
  const int64_t axis = node.attributes.integer("dim"), step = node.attributes.integer("step");
  const DType type = in.is_quantized(node) ? in.quantization(node.outputs[0]).dtype : in.value(node.outputs[0]).dtype;
  const bool image =
      in.shape(node.outputs[0]).rank() == 4 && axis >= 2 && step > 1 && step <= in.target.idioms.picked_step;
  if (!image || (type != DType::kInt8 && type != DType::kFp32)) return std::nullopt;
  Picked picked{.source = node.inputs[0], .start = {0, 0}, .step = {1, 1}};
  picked.start[static_cast<size_t>(axis - 2)] = node.attributes.integer("start");
  picked.step[static_cast<size_t>(axis - 2)] = step;
  return picked;
}

// Also matches the slice of the other axis, if it is the input of this slice.
Picked with_slice_before(const Lowering& in, Picked picked) {
  const Node* before = in.producer(picked.source);
  if (before == nullptr || before->op != ir::Op(AtenOp::slice_Tensor)) return picked;
  const auto first = picked_by(in, *before);
  const size_t axis = picked.step[0] > 1 ? 1 : 0;
  const bool same_scale = in.value(before->inputs[0]).quantization == in.value(before->outputs[0]).quantization;
  if (!first || first->step[axis] == 1 || !same_scale) return picked;
  picked.source = first->source;
  picked.start[axis] = first->start[axis];
  picked.step[axis] = first->step[axis];
  return picked;
}

// Every step-th row and column of an image: a pool with a 1x1 window and strides.
ValueId pick(Lowering& in, const Picked& picked, const Shape& result) {
  const ValueId image = in.out.to_nhwc(in.operand(picked.source));
  Shape reached = in.out.shape(image);
  for (size_t i = 0; i < 2; ++i) reached[1 + i] = (result[2 + i] - 1) * picked.step[i] + 1;
  const ValueId part = in.out.slice(image, {0, picked.start[0], picked.start[1], 0}, reached);
  const ValueId pooled = in.out.emit(
      TosaOp::MAX_POOL2D, {part},
      {{"kernel", Ints{1, 1}},
       {"stride", Ints{picked.step[0], picked.step[1]}},
       {"pad", Ints{0, 0, 0, 0}},
       {"nan_mode", ir::kNanPropagate}},
      {.dtype = in.out.dtype(part), .shape = Shape{result[0], result[2], result[3], result[1]}, .suffix = "pick"});
  return in.out.to_nchw(pooled);
}

// Reshapes [outer, n * step, inner] to [1, outer * n, step, inner] and keeps the first element of each step.
ValueId strided(Lowering& in, ValueId input, size_t axis, int64_t step, const Shape& result) {
  Shape shape = in.out.shape(input);
  const int64_t whole = result[axis] * step;
  if (shape[axis] < whole) {
    Ints padding(2 * shape.rank(), 0);
    padding[2 * axis + 1] = whole - shape[axis];
    input = in.out.pad(input, padding, 0);
  } else {
    shape[axis] = whole;
    input = in.out.slice(input, Ints(shape.rank(), 0), shape);
  }
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < axis; ++i) outer *= result[i];
  for (size_t i = axis + 1; i < result.rank(); ++i) inner *= result[i];
  const ValueId rows = in.out.reshape(input, Shape{1, outer * result[axis], step, inner});
  return in.out.reshape(in.out.slice(rows, {0, 0, 0, 0}, Shape{1, outer * result[axis], 1, inner}), result);
}

Result<ValueId> slice(Lowering& in, const Node& node) {
  const ir::Attributes& attributes = node.attributes;
  const Shape from = in.shape(node.inputs[0]), result = in.shape(node.outputs[0]);
  const auto axis = static_cast<size_t>(attributes.integer("dim"));
  const int64_t first = attributes.integer("start"), step = attributes.integer("step");
  if (step < 1 || result[axis] < 1) return fail(normalize::about(node, "a slice of nothing, or backwards"));
  if (const auto picked = picked_by(in, node))
    return to_output(in, node, pick(in, with_slice_before(in, *picked), result));
  Ints start(from.rank(), 0);
  start[axis] = first;
  Shape rest = from;
  rest[axis] = step == 1 ? result[axis] : from[axis] - first;
  const ValueId part = in.out.slice(in.operand(node.inputs[0]), start, rest);
  return to_output(in, node, step == 1 ? part : strided(in, part, axis, step, result));
}

Result<ValueId> cat(Lowering& in, const Node& node) {
  std::vector<ValueId> parts;
  for (const ValueId input : node.inputs) {
    ValueId part = in.operand(input);
    if (in.shape(input).elements() == 0) continue;  // PyTorch accepts empty tensors of any rank
    if (in.is_quantized(node)) part = in.requantize(part, in.quantization(input), in.quantization(node.outputs[0]));
    parts.push_back(part);
  }
  if (parts.empty()) return fail(normalize::about(node, "a concatenation of nothing"));
  return in.out.concat(parts, static_cast<size_t>(node.attributes.integer("dim")));
}

// PyTorch's list goes from the last axis to the first. Negative numbers remove elements.
Result<ValueId> constant_pad(Lowering& in, const Node& node) {
  const Ints& list = node.attributes.integers("pad");
  ValueId input = in.operand(node.inputs[0]);
  Shape kept = in.out.shape(input);
  const size_t rank = kept.rank();
  Ints start(rank, 0), padding(2 * rank, 0);
  for (size_t i = 0; i + 1 < list.size(); i += 2) {
    const size_t axis = rank - 1 - i / 2;
    start[axis] = std::max<int64_t>(0, -list[i]);
    kept[axis] += std::min<int64_t>(0, list[i]) + std::min<int64_t>(0, list[i + 1]);
    padding[2 * axis] = std::max<int64_t>(0, list[i]);
    padding[2 * axis + 1] = std::max<int64_t>(0, list[i + 1]);
  }
  input = in.out.slice(input, start, kept);
  const double value = node.attributes.number("value");
  const double fill = in.is_quantized(node)
                          ? static_cast<double>(quantized(static_cast<float>(value), in.quantization(node.inputs[0])))
                          : value;
  return to_output(in, node, in.out.pad(input, padding, fill));
}

// Lowers expand and repeat.
Result<ValueId> repeat(Lowering& in, const Node& node) {
  return to_output(in, node, in.out.tile(in.operand(node.inputs[0]), in.shape(node.outputs[0])));
}

// Converts quantized floats to plain integers or bools.
ValueId from_floats(Lowering& in, const Node& node, DType to) {
  const ValueId input = in.operand(node.inputs[0]);
  const Quantization& q = in.quantization(node.inputs[0]);
  if (to != DType::kBool) return converted(in.out, trunc_of(in, fractions_of(in, input, q)), to);
  const ValueId wide =
      in.out.rescale(input, {.scales = {1}, .input_zp = q.zero_point(), .output_zp = 0, .to = DType::kInt32});
  return converted(in.out, wide, to);
}

// Plain integers as signed ones. uint8 needs one more bit.
ValueId plain_numbers(Lowering& in, ValueId id) {
  const ValueId input = in.operand(id);
  if (in.value(id).dtype != DType::kUInt8) return input;
  return in.out.rescale(input,
                        {.scales = {1}, .input_zp = 0, .output_zp = 0, .to = DType::kInt16, .from_unsigned = true});
}

Result<ValueId> convert(Lowering& in, const Node& node) {
  const DType to = stored_type(tosa_type(in.value(node.outputs[0]).dtype));
  if (in.is_quantized(node) && in.is_quantized(node.inputs[0])) return same(in, node);
  if (in.is_quantized(node.inputs[0])) return from_floats(in, node, to);
  const ValueId input = plain_numbers(in, node.inputs[0]);
  if (!in.is_quantized(node)) return converted(in.out, input, to);
  if (is_float(in.out.dtype(input)))
    return fail(normalize::about(node, in.value(node.inputs[0]).name + " is not quantized"));
  const Quantization& q = in.quantization(node.outputs[0]);
  const ValueId wide = converted(in.out, input, DType::kInt32);
  if (q.dtype == DType::kInt32 && q.scale() == 1 && q.zero_point() == 0) return wide;
  return in.within_range(
      in.out.rescale(wide, {.scales = {1 / q.scale()}, .input_zp = 0, .output_zp = q.zero_point(), .to = q.dtype}), q);
}

// TOSA's REVERSE reverses one axis per operator.
Result<ValueId> flip(Lowering& in, const Node& node) {
  ValueId flipped = in.operand(node.inputs[0]);
  const Shape shape = in.out.shape(flipped);
  for (const int64_t dim : node.attributes.integers("dims")) {
    const size_t axis = normalize::axis_of(dim, shape.rank());
    if (shape.rank() == 0 || shape[axis] < 2) continue;
    flipped = in.out.emit(TosaOp::REVERSE, {flipped}, {{"axis", static_cast<int64_t>(axis)}},
                          {.dtype = in.out.dtype(flipped), .shape = shape, .suffix = "reverse"});
  }
  return to_output(in, node, flipped);
}

Rejected permute_fits(const Candidate& c) {
  const DType type = Candidate::type_of(c.input(0));
  const size_t rank = c.input(0).shape.rank();
  const int64_t max = c.target.limits.wide_transposed_axes;
  const bool narrow = type == DType::kInt8 || type == DType::kInt16;
  if (narrow || static_cast<int64_t>(rank) <= max) return std::nullopt;
  return rejected("permute.axes",
                  fmt::format("a transposition of {} with {} axes, {} supports at most {}", name_of(type), rank,
                              c.target.name, max),
                  "join axes that stay neighbors, or quantize the tensor to int8 or int16");
}

Rejected slice_fits(const Candidate& c) {
  if (c.output().shape.elements() > 0 && c.node.attributes.integer("step") >= 1) return std::nullopt;
  return rejected("slice.direction", "the slice is empty or goes backwards", "torch.flip, or leave it out");
}

constexpr LoweringRow kMovementRows[] = {
    {.op = AtenOp::view_default, .integers = PlainIntegers::kAny, .legal = always, .lower = view},
    {.op = AtenOp::permute_default, .integers = PlainIntegers::kAny, .legal = permute_fits, .lower = permute},
    {.op = AtenOp::clone_default, .integers = PlainIntegers::kAny, .legal = always, .lower = same},
    {.op = AtenOp::slice_Tensor, .integers = PlainIntegers::kAny, .legal = slice_fits, .lower = slice},
    {.op = AtenOp::cat_default, .integers = PlainIntegers::kAny, .legal = always, .lower = cat},
    {.op = AtenOp::constant_pad_nd_default, .integers = PlainIntegers::kAny, .legal = always, .lower = constant_pad},
    {.op = AtenOp::expand_default, .integers = PlainIntegers::kAny, .legal = always, .lower = repeat},
    {.op = AtenOp::repeat_default, .integers = PlainIntegers::kAny, .legal = always, .lower = repeat},
    {.op = AtenOp::flip_default, .integers = PlainIntegers::kAny, .legal = always, .lower = flip},
    {.op = AtenOp::to_dtype, .integers = PlainIntegers::kAny, .legal = always, .lower = convert},
    {.op = AtenOp::_to_copy_default, .integers = PlainIntegers::kAny, .legal = always, .lower = convert},
    {.op = AtenOp::_to_dim_order_copy_default, .integers = PlainIntegers::kAny, .legal = always, .lower = convert},
};
static_assert(lowers_all_of(kMovementRows, {AtenFamily::kMovement, AtenFamily::kConversion}));

}  // namespace

std::span<const LoweringRow> movement_rows() {
  return kMovementRows;
}

}  // namespace carina::lower
