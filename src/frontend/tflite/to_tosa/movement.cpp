#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "frontend/tflite/stretch.h"
#include "frontend/tflite/to_tosa/ops_internal.h"

// Operators that move elements, or give the same elements another shape.
namespace carina::tflite {

namespace {

using ir::ValueId;

constexpr std::array kMoved{DType::kInt8, DType::kUInt8, DType::kInt16, DType::kInt32, DType::kBool};

bool has_quantization_of_result(const Call& call, const Tensor& input) {
  const TensorQuantization &a = input.quantization, &b = call.result().quantization;
  return a.scales.empty() || b.scales.empty() || (a.scales == b.scales && a.zero_points == b.zero_points);
}

// LiteRT moves the stored integers, whatever the quantizations of input and result.
Result<void> check_moved(const Call& call, size_t data) {
  CARINA_CHECKED(call.need(data + 1));
  CARINA_CHECKED(call.need_type(call.in(data), kMoved));
  for (size_t i = 0; i < call.results(); ++i) {
    if (call.result(i).dtype != call.in(data).dtype)
      return call.reject("input and result have different types", call.in(data).type_name, call.result(i).type_name);
  }
  return {};
}

Result<size_t> axis_of(const Call& call, int64_t axis, size_t rank) {
  if (axis < 0) axis += static_cast<int64_t>(rank);
  if (axis >= 0 && axis < static_cast<int64_t>(rank)) return static_cast<size_t>(axis);
  return call.reject("an axis that the tensor does not have", fmt::format("below {}", rank), fmt::to_string(axis));
}

std::vector<int64_t> ones(size_t rank) {
  return std::vector<int64_t>(rank, 1);
}

// Every `stride`-th element of an axis, from the first. Of narrow elements it is a pool with windows of one element.
// Otherwise the axis is filled up to whole groups, and each keeps its first.
ValueId every(Call& call, ValueId input, size_t axis, int64_t stride) {
  const Shape shape = call.out.shape(input);
  const int64_t count = (shape[axis] + stride - 1) / stride;
  const DType type = call.out.dtype(input);
  constexpr int64_t kMaxStride = 8192;  // of level 8K
  if ((type == DType::kInt8 || type == DType::kInt16) && stride <= kMaxStride) {
    Shape used = shape, made = shape;
    used[axis] = (count - 1) * stride + 1;
    made[axis] = count;
    Shape image{1, 1, used[axis], 1};
    for (size_t i = 0; i < axis; ++i) image[1] *= shape[i];
    for (size_t i = axis + 1; i < shape.rank(); ++i) image[3] *= shape[i];
    const ValueId cut = call.out.slice(input, std::vector<int64_t>(shape.rank()), used);
    const ValueId picked =
        call.out.emit(TosaOp::MAX_POOL2D, {call.out.reshape(cut, image)},
                      {{"kernel", std::vector<int64_t>{1, 1}},
                       {"stride", std::vector<int64_t>{1, stride}},
                       {"pad", std::vector<int64_t>{0, 0, 0, 0}},
                       {"nan_mode", ir::kNanPropagate}},
                      {.dtype = type, .shape = Shape{1, image[1], count, image[3]}, .suffix = "every"});
    return call.out.reshape(picked, made);
  }
  std::vector<int64_t> padding(2 * shape.rank());
  padding[2 * axis + 1] = count * stride - shape[axis];
  const ValueId whole = call.out.pad(input, padding, 0);
  const auto dims = shape.dims();
  int64_t before = 1, after = 1;
  for (size_t i = 0; i < axis; ++i) before *= dims[i];
  for (size_t i = axis + 1; i < dims.size(); ++i) after *= dims[i];
  const ValueId groups = call.out.reshape(whole, Shape{before, count, stride, after});
  const ValueId first = call.out.slice(groups, {0, 0, 0, 0}, Shape{before, count, 1, after});
  Shape made = shape;
  made[axis] = count;
  return call.out.reshape(first, made);
}

// The parts of an axis, one for each result.
Result<void> parted(Call& call, size_t data, size_t axis, const std::vector<int64_t>& sizes) {
  const ValueId input = call.value(data);
  const Shape shape = call.out.shape(input);
  if (sizes.size() != call.results() || std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != shape[axis])
    return call.reject("the parts are not the whole axis");
  std::vector<int64_t> start(shape.rank());
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1) return call.reject("a part without elements");
    Shape part = shape;
    part[axis] = sizes[i];
    CARINA_CHECKED(call.set(i, call.out.slice(input, start, part)));
    start[axis] += sizes[i];
  }
  return {};
}

}  // namespace

