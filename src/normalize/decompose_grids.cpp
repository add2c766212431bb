// Samples images at computed coordinates: the coordinates in fp32, a gather of the pixels around each coordinate, and
// their weighted sum. Only for floats, because int8 cannot represent the coordinates of an image.

#include <algorithm>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"
#include "normalize/slices.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

constexpr int64_t kLargestImage = int64_t{1} << 24;  // fp32 represents its coordinates exactly

// The numbers of PyTorch's modes. Source: aten/src/ATen/native/GridSamplerUtils.h.
enum class Interpolation : uint8_t { kBilinear, kNearest, kBicubic };
enum class PaddingMode : uint8_t { kZeros, kBorder, kReflection };

struct Sampling {
  Interpolation interpolation;
  PaddingMode padding;
  bool align_corners;
};

// Adds arithmetic on fp32 tensors of one shape.
class Coordinates {
 public:
  Coordinates(Rewriter& in, Shape shape) : in_(in), shape_(std::move(shape)) {}

  ValueId add(ValueId x, double more) { return make(AtenOp::add_Tensor, {x, number(more)}, no_alpha()); }
  ValueId add(ValueId x, ValueId y) { return make(AtenOp::add_Tensor, {x, y}, no_alpha()); }
  ValueId sub(ValueId x, ValueId y) { return make(AtenOp::sub_Tensor, {x, y}, no_alpha()); }
  ValueId sub(double x, ValueId y) { return make(AtenOp::sub_Tensor, {number(x), y}, no_alpha()); }
  ValueId mul(ValueId x, double factor) { return make(AtenOp::mul_Tensor, {x, number(factor)}, {}); }
  ValueId mul(ValueId x, ValueId y) { return make(AtenOp::mul_Tensor, {x, y}, {}); }
  ValueId apply(AtenOp op, ValueId x) { return make(op, {x}, {}); }
  ValueId clamp(ValueId x, double max) { return make(AtenOp::clamp_default, {x}, {{"min", 0.0}, {"max", max}}); }
  // x if a == b, else 0.
  ValueId where_equal(ValueId a, ValueId b, ValueId x) {
    ir::Value flags{.name = "within", .dtype = DType::kBool, .shape = shape_, .quantization = {}, .constant = {}};
    const ValueId equal = in_.make_value(AtenOp::eq_Tensor, {a, b}, {}, std::move(flags));
    ir::Value result{.name = "weight", .dtype = DType::kFp32, .shape = shape_, .quantization = {}, .constant = {}};
    return in_.make_value(AtenOp::where_self, {equal, x, number(0)}, {}, std::move(result));
  }
  ValueId integers(ValueId x) {
    ir::Value result{.name = "places", .dtype = DType::kInt64, .shape = shape_, .quantization = {}, .constant = {}};
    return in_.make_value(AtenOp::_to_copy_default, {x}, {{"dtype", DType::kInt64}}, std::move(result));
  }

 private:
  ValueId make(AtenOp op, std::vector<ValueId> inputs, ir::Attributes attributes) {
    return in_.make(op, std::move(inputs), std::move(attributes), shape_);
  }
  ValueId number(double value) { return in_.scalar(value, DType::kFp32); }

  Rewriter& in_;
  Shape shape_;
};

// Converts coordinates in [-1, 1] to pixels.
ValueId in_pixels(Coordinates& p, ValueId x, int64_t size, const Sampling& how) {
  const auto all = static_cast<double>(size);
  return how.align_corners ? p.mul(p.add(x, 1), (all - 1) / 2) : p.mul(p.add(p.mul(p.add(x, 1), all), -1), 0.5);
}

// Reflects coordinates at both ends until they are inside.
ValueId reflected(Coordinates& p, ValueId x, int64_t size, const Sampling& how) {
  const double first = how.align_corners ? 0 : -0.5;
  const double span = static_cast<double>(how.align_corners ? size - 1 : size);
  if (span == 0) return p.mul(x, 0.0);
  const ValueId distance = p.apply(AtenOp::abs_default, p.add(x, -first));
  const ValueId rounds = p.apply(AtenOp::floor_default, p.mul(distance, 1 / (2 * span)));
  const ValueId within = p.sub(distance, p.mul(rounds, 2 * span));
  return p.sub(first + span, p.apply(AtenOp::abs_default, p.add(within, -span)));
}

