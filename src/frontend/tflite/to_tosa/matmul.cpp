#include <array>

#include "frontend/tflite/to_tosa/ops_internal.h"

// BATCH_MATMUL of int8: MATMUL of three axes -> i32, RESCALE to the result. All leading axes are one.
namespace carina::tflite {

namespace {

using ir::ValueId;

constexpr std::array kFactors8{DType::kInt8};

// The operand as [batches, rows, columns].
ValueId as_matrices(Call& call, size_t i, bool is_exchanged) {
  const Shape& shape = call.in(i).shape;
  const int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  const ValueId flat = call.out.reshape(call.value(i), Shape{shape.elements() / (rows * columns), rows, columns});
  return is_exchanged ? call.out.transpose(flat, {0, 2, 1}) : flat;
}

}  // namespace

Result<void> batch_matmul(Call& call) {
  CARINA_CHECKED(call.need(2));
  for (const Tensor* tensor : {&call.in(0), &call.in(1), &call.result()})
    CARINA_CHECKED(call.need_quantized(*tensor, kFactors8));
  const Shape &x = call.in(0).shape, &y = call.in(1).shape;
  if (x.rank() < 2 || x.rank() != y.rank() || x.elements() == 0 || y.elements() == 0)
    return call.reject("operands of these ranks are not supported", to_string(x), to_string(y));
  for (size_t i = 0; i + 2 < x.rank(); ++i) {
    if (x[i] != y[i]) return call.reject("matrices that are repeated are not supported", to_string(x), to_string(y));
  }
  const ValueId a = as_matrices(call, 0, call.options().adj_x), b = as_matrices(call, 1, call.options().adj_y);
  const Shape a_shape = call.out.shape(a), b_shape = call.out.shape(b);
  if (a_shape[2] != b_shape[1]) return call.reject("the matrices do not fit", to_string(x), to_string(y));
  const ValueId a_zp = call.out.integer(DType::kInt8, Call::zero_point(call.in(0)));
  const ValueId b_zp = call.out.integer(DType::kInt8, Call::zero_point(call.in(1)));
  const ValueId sum =
      call.out.emit(TosaOp::MATMUL, {a, b, a_zp, b_zp}, {},
                    {.dtype = DType::kInt32, .shape = Shape{a_shape[0], a_shape[1], b_shape[2]}, .suffix = "sum"});
  const double scale = static_cast<double>(Call::scale(call.in(0))) * static_cast<double>(Call::scale(call.in(1))) /
                       static_cast<double>(Call::scale(call.result()));
  const Multiplier multiplier = multiplier_of(scale);
  if (multiplier.exponent > 29) return call.reject("the ratio of the scales is too large");
  return call.set(call.rescale(
      sum, {.multipliers = {multiplier}, .output_zp = Call::zero_point(call.result()), .to = DType::kInt8}));
}

}  // namespace carina::tflite