Result<void> reshaped(Call& call) {
  CARINA_CHECKED(check_moved(call, 0));
  if (call.in(0).shape.elements() != call.result().shape.elements())
    return call.reject("the result has another number of elements", to_string(call.in(0).shape),
                       to_string(call.result().shape));
  return call.set(call.out.reshape(call.value(0), call.result().shape));
}

// SHAPE of a tensor whose shape the file declares. A dynamic size is that of the file, mostly a batch of 1.
Result<void> shape_of(Call& call) {
  CARINA_CHECKED(call.need(1));
  if (call.result().dtype != DType::kInt32) return call.reject("the sizes are not int32");
  return call.set(call.out.integers(DType::kInt32, call.in(0).shape.dims()));
}

Result<void> transposed(Call& call) {
  CARINA_CHECKED(check_moved(call, 0));
  CARINA_TRY(const std::vector<int64_t> perms, call.constant(1, "the permutation"));
  std::vector<int64_t> sorted = perms, expected(call.in(0).shape.rank());
  std::ranges::sort(sorted);
  std::iota(expected.begin(), expected.end(), 0);
  if (sorted != expected) return call.reject("the axes are not a permutation");
  return call.set(call.out.transpose(call.value(0), perms));
}

// CONCATENATION of int8 copies. Of uint8 with several scales, LiteRT rescales each operand in float.
Result<void> concatenation(Call& call) {
  CARINA_CHECKED(call.need(1));
  CARINA_TRY(const size_t axis, axis_of(call, call.options().axis, call.result().shape.rank()));
  std::vector<ValueId> parts;
  for (size_t i = 0; i < call.inputs(); ++i) {
    CARINA_CHECKED(call.need(i + 1));
    const Tensor& part = call.in(i);
    CARINA_CHECKED(call.need_type(part, kMoved));
    if (part.dtype != call.result().dtype)
      return call.reject("operands and result have different types", call.result().type_name, part.type_name);
    if (part.shape.rank() != call.result().shape.rank()) return call.reject("the operands' ranks differ");
    for (size_t a = 0; a < part.shape.rank(); ++a) {
      if (a != axis && part.shape[a] != call.result().shape[a]) return call.reject("the operands' shapes do not fit");
    }
    ValueId value = call.value(i);
    if (part.dtype == DType::kUInt8 && !has_quantization_of_result(call, part)) {
      CARINA_CHECKED(call.need_quantized(part, kMoved));
      CARINA_CHECKED(call.need_quantized(call.result(), kMoved));
      const float scale = Call::scale(part) * (1.0F / Call::scale(call.result()));
      const float bias = static_cast<float>(-part.quantization.zero_points.front()) * scale;
      const int64_t zero = Call::zero_point(call.result());
      value =
          call.looked_up(value, [&](int64_t x) { return rounded(static_cast<float>(x + 128) * scale + bias) + zero; });
    }
    parts.push_back(value);
  }
  if (call.options().activation != Activation::kNone) return call.reject("a fused activation is not supported here");
  return call.set(call.out.concat(parts, axis));
}

// SPLIT(axis, input) into equal parts.
Result<void> split(Call& call) {
  CARINA_CHECKED(check_moved(call, 1));
  CARINA_TRY(const std::vector<int64_t> given, call.constant(0, "the axis"));
  if (given.size() != 1) return call.reject("there is not one axis");
  const Shape shape = call.in(1).shape;
  CARINA_TRY(const size_t axis, axis_of(call, given.front(), shape.rank()));
  const auto parts = static_cast<int64_t>(call.results());
  return parted(call, 1, axis, std::vector<int64_t>(call.results(), shape[axis] / parts));
}

// SPLIT_V(input, sizes, axis); one size may be -1, the rest.
Result<void> split_v(Call& call) {
  CARINA_CHECKED(check_moved(call, 0));
  CARINA_TRY(std::vector<int64_t> sizes, call.constant(1, "the sizes"));
  CARINA_TRY(const std::vector<int64_t> given, call.constant(2, "the axis"));
  if (given.size() != 1) return call.reject("there is not one axis");
  const Shape shape = call.in(0).shape;
  CARINA_TRY(const size_t axis, axis_of(call, given.front(), shape.rank()));
  int64_t rest = shape[axis];
  for (const int64_t size : sizes) rest -= std::max<int64_t>(size, 0);
  for (int64_t& size : sizes) size = size == -1 ? rest : size;
  return parted(call, 0, axis, sizes);
}

