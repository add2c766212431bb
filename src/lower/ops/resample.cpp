// Lowers resized images to RESIZE, whose coordinates are fractions of integers.

#include <fmt/format.h>

#include "facts/aten_traits.h"
#include "lower/lowering_internal.h"
#include "normalize/resampling.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;
using Ints = std::vector<int64_t>;

constexpr int64_t kBilinear = 2;

Shape channels_last(const Shape& s) {
  return {s[0], s[2], s[3], s[1]};
}

// The border after the last input element that gives the result its size. Source: TOSA 1.0, RESIZE.
int64_t resize_border(const normalize::Fraction& f, int64_t from, int64_t to) {
  return (to - 1) * f.step - (from - 1) * f.scale + f.offset;
}

DType weighted_type(DType type) {
  if (type == DType::kInt8) return DType::kInt32;
  return type == DType::kInt16 ? DType::kInt48 : type;
}

// RESIZE multiplies the integers by scale_y * scale_x, the sum of all weights. The zero point is scaled likewise.
ValueId as_result(Lowering& in, const Node& node, ValueId sums, double weights) {
  if (!in.is_quantized(node)) return sums;
  const Quantization& from = in.quantization(node.inputs[0]);
  const ValueId means =
      in.out.rescale(sums, {.scales = {1 / weights}, .input_zp = 0, .output_zp = 0, .to = from.dtype});
  return in.requantize(means, from, in.quantization(node.outputs[0]));
}

Result<ValueId> bilinear(Lowering& in, const Node& node) {
  const Shape from = in.shape(node.inputs[0]), to = in.shape(node.outputs[0]);
  const auto y = normalize::fraction_of(node.attributes, from, to, 0),
             x = normalize::fraction_of(node.attributes, from, to, 1);
  if (!y || !x || from.rank() != 4) return fail(normalize::about(node, "this resampling has no RESIZE"));
  const ValueId image = in.out.to_nhwc(in.operand(node.inputs[0]));
  const ValueId scale = in.out.shape_constant(Ints{y->scale, y->step, x->scale, x->step});
  const ValueId offset = in.out.shape_constant(Ints{y->offset, x->offset});
  const ValueId border =
      in.out.shape_constant(Ints{resize_border(*y, from[2], to[2]), resize_border(*x, from[3], to[3])});
  const ValueId sums =
      in.out.emit(TosaOp::RESIZE, {image, scale, offset, border}, {{"mode", kBilinear}},
                  {.dtype = weighted_type(in.out.dtype(image)), .shape = channels_last(to), .suffix = "resize"});
  return in.out.to_nchw(as_result(in, node, sums, static_cast<double>(y->scale) * static_cast<double>(x->scale)));
}

Rejected bilinear_fits(const Candidate& c) {
  const Shape &from = c.input(0).shape, &to = c.output().shape;
  if (from.rank() == 4 && normalize::fraction_of(c.node.attributes, from, to, 0) &&
      normalize::fraction_of(c.node.attributes, from, to, 1))
    return std::nullopt;
  return rejected(
      "resize.scale",
      fmt::format("the scale from {} to {} is no fraction of small integers", to_string(from), to_string(to)),
      "give the size instead of the scale factor");
}

constexpr LoweringRow kResampleRows[] = {
    {.op = AtenOp::upsample_bilinear2d_vec,
     .integers = PlainIntegers::kNone,
     .legal = bilinear_fits,
     .lower = bilinear},
};
static_assert(lowers_all_of(kResampleRows, {AtenFamily::kResample}));

}  // namespace

std::span<const LoweringRow> resample_rows() {
  return kResampleRows;
}

}  // namespace carina::lower
