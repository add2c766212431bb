#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "frontend/tflite/to_tosa/ops_internal.h"

// Operators that move elements, or give the same elements another shape.
namespace carina::tflite {

namespace {

using ir::ValueId;

constexpr std::array kMoved{DType::kInt8, DType::kUInt8, DType::kInt16, DType::kInt32, DType::kBool};

Result<void> check_same_quantization(const Call& call, const Tensor& input) {
  const TensorQuantization &a = input.quantization, &b = call.result().quantization;
  if (a.scales.empty() || b.scales.empty() || (a.scales == b.scales && a.zero_points == b.zero_points)) return {};
  return call.reject("input and result have different quantizations", {}, input.name);
}

Result<void> check_moved(const Call& call, size_t data) {
  CARINA_CHECKED(call.need(data + 1));
  CARINA_CHECKED(call.need_type(call.in(data), kMoved));
  for (size_t i = 0; i < call.results(); ++i) {
    if (call.result(i).dtype != call.in(data).dtype)
      return call.reject("input and result have different types", call.in(data).type_name, call.result(i).type_name);
  }
  return check_same_quantization(call, call.in(data));
}

Result<size_t> axis_of(const Call& call, int64_t axis, size_t rank) {
  if (axis < 0) axis += static_cast<int64_t>(rank);
  if (axis >= 0 && axis < static_cast<int64_t>(rank)) return static_cast<size_t>(axis);
  return call.reject("an axis that the tensor does not have", fmt::format("below {}", rank), fmt::to_string(axis));
}

std::vector<int64_t> ones(size_t rank) {
  return std::vector<int64_t>(rank, 1);
}

// Every `stride`-th element of an axis, from the first: the axis is cut to whole groups, and each keeps its first.
ValueId every(Call& call, ValueId input, size_t axis, int64_t stride) {
  const Shape shape = call.out.shape(input);
  const int64_t count = (shape[axis] + stride - 1) / stride;
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
    if (part.dtype == DType::kUInt8 && !check_same_quantization(call, part)) {
      CARINA_CHECKED(call.need_quantized(part, kMoved));
      CARINA_CHECKED(call.need_quantized(call.result(), kMoved));
      const float scale = Call::scale(part) * (1.0F / Call::scale(call.result()));
      const float bias = static_cast<float>(-part.quantization.zero_points.front()) * scale;
      const int64_t zero = Call::zero_point(call.result());
      value = call.looked_up(value, [&](int64_t x) {
        return static_cast<int64_t>(std::round(static_cast<float>(x + 128) * scale + bias)) + zero;
      });
    } else {
      CARINA_CHECKED(check_same_quantization(call, part));
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

namespace {

// One axis of a STRIDED_SLICE: where it begins, how many elements it takes, and how far apart they are.
struct Stretch {
  int64_t begin;
  int64_t count;
  int64_t stride;
};

struct Bounds {
  int64_t begin;
  int64_t end;
  int64_t stride;
  bool has_begin;
  bool has_end;
  bool is_single;  // one element, whose axis disappears
};

// Bounds as Python has them, negative ones from the end.
Stretch stretch_of(const Bounds& b, int64_t size) {
  const auto within = [&](int64_t at) {
    if (at < 0) at += size;
    return b.stride > 0 ? std::clamp<int64_t>(at, 0, size) : std::clamp<int64_t>(at, -1, size - 1);
  };
  const int64_t begin = b.has_begin ? within(b.begin) : (b.stride > 0 ? 0 : size - 1);
  if (b.is_single) return {.begin = begin, .count = 1, .stride = 1};
  const int64_t end = b.has_end ? within(b.end) : (b.stride > 0 ? size : -1);
  const int64_t distance = b.stride > 0 ? end - begin : begin - end;
  const int64_t step = b.stride > 0 ? b.stride : -b.stride;
  return {.begin = begin, .count = std::max<int64_t>(0, (distance + step - 1) / step), .stride = b.stride};
}

}  // namespace

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
  ValueId value = call.value(0);
  for (size_t axis = 0; axis < begin.size(); ++axis) {
    constexpr int64_t kMax = 1 << 30;
    if (strides[axis] == 0 || std::abs(strides[axis]) > kMax) return call.reject("a stride of 0");
    const auto has = [&](int32_t mask) { return (mask >> axis & 1) != 0; };
    const Stretch s = stretch_of({.begin = begin[axis],
                                  .end = end[axis],
                                  .stride = strides[axis],
                                  .has_begin = !has(o.begin_mask),
                                  .has_end = !has(o.end_mask),
                                  .is_single = has(o.shrink_axis_mask)},
                                 shape[axis]);
    const int64_t step = std::abs(s.stride), extent = (s.count - 1) * step + 1;
    const int64_t first = s.stride > 0 ? s.begin : s.begin - extent + 1;
    if (s.count < 1 || first < 0 || first + extent > shape[axis]) return call.reject("the slice has no elements");
    std::vector<int64_t> start(shape.rank());
    start[axis] = first;
    Shape part = call.out.shape(value);
    part[axis] = extent;
    value = call.out.slice(value, start, part);
    if (s.stride < 0) {
      value = call.out.emit(TosaOp::REVERSE, {value}, {{"axis", static_cast<int64_t>(axis)}},
                            {.dtype = call.out.dtype(value), .shape = part, .suffix = "reverse"});
    }
    if (step > 1) value = every(call, value, axis, step);
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
    CARINA_CHECKED(check_same_quantization(call, call.in(i)));
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

}  // namespace carina::tflite