Result<void> slice(Call& call) {
  CARINA_CHECKED(check_moved(call, 0));
  CARINA_TRY(const std::vector<int64_t> begin, call.constant(1, "the begin"));
  const Shape shape = call.in(0).shape, size = call.result().shape;
  if (begin.size() != shape.rank() || size.rank() != shape.rank()) return call.reject("the ranks differ");
  for (size_t i = 0; i < begin.size(); ++i) {
    if (size[i] < 1 || begin[i] < 0 || begin[i] > shape[i] - size[i])
      return call.reject("the slice is not in the input");
  }
  return call.set(call.out.slice(call.value(0), begin, size));
}

Result<void> strided_slice(Call& call) {
  CARINA_CHECKED(check_moved(call, 0));
  CARINA_TRY(const std::vector<int64_t> begin, call.constant(1, "the begin"));
  CARINA_TRY(const std::vector<int64_t> end, call.constant(2, "the end"));
  CARINA_TRY(const std::vector<int64_t> strides, call.constant(3, "the stride"));
  const Options& o = call.options();
  const Shape shape = call.in(0).shape;
  if (o.ellipsis_mask != 0 || o.new_axis_mask != 0 || o.has_offset)
    return call.reject("an ellipsis, a new axis or an offset is not supported");
  if (begin.size() > shape.rank() || end.size() != begin.size() || strides.size() != begin.size())
    return call.reject("the numbers of bounds differ");
  // One slice of all axes first: an operation that takes every second row then writes the result.
  std::vector<int64_t> start(shape.rank());
  Shape part = shape;
  std::vector<int64_t> steps;
  for (size_t axis = 0; axis < begin.size(); ++axis) {
    constexpr int64_t kMax = 1 << 30;
    if (strides[axis] == 0 || std::abs(strides[axis]) > kMax) return call.reject("a stride of 0");
    const Stretch s = stretch_of(o, axis, begin[axis], end[axis], strides[axis], shape[axis]);
    const int64_t step = std::abs(s.stride), extent = (s.count - 1) * step + 1;
    const int64_t first = s.stride > 0 ? s.begin : s.begin - extent + 1;
    if (s.count < 1 || first < 0 || first + extent > shape[axis]) return call.reject("the slice has no elements");
    start[axis] = first;
    part[axis] = extent;
    steps.push_back(s.stride);
  }
  ValueId value = call.out.slice(call.value(0), start, part);
  for (size_t axis = 0; axis < steps.size(); ++axis) {
    if (steps[axis] < 0) {
      value = call.out.emit(TosaOp::REVERSE, {value}, {{"axis", static_cast<int64_t>(axis)}},
                            {.dtype = call.out.dtype(value), .shape = call.out.shape(value), .suffix = "reverse"});
    }
    if (std::abs(steps[axis]) > 1) value = every(call, value, axis, std::abs(steps[axis]));
  }
  return call.set(value);
}

Result<void> pack(Call& call) {
  CARINA_CHECKED(check_moved(call, 0));
  CARINA_TRY(const size_t axis, axis_of(call, call.options().axis, call.in(0).shape.rank() + 1));
  std::vector<ValueId> parts;
  for (size_t i = 0; i < call.inputs(); ++i) {
    CARINA_CHECKED(call.need(i + 1));
    if (call.in(i).dtype != call.result().dtype || call.in(i).shape != call.in(0).shape)
      return call.reject("the operands differ in type or shape");
    std::vector<int64_t> dims(call.in(i).shape.dims().begin(), call.in(i).shape.dims().end());
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    parts.push_back(call.out.reshape(call.value(i), Shape(dims)));
  }
  return call.set(call.out.concat(parts, axis));
}

Result<void> unpack(Call& call) {
  CARINA_CHECKED(check_moved(call, 0));
  const Shape shape = call.in(0).shape;
  CARINA_TRY(const size_t axis, axis_of(call, call.options().axis, shape.rank()));
  if (shape[axis] != static_cast<int64_t>(call.results())) return call.reject("there is not one result per element");
  return parted(call, 0, axis, ones(call.results()));
}

