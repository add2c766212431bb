#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "frontend/tflite/to_tosa/ops_internal.h"

// BATCH_MATMUL: MATMUL of three axes -> i32, of int16 i48, RESCALE to the result. All leading axes are one.
namespace carina::tflite {

namespace {

using ir::ValueId;

constexpr std::array kFactors{DType::kInt8, DType::kInt16};

// The leading axes of both operands, broadcast; nothing if they do not fit.
std::optional<Shape> batches_of(const Shape& x, const Shape& y) {
  const size_t rank = std::max(x.rank(), y.rank()) - 2;
  const auto leading = [&](const Shape& shape) {
    std::vector<int64_t> dims(rank + 2 - shape.rank(), 1);
    dims.insert(dims.end(), shape.dims().begin(), shape.dims().end() - 2);
    return Shape(dims);
  };
  return broadcast(leading(x), leading(y));
}

// The operand as [batches, rows, columns], repeated for all batches.
ValueId as_matrices(Call& call, size_t i, const Shape& batches, bool is_exchanged) {
  const Shape& shape = call.in(i).shape;
  const int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  ValueId value = call.value(i);
  if (shape.elements() != batches.elements() * rows * columns) {
    std::vector<int64_t> whole(batches.dims().begin(), batches.dims().end());
    whole.insert(whole.end(), {rows, columns});
    value = call.out.tile(value, Shape(whole));
  }
  const ValueId flat = call.out.reshape(value, Shape{batches.elements(), rows, columns});
  return is_exchanged ? call.out.transpose(flat, {0, 2, 1}) : flat;
}

}  // namespace

Result<void> batch_matmul(Call& call) {
  CARINA_CHECKED(call.need(2));
  for (const Tensor* tensor : {&call.in(0), &call.in(1), &call.result()}) {
    CARINA_CHECKED(call.need_quantized(*tensor, kFactors));
    if (tensor->dtype != call.result().dtype)
      return call.reject("operands and result have different types", call.result().type_name, tensor->type_name);
  }
  const Shape &x = call.in(0).shape, &y = call.in(1).shape;
  if (x.rank() < 2 || y.rank() < 2 || x.elements() == 0 || y.elements() == 0)
    return call.reject("operands of these ranks are not supported", to_string(x), to_string(y));
  const auto batches = batches_of(x, y);
  if (!batches) return call.reject("the leading axes do not fit", to_string(x), to_string(y));
  const Options& o = call.options();
  // One matrix on the right is that of all rows.
  const bool is_one = !o.adj_x && y.elements() == y[y.rank() - 2] * y[y.rank() - 1];
  const int64_t depth = x[x.rank() - 1];
  const ValueId a = is_one ? call.out.reshape(call.value(0), Shape{1, x.elements() / depth, depth})
                           : as_matrices(call, 0, *batches, o.adj_x);
  const ValueId b = as_matrices(call, 1, is_one ? Shape{1} : *batches, o.adj_y);
  const Shape a_shape = call.out.shape(a), b_shape = call.out.shape(b);
  if (a_shape[2] != b_shape[1]) return call.reject("the matrices do not fit", to_string(x), to_string(y));
  const DType type = call.out.dtype(a);
  const DType wide = type == DType::kInt16 ? DType::kInt48 : DType::kInt32;
  const ValueId a_zp = call.out.integer(type, Call::zero_point(call.in(0)));
  const ValueId b_zp = call.out.integer(type, Call::zero_point(call.in(1)));
  const ValueId sum =
      call.out.emit(TosaOp::MATMUL, {a, b, a_zp, b_zp}, {},
                    {.dtype = wide, .shape = Shape{a_shape[0], a_shape[1], b_shape[2]}, .suffix = "sum"});
  const double scale = static_cast<double>(Call::scale(call.in(0))) * static_cast<double>(Call::scale(call.in(1))) /
                       static_cast<double>(Call::scale(call.result()));
  const Multiplier multiplier = multiplier_of(scale);
  if (multiplier.exponent > (wide == DType::kInt48 ? 7 : 29))
    return call.reject("the ratio of the scales is too large");
  return call.set(
      call.rescale(sum, {.multipliers = {multiplier}, .output_zp = Call::zero_point(call.result()), .to = type}));
}

}  // namespace carina::tflite
