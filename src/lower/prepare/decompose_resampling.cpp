// Upsampling: the nearest neighbour is slices and broadcasts; a linear blend is a product with a constant matrix along
// each axis.

#include <algorithm>
#include <cmath>

#include "facts/aten_traits.h"
#include "lower/prepare/decompose_internal.h"
#include "lower/prepare/pieces_internal.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

using Ints = std::vector<int64_t>;

// How one axis is resampled, in the float32 arithmetic of PyTorch. Source: ATen/native/UpSample.h.
struct Resampling {
  int64_t in;
  int64_t out;
  float scale;  // input elements per output element
};

// The factor that the user gave for the axis `index` of the image, if any: as scale_factors of the .vec overloads, or as
// scales_h, scales_w, scales of the others.
double given_factor(const ir::Attributes& attributes, size_t index, size_t axes) {
  const auto number = [&](std::string_view name) {
    return attributes.find(name) == nullptr || attributes.is_none(name) ? 0.0 : attributes.number(name);
  };
  if (axes == 1 && attributes.find("scales") != nullptr) return number("scales");
  if (attributes.find("scales_h") != nullptr) return number(index == 0 ? "scales_h" : "scales_w");
  const ir::Attribute* factors = attributes.find("scale_factors");
  const auto* list = factors == nullptr ? nullptr : std::get_if<std::vector<double>>(factors);
  return list == nullptr || list->size() <= index ? 0.0 : (*list)[index];
}

Resampling resampling_of(Rewriter& in, const Node& node, size_t index) {
  const Shape from = in.shape(node.inputs[0]), to = in.shape(node.outputs[0]);
  const double factor = given_factor(node.attributes, index, from.rank() - 2);
  Resampling axis{.in = from[2 + index], .out = to[2 + index], .scale = 0};
  axis.scale =
      factor > 0 ? static_cast<float>(1.0 / factor) : static_cast<float>(axis.in) / static_cast<float>(axis.out);
  return axis;
}

bool is_image(const Rewriter& in, const Node& node) {
  const Shape& from = in.shape(node.inputs[0]);
  return (from.rank() == 3 || from.rank() == 4) && from.elements() > 0 && in.shape(node.outputs[0]).elements() > 0 &&
         in[node.inputs[0]].dtype == DType::kFp32;
}

template <int kHalves>  // 1: from the centre of the output's pixel
Result<bool> nearest(Rewriter& in, const Node& node) {
  if (!is_image(in, node)) return false;
  ValueId x = node.inputs[0];
  for (size_t i = 0; i + 2 < in.shape(node.inputs[0]).rank(); ++i) {
    const Resampling axis = resampling_of(in, node, i);
    Ints indices;
    for (int64_t o = 0; o < axis.out; ++o) {
      const float place = (static_cast<float>(o) + 0.5F * static_cast<float>(kHalves)) * axis.scale;
      indices.push_back(std::min(static_cast<int64_t>(std::floor(place)), axis.in - 1));
    }
    bool whole = axis.out % axis.in == 0;
    for (int64_t o = 0; whole && o < axis.out; ++o) whole = indices[static_cast<size_t>(o)] == o / (axis.out / axis.in);
    x = whole ? repeat_each(in, x, 2 + i, axis.out / axis.in) : take_or_gather(in, x, 2 + i, indices);
  }
  return rewritten(in.view_into(node.outputs[0], x));
}

enum class Corners { kAligned, kNot };

// [out,in]: each row blends two neighbours.
Tensor blend(const Resampling& axis, Corners corners) {
  std::vector<float> matrix(static_cast<size_t>(axis.in * axis.out), 0);
  const float aligned = axis.out > 1 ? static_cast<float>(axis.in - 1) / static_cast<float>(axis.out - 1) : 0;
  for (int64_t o = 0; o < axis.out; ++o) {
    const auto at = static_cast<float>(o);
    const float place = corners == Corners::kAligned ? at * aligned : std::max((at + 0.5F) * axis.scale - 0.5F, 0.0F);
    const int64_t low = std::min(static_cast<int64_t>(place), axis.in - 1), high = std::min(low + 1, axis.in - 1);
    const float part = std::clamp(place - static_cast<float>(low), 0.0F, 1.0F);
    matrix[static_cast<size_t>(o * axis.in + low)] += 1 - part;
    matrix[static_cast<size_t>(o * axis.in + high)] += part;
  }
  return Tensor::of<float>(DType::kFp32, Shape{axis.out, axis.in}, matrix);
}

// The last axis blended.
ValueId blended(Rewriter& in, ValueId x, const Tensor& matrix, const std::string& name) {
  Shape shape = in.shape(x);
  shape[shape.rank() - 1] = matrix.shape[0];
  return in.make(AtenOp::linear_default, {x, in.constant(name, matrix), ValueId()}, {}, shape);
}

ValueId swapped(Rewriter& in, ValueId x) {
  const Shape shape = in.shape(x);
  return in.move(AtenOp::permute_default, {x}, {{"dims", Ints{0, 1, 3, 2}}},
                 Shape{shape[0], shape[1], shape[3], shape[2]});
}

Result<bool> linear(Rewriter& in, const Node& node) {
  if (!is_image(in, node)) return false;
  const Corners corners = node.attributes.get<bool>("align_corners") ? Corners::kAligned : Corners::kNot;
  const size_t axes = in.shape(node.inputs[0]).rank() - 2;
  ValueId x = blended(in, node.inputs[0], blend(resampling_of(in, node, axes - 1), corners), node.name + "_columns");
  if (axes == 2)
    x = swapped(in, blended(in, swapped(in, x), blend(resampling_of(in, node, 0), corners), node.name + "_rows"));
  return rewritten(in.view_into(node.outputs[0], x));
}

constexpr RewriteRow kDecomposeResamplingRows[] = {
    {AtenOp::upsample_nearest1d_default, nearest<0>},
    {AtenOp::upsample_nearest1d_vec, nearest<0>},
    {AtenOp::upsample_nearest2d_default, nearest<0>},
    {AtenOp::upsample_nearest2d_vec, nearest<0>},
    {AtenOp::_upsample_nearest_exact2d_default, nearest<1>},
    {AtenOp::_upsample_nearest_exact2d_vec, nearest<1>},
    {AtenOp::upsample_linear1d_default, linear},
    {AtenOp::upsample_linear1d_vec, linear},
    {AtenOp::upsample_bilinear2d_default, linear},
    {AtenOp::upsample_bilinear2d_vec, linear},
};
static_assert(rewrites_what_becomes(kDecomposeResamplingRows));

}  // namespace

std::span<const RewriteRow> resampling_rewrites() {
  return kDecomposeResamplingRows;
}

}  // namespace carina::lower