// PAD(input, amounts) with the zero point; PADV2 has the value as its third operand.
Result<void> pad(Call& call) {
  CARINA_CHECKED(check_moved(call, 0));
  CARINA_TRY(const std::vector<int64_t> amounts, call.constant(1, "the padding"));
  const Shape shape = call.in(0).shape;
  if (amounts.size() != 2 * shape.rank()) return call.reject("there are not two amounts per axis");
  for (const int64_t amount : amounts) {
    if (amount < 0 || amount > 1 << 20) return call.reject("an amount is out of range", {}, fmt::to_string(amount));
  }
  int64_t fill = 0;
  if (call.has(2)) {
    CARINA_TRY(const std::vector<int64_t> given, call.constant(2, "the value"));
    if (given.size() != 1) return call.reject("there is not one value");
    fill = given.front() - (call.in(2).dtype == DType::kUInt8 ? 128 : 0);
  } else if (!call.result().quantization.scales.empty()) {
    CARINA_CHECKED(call.need_quantized(call.result(), kMoved));
    fill = Call::zero_point(call.result());
  }
  return call.set(call.out.pad(call.value(0), amounts, static_cast<double>(fill)));
}

Result<void> reversed(Call& call) {
  CARINA_CHECKED(check_moved(call, 0));
  CARINA_TRY(const std::vector<int64_t> axes, call.constant(1, "the axes"));
  ValueId value = call.value(0);
  for (const int64_t given : axes) {
    CARINA_TRY(const size_t axis, axis_of(call, given, call.in(0).shape.rank()));
    value = call.out.emit(TosaOp::REVERSE, {value}, {{"axis", static_cast<int64_t>(axis)}},
                          {.dtype = call.out.dtype(value), .shape = call.out.shape(value), .suffix = "reverse"});
  }
  return call.set(value);
}

Result<void> tiled(Call& call) {
  CARINA_CHECKED(check_moved(call, 0));
  CARINA_TRY(const std::vector<int64_t> counts, call.constant(1, "the counts"));
  Shape made = call.in(0).shape;
  if (counts.size() != made.rank()) return call.reject("there is not one count per axis");
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 1 || counts[i] > 1 << 20)
      return call.reject("a count is out of range", {}, fmt::to_string(counts[i]));
    made[i] *= counts[i];
  }
  if (made.elements() != call.result().shape.elements()) return call.reject("the result has another shape");
  return call.set(call.out.tile(call.value(0), made));
}

// MIRROR_PAD: the elements beyond an edge are those before it, in reverse; with or without (0) the edge itself.
Result<void> mirror_pad(Call& call) {
  CARINA_CHECKED(check_moved(call, 0));
  CARINA_TRY(const std::vector<int64_t> amounts, call.constant(1, "the padding"));
  const Shape shape = call.in(0).shape;
  if (amounts.size() != 2 * shape.rank()) return call.reject("there are not two amounts per axis");
  const int64_t edge = call.options().mirror_mode == 0 ? 1 : 0;
  ValueId value = call.value(0);
  for (size_t axis = 0; axis < shape.rank(); ++axis) {
    const int64_t before = amounts[2 * axis], after = amounts[2 * axis + 1];
    if (std::min(before, after) < 0 || std::max(before, after) > shape[axis] - edge)
      return call.reject("an amount is larger than the axis");
    const auto mirrored = [&](int64_t first, int64_t count) {
      std::vector<int64_t> start(shape.rank());
      start[axis] = first;
      Shape part = call.out.shape(value);
      part[axis] = count;
      return call.out.emit(TosaOp::REVERSE, {call.out.slice(value, start, part)},
                           {{"axis", static_cast<int64_t>(axis)}},
                           {.dtype = call.out.dtype(value), .shape = part, .suffix = "mirrored"});
    };
    std::vector<ValueId> parts;
    if (before > 0) parts.push_back(mirrored(edge, before));
    parts.push_back(value);
    if (after > 0) parts.push_back(mirrored(shape[axis] - edge - after, after));
    value = call.out.concat(parts, axis);
  }
  return call.set(value);
}

// NPUs that cannot address by index do this as well.
Result<ValueId> sliced_by(Call& call, ValueId input, const std::vector<int64_t>& indices, size_t axis) {
  const Shape shape = call.out.shape(input);
  std::vector<ValueId> parts;
  for (size_t i = 0; i < indices.size();) {
    size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    const auto count = static_cast<int64_t>(end - i);
    if (indices[i] < 0 || indices[i] > shape[axis] - count) return call.reject("an index is out of range");
    std::vector<int64_t> start(shape.rank());
    start[axis] = indices[i];
    Shape part = shape;
    part[axis] = count;
    parts.push_back(call.out.slice(input, start, part));
    i = end;
  }
  return call.out.concat(parts, axis);
}