ValueId coordinate_of(Coordinates& p, ValueId x, int64_t size, const Sampling& how) {
  const ValueId pixel = in_pixels(p, x, size, how);
  if (how.padding == PaddingMode::kZeros) return pixel;
  return p.clamp(how.padding == PaddingMode::kReflection ? reflected(p, pixel, size, how) : pixel,
                 static_cast<double>(size - 1));
}

// An integer coordinate along one axis, and the weight of its pixel.
struct Neighbor {
  ValueId at;
  ValueId weight;  // invalid: weight 1
};

std::vector<Neighbor> neighbors(Coordinates& p, ValueId at, Interpolation interpolation) {
  if (interpolation == Interpolation::kNearest)
    return {{.at = p.apply(AtenOp::round_default, at), .weight = ValueId()}};
  const ValueId low = p.apply(AtenOp::floor_default, at), part = p.sub(at, low);
  return {{.at = low, .weight = p.sub(1, part)}, {.at = p.add(low, 1), .weight = part}};
}

// An image [N,C,H,W] as rows [N*H*W,C].
struct Image {
  ValueId rows;
  Shape shape;
};

Image image_of(Rewriter& in, ValueId x) {
  const Shape shape = in.shape(x);
  return {.rows = in.view(permuted_axes(in, x, {0, 2, 3, 1}), Shape{shape[0] * shape[2] * shape[3], shape[1]}),
          .shape = shape};
}

// The first row of each image of the batch: [N,1].
ValueId first_pixels(Rewriter& in, const Image& image) {
  std::vector<float> first;
  for (int64_t n = 0; n < image.shape[0]; ++n) first.push_back(static_cast<float>(n * image.shape[2] * image.shape[3]));
  return in.constant("first_pixels", Tensor::of<float>(DType::kFp32, Shape{image.shape[0], 1}, first));
}

// The pixel at each coordinate [N,P], times its weight: [N*P,C].
ValueId weighted(Rewriter& in, Coordinates& p, const Image& image, const Neighbor& y, const Neighbor& x, Shape count) {
  const int64_t height = image.shape[2], width = image.shape[3], rows = count.elements();
  const ValueId inside_y = p.clamp(y.at, static_cast<double>(height - 1));
  const ValueId inside_x = p.clamp(x.at, static_cast<double>(width - 1));
  const ValueId first = first_pixels(in, image);
  const ValueId pixel = p.add(p.add(p.mul(inside_y, static_cast<double>(width)), inside_x), first);
  const Shape shape{rows, image.shape[1]};
  const ValueId pixels =
      in.move(AtenOp::index_Tensor, {image.rows, in.view(p.integers(pixel), Shape{rows})}, {}, shape);
  const ValueId one = p.add(p.mul(y.at, 0.0), 1);
  const ValueId weight = x.weight.valid() ? p.mul(x.weight, y.weight) : one;
  const ValueId seen = p.where_equal(inside_y, y.at, p.where_equal(inside_x, x.at, weight));
  return in.make(AtenOp::mul_Tensor, {pixels, in.view(seen, Shape{rows, 1})}, {}, shape);
}

// One coordinate of a grid [N,H,W,2] as [N,H*W].
ValueId coordinate(Rewriter& in, ValueId grid, int64_t which) {
  const Shape shape = in.shape(grid);
  return in.view(slice(in, grid, 3, which, which + 1), Shape{shape[0], shape[1] * shape[2]});
}

