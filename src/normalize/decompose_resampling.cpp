// Decomposes upsampling. Nearest neighbor becomes slices and broadcasts, of images with the channels last. Linear
// interpolation becomes a product with a constant matrix along each axis.
//   Example: 2 -> 4 elements, half-pixel centers: out = [[1, 0], [.75, .25], [.25, .75], [0, 1]] * in
// TOSA's RESIZE is not used: its integer form needs a scale that is a ratio of small integers and does not rescale its
// result, so float and integer would need separate rules. It would be cheaper beyond about 128 elements per axis.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"
#include "normalize/resampling.h"
#include "normalize/slices.h"

namespace carina::normalize {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

using Ints = std::vector<int64_t>;

bool is_image(const Rewriter& in, const Node& node) {
  const Shape& from = in.shape(node.inputs[0]);
  return from.rank() >= 3 && from.rank() <= 5 && from.elements() > 0 && in.shape(node.outputs[0]).elements() > 0;
}

Resampling axis_of_image(const Rewriter& in, const Node& node, size_t index) {
  return resampling_of(node.attributes, in.shape(node.inputs[0]), in.shape(node.outputs[0]), index);
}

// PyTorch's nearest neighbor ignores the given factor if the size stays or doubles. Source:
// aten/src/ATen/native/UpSample.h, nearest_idx.
bool ignores_factor(const Resampling& axis) {
  return axis.out == axis.in || axis.out == 2 * axis.in;
}

ValueId permuted(Rewriter& in, ValueId x, const Ints& dims) {
  Shape shape = in.shape(x);
  for (size_t i = 0; i < dims.size(); ++i) shape[i] = in.shape(x)[static_cast<size_t>(dims[i])];
  return in.move(AtenOp::permute_default, {x}, {{"dims", dims}}, shape);
}

// The operators beside an upsampled image have its channels last in TOSA, and pixels whose channels are together are
// repeated in fewer and longer runs.
template <int kHalves>  // 1: from the center of the output pixel
Result<bool> nearest(Rewriter& in, const Node& node) {
  if (!is_image(in, node)) return false;
  const bool is_2d = in.shape(node.inputs[0]).rank() == 4;
  const size_t first = is_2d ? 1 : 2;  // the axis of the height
  ValueId x = is_2d ? permuted(in, node.inputs[0], {0, 2, 3, 1}) : node.inputs[0];
  // Columns before rows: NPUs write repeated rows, the larger result, in bricks of 16 channels.
  for (size_t i = in.shape(node.inputs[0]).rank() - 2; i-- > 0;) {
    Resampling axis = axis_of_image(in, node, i);
    if (kHalves == 0 && ignores_factor(axis)) axis.scale = static_cast<float>(axis.in) / static_cast<float>(axis.out);
    Ints indices;
    for (int64_t o = 0; o < axis.out; ++o) {
      const float position = (static_cast<float>(o) + 0.5F * static_cast<float>(kHalves)) * axis.scale;
      indices.push_back(std::min(static_cast<int64_t>(std::floor(position)), axis.in - 1));
    }
    bool whole = axis.out % axis.in == 0;
    for (int64_t o = 0; whole && o < axis.out; ++o) whole = indices[static_cast<size_t>(o)] == o / (axis.out / axis.in);
    x = whole ? repeat_each(in, x, first + i, axis.out / axis.in) : take_or_gather(in, x, first + i, indices);
  }
  return rewritten(in.view_into(node.outputs[0], is_2d ? permuted(in, x, {0, 3, 1, 2}) : x));
}

enum class Corners { kAligned, kNot };

// The matrix [out,in]. Each row interpolates two neighbors.
Tensor interpolation_matrix(const Resampling& axis, Corners corners) {
  std::vector<float> matrix(static_cast<size_t>(axis.in * axis.out), 0);
  const float aligned = axis.out > 1 ? static_cast<float>(axis.in - 1) / static_cast<float>(axis.out - 1) : 0;
  for (int64_t o = 0; o < axis.out; ++o) {
    const auto at = static_cast<float>(o);
    const float position =
        corners == Corners::kAligned ? at * aligned : std::max((at + 0.5F) * axis.scale - 0.5F, 0.0F);
    const int64_t low = std::min(static_cast<int64_t>(position), axis.in - 1), high = std::min(low + 1, axis.in - 1);
    const float part = std::clamp(position - static_cast<float>(low), 0.0F, 1.0F);
    matrix[static_cast<size_t>(o * axis.in + low)] += 1 - part;
    matrix[static_cast<size_t>(o * axis.in + high)] += part;
  }
  return Tensor::of<float>(DType::kFp32, Shape{axis.out, axis.in}, matrix);
}

// PyTorch's cubic convolution, A = -0.75. Source: aten/src/ATen/native/UpSample.h.
std::array<float, 4> cubic_weights(float part) {
  constexpr float kA = -0.75F;
  const auto near = [](float x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](float x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  return {far(part + 1), near(part), near(1 - part), far(2 - part)};
}

// The matrix [out,in]. Each row interpolates four neighbors. Neighbors outside of the image are the pixels at its edge.
Tensor cubic_matrix(const Resampling& axis, Corners corners) {
  std::vector<float> matrix(static_cast<size_t>(axis.in * axis.out), 0);
  const float aligned = axis.out > 1 ? static_cast<float>(axis.in - 1) / static_cast<float>(axis.out - 1) : 0;
  for (int64_t o = 0; o < axis.out; ++o) {
    const auto at = static_cast<float>(o);
    const float position = corners == Corners::kAligned ? at * aligned : (at + 0.5F) * axis.scale - 0.5F;
    const auto low = static_cast<int64_t>(std::floor(position));
    const std::array<float, 4> weights = cubic_weights(position - static_cast<float>(low));
    for (int64_t tap = 0; tap < 4; ++tap) {
      const int64_t from = std::clamp<int64_t>(low - 1 + tap, 0, axis.in - 1);
      matrix[static_cast<size_t>(o * axis.in + from)] += weights[static_cast<size_t>(tap)];
    }
  }
  return Tensor::of<float>(DType::kFp32, Shape{axis.out, axis.in}, matrix);
}

// Interpolates along an axis, as a product with a matrix along the last axis.
ValueId interpolated(Rewriter& in, ValueId x, size_t axis, const Tensor& matrix, const std::string& name) {
  Shape shape = in.shape(x);
  Ints order(shape.rank());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::swap(order[axis], order.back());
  const bool last = axis + 1 == shape.rank();
  const auto swapped = [&](ValueId value) {
    if (last) return value;
    Shape result = in.shape(value);
    std::swap(result[axis], result[result.rank() - 1]);
    return in.move(AtenOp::permute_default, {value}, {{"dims", order}}, result);
  };
  const ValueId turned = swapped(x);
  Shape result = in.shape(turned);
  result[result.rank() - 1] = matrix.shape[0];
  return swapped(in.make(AtenOp::linear_default, {turned, in.constant(name, matrix), ValueId()}, {}, result));
}

Result<bool> by_matrices(Rewriter& in, const Node& node, Tensor (*matrix_of)(const Resampling&, Corners)) {
  const Corners corners = node.attributes.get<bool>("align_corners") ? Corners::kAligned : Corners::kNot;
  ValueId x = node.inputs[0];
  for (size_t i = in.shape(x).rank() - 2; i-- > 0;) {
    const Resampling axis = axis_of_image(in, node, i);
    x = interpolated(in, x, 2 + i, matrix_of(axis, corners), fmt::format("{}_axis{}", node.name, i));
  }
  return rewritten(in.view_into(node.outputs[0], x));
}

Result<bool> cubic(Rewriter& in, const Node& node) {
  return is_image(in, node) && is_fp32(in, node) ? by_matrices(in, node, cubic_matrix) : Result<bool>(false);
}

// Converts to upsample_bilinear2d.vec, whose scale factors may differ from the ratio of the sizes. A line becomes an
// image of one row.
Result<bool> as_bilinear(Rewriter& in, const Node& node) {
  Shape from = in.shape(node.inputs[0]), to = in.shape(node.outputs[0]);
  std::vector<double> factors;
  bool all_given = true;
  for (size_t i = 0; i + 2 < from.rank(); ++i) {
    factors.push_back(given_factor(node.attributes, i, from.rank() - 2));
    all_given = all_given && factors.back() > 0;
  }
  if (from.rank() == 3) {
    factors.insert(factors.begin(), 1.0);
    from = Shape{from[0], from[1], 1, from[2]};
    to = Shape{to[0], to[1], 1, to[2]};
  }
  Attributes attributes{{"output_size", std::monostate()},
                        {"align_corners", node.attributes.get<bool>("align_corners")},
                        {"scale_factors", std::monostate()}};
  if (all_given)
    attributes.set("scale_factors", factors);
  else
    attributes.set("output_size", Ints{to[2], to[3]});
  const ValueId image = in.view(node.inputs[0], from);
  const ValueId resized = in.move(AtenOp::upsample_bilinear2d_vec, {image}, std::move(attributes), to);
  return rewritten(in.view_into(node.outputs[0], resized));
}

// Uses RESIZE if its number ranges allow it, otherwise a product with a constant matrix along each axis.
Result<bool> resample_linear(Rewriter& in, const Node& node) {
  if (!is_image(in, node)) return false;
  const Shape from = in.shape(node.inputs[0]), to = in.shape(node.outputs[0]);
  bool resizes = from.rank() < 5;
  for (size_t i = 0; i + 2 < from.rank(); ++i) resizes = resizes && fraction_of(node.attributes, from, to, i);
  if (!resizes) return is_fp32(in, node) ? by_matrices(in, node, interpolation_matrix) : Result<bool>(false);
  return node.op == ir::Op(AtenOp::upsample_bilinear2d_vec) ? Result<bool>(false) : as_bilinear(in, node);
}

constexpr RewriteRow kDecomposeResamplingRows[] = {
    {AtenOp::upsample_nearest1d_default, nearest<0>},
    {AtenOp::upsample_nearest1d_vec, nearest<0>},
    {AtenOp::upsample_nearest2d_default, nearest<0>},
    {AtenOp::upsample_nearest2d_vec, nearest<0>},
    {AtenOp::upsample_nearest3d_default, nearest<0>},
    {AtenOp::upsample_nearest3d_vec, nearest<0>},
    {AtenOp::upsample_bicubic2d_default, cubic},
    {AtenOp::upsample_bicubic2d_vec, cubic},
    {AtenOp::upsample_trilinear3d_default, resample_linear},
    {AtenOp::upsample_trilinear3d_vec, resample_linear},
    {AtenOp::_upsample_nearest_exact1d_default, nearest<1>},
    {AtenOp::_upsample_nearest_exact1d_vec, nearest<1>},
    {AtenOp::_upsample_nearest_exact3d_default, nearest<1>},
    {AtenOp::_upsample_nearest_exact3d_vec, nearest<1>},
    {AtenOp::_upsample_nearest_exact2d_default, nearest<1>},
    {AtenOp::_upsample_nearest_exact2d_vec, nearest<1>},
    {AtenOp::upsample_linear1d_default, resample_linear},
    {AtenOp::upsample_linear1d_vec, resample_linear},
    {AtenOp::upsample_bilinear2d_default, resample_linear},
    {AtenOp::upsample_bilinear2d_vec, resample_linear},
};
static_assert(rewrites_what_becomes(kDecomposeResamplingRows));

}  // namespace

std::span<const RewriteRow> resampling_rewrites() {
  return kDecomposeResamplingRows;
}

}  // namespace carina::normalize