// GATHER(input, indices) along one axis, as TOSA's GATHER of rows: [N, K, C] and [N, W] give [N, W, C].
Result<void> gathered(Call& call) {
  CARINA_CHECKED(check_moved(call, 0));
  CARINA_CHECKED(call.need(2));
  constexpr std::array kIndices{DType::kInt32};
  CARINA_CHECKED(call.need_type(call.in(1), kIndices));
  const Shape shape = call.in(0).shape;
  CARINA_TRY(const size_t axis, axis_of(call, call.options().axis, shape.rank()));
  // With batch dimensions, the indices have them too. They are the axes before the gathered one.
  const auto batch_dims = static_cast<size_t>(call.options().batch_dims);
  const Shape given = call.in(1).shape;
  if (batch_dims != 0 && (batch_dims != axis || batch_dims > given.rank()))
    return call.reject("batch_dims is not supported with this axis", fmt::to_string(axis), fmt::to_string(batch_dims));
  for (size_t i = 0; i < batch_dims; ++i) {
    if (given[i] != shape[i]) return call.reject("the batch sizes differ");
  }
  if (call.in(1).is_constant && batch_dims == 0 && given.elements() <= kMaxSlices) {
    CARINA_TRY(const std::vector<int64_t> indices, call.constant(1, "the indices"));
    CARINA_TRY(const ValueId made, sliced_by(call, call.value(0), indices, axis));
    return call.set(made);
  }
  int64_t before = 1, after = 1;
  for (size_t i = 0; i < axis; ++i) before *= shape[i];
  for (size_t i = axis + 1; i < shape.rank(); ++i) after *= shape[i];
  const int64_t batches = batch_dims == 0 ? 1 : before;
  const int64_t count = batches == 0 ? 0 : given.elements() / batches;
  if (count == 0 || before == 0 || after == 0) return call.reject("no elements");
  const ValueId rows = call.out.reshape(call.value(0), Shape{before, shape[axis], after});
  const ValueId indices = call.out.tile(call.out.reshape(call.value(1), Shape{batches, count}), Shape{before, count});
  const DType type = call.out.dtype(rows);
  return call.set(call.out.emit(TosaOp::GATHER, {rows, indices}, {},
                                {.dtype = type, .shape = Shape{before, count, after}, .suffix = "gather"}));
}

// CAST of integers: the stored integers, of which the low bits stay.
Result<void> cast(Call& call) {
  constexpr std::array kCast{DType::kInt8, DType::kInt16, DType::kInt32, DType::kBool};
  CARINA_CHECKED(call.need(1));
  if (Call::is_pair(call.in(0)) && call.result().dtype == DType::kInt32) {
    const ValueId words = call.value(0);
    Shape low = call.out.shape(words);
    low[low.rank() - 1] = 1;
    return call.set(call.out.slice(words, std::vector<int64_t>(low.rank()), low));
  }
  CARINA_CHECKED(call.need_type(call.in(0), kCast));
  CARINA_CHECKED(call.need_type(call.result(), kCast));
  return call.set(call.out.cast(call.value(0), call.result().dtype));
}

// SELECT(condition, yes, no); the condition of the first version may have the first axis only.
Result<void> selected(Call& call) {
  CARINA_CHECKED(call.need(3));
  constexpr std::array kBool{DType::kBool};
  CARINA_CHECKED(call.need_type(call.in(0), kBool));
  for (const size_t i : {1, 2}) {
    CARINA_CHECKED(call.need_type(call.in(i), kMoved));
    if (call.in(i).dtype != call.result().dtype) return call.reject("the types differ");
  }
  ValueId condition = call.value(0);
  const size_t rank = call.result().shape.rank();
  const bool is_row = call.op().name == "SELECT" && call.in(0).shape.rank() == 1 && rank > 1;
  if (is_row) {
    std::vector<int64_t> dims = ones(rank);
    dims[0] = call.in(0).shape[0];
    condition = call.out.reshape(condition, Shape(dims));
  }
  const ValueId yes = call.out.with_rank(call.value(1), rank), no = call.out.with_rank(call.value(2), rank);
  condition = call.out.with_rank(condition, rank);
  const auto values = broadcast(call.out.shape(yes), call.out.shape(no));
  if (!values || !broadcast(call.out.shape(condition), *values)) return call.reject("the shapes do not fit");
  return call.set(call.out.select(condition, yes, no));
}

}  // namespace carina::tflite