ValueId sampled(Rewriter& in, ValueId x, ValueId grid, const Sampling& how) {
  const Shape coordinates = in.shape(grid), count{coordinates[0], coordinates[1] * coordinates[2]};
  const Image image = image_of(in, x);
  Coordinates p(in, count);
  const ValueId at_x = coordinate_of(p, coordinate(in, grid, 0), image.shape[3], how);
  const ValueId at_y = coordinate_of(p, coordinate(in, grid, 1), image.shape[2], how);
  ValueId sum;
  for (const Neighbor& row : neighbors(p, at_y, how.interpolation)) {
    for (const Neighbor& column : neighbors(p, at_x, how.interpolation)) {
      const ValueId part = weighted(in, p, image, row, column, count);
      sum = sum.valid() ? in.make(AtenOp::add_Tensor, {sum, part}, no_alpha(), in.shape(part)) : part;
    }
  }
  return sum;
}

Result<bool> grid_sampler(Rewriter& in, const Node& node) {
  const Sampling how{.interpolation = static_cast<Interpolation>(node.attributes.integer("interpolation_mode")),
                     .padding = static_cast<PaddingMode>(node.attributes.integer("padding_mode")),
                     .align_corners = node.attributes.get<bool>("align_corners")};
  const Shape x = in.shape(node.inputs[0]), out = in.shape(node.outputs[0]);
  if (!is_fp32(in, node) || in[node.outputs[0]].quantization || x.rank() != 4 || out.elements() == 0 ||
      x.elements() > kLargestImage || how.interpolation == Interpolation::kBicubic)
    return false;
  const ValueId pixels = in.view(sampled(in, node.inputs[0], node.inputs[1], how), Shape{x[0], out[2], out[3], x[1]});
  return rewritten(
      in.define(node.outputs[0], AtenOp::permute_default, {pixels}, {{"dims", std::vector<int64_t>{0, 3, 1, 2}}}));
}

// The centers of the pixels in [-1, 1]. With aligned corners, -1 and 1 are the centers of the outermost pixels.
std::vector<float> axis_coordinates(int64_t size, bool align_corners) {
  std::vector<float> coordinates;
  const auto all = static_cast<double>(size);
  for (int64_t i = 0; i < size; ++i) {
    const double step = align_corners ? 2 * static_cast<double>(i) / std::max(all - 1, 1.0) - 1
                                      : (2 * static_cast<double>(i) + 1) / all - 1;
    coordinates.push_back(size == 1 ? 0 : static_cast<float>(step));
  }
  return coordinates;
}

// The coordinates of all pixels as (x, y, 1): [H*W,3].
Tensor all_coordinates(int64_t height, int64_t width, bool align_corners) {
  std::vector<float> coordinates;
  for (const float y : axis_coordinates(height, align_corners)) {
    for (const float x : axis_coordinates(width, align_corners)) coordinates.insert(coordinates.end(), {x, y, 1.0F});
  }
  return Tensor::of<float>(DType::kFp32, Shape{height * width, 3}, coordinates);
}

// Each coordinate times theta [N,2,3]: [N,H,W,2].
Result<bool> affine_grid(Rewriter& in, const Node& node) {
  const Shape theta = in.shape(node.inputs[0]), out = in.shape(node.outputs[0]);
  if (!is_fp32(in, node) || out.rank() != 4 || out.elements() == 0) return false;
  const ValueId coordinates =
      in.constant(node.name + "_places", all_coordinates(out[1], out[2], node.attributes.get<bool>("align_corners")));
  const int64_t count = out[1] * out[2];
  const ValueId product =
      in.make(AtenOp::linear_default, {node.inputs[0], coordinates, ValueId()}, {}, Shape{theta[0], 2, count});
  return rewritten(in.view_into(node.outputs[0], permuted_axes(in, product, {0, 2, 1})));
}

constexpr RewriteRow kGridRewrites[] = {
    {AtenOp::grid_sampler_default, grid_sampler},
    {AtenOp::grid_sampler_2d_default, grid_sampler},
    {AtenOp::affine_grid_generator_default, affine_grid},
};
static_assert(rewrites_what_becomes(kGridRewrites));

}  // namespace

std::span<const RewriteRow> grid_rewrites() {
  return kGridRewrites;
}

}  // namespace carina::normalize
