#include <array>
#include <cmath>

#include "frontend/pt2/verify/rule.h"

namespace carina::aten {

namespace {

// Sizes from here on are rejected by the readers.
constexpr double kMaxSize = 0x1p40;
constexpr int64_t kMaxFactor = 1 << 11;  // its square times a size fits int64_t

std::expected<Sizes, std::string> scaled_sizes(const NodeView& n, size_t spatial) {
  const auto& factors = n.node.attributes.get<std::vector<double>>("scale_factors");
  if (factors.size() != spatial) return broken("{} scale factors for {} axes", factors.size(), spatial);
  Sizes sizes;
  for (size_t i = 0; i < spatial; ++i) {
    const double size = static_cast<double>(n.shape(0)[2 + i]) * factors[i];
    if (!(size >= 0 && size < kMaxSize)) return broken("scale factor {}", factors[i]);
    sizes.push_back(static_cast<int64_t>(size));
  }
  return sizes;
}

// [N,C,spatial...] -> [N,C,output_size...]. The overloads "vec" have scale factors instead of sizes.
template <size_t kSpatial>
Shapes upsample(const NodeView& n) {
  if (n.rank(0) != kSpatial + 2) return broken("its operand has rank {}, not {}", n.rank(0), kSpatial + 2);
  Sizes wanted = n.ints("output_size");
  if (n.is_none("output_size")) {
    if (n.is_none("scale_factors")) return broken("it has neither sizes nor scale factors");
    CARINA_TRY(wanted, scaled_sizes(n, kSpatial));
  }
  if (wanted.size() != kSpatial) return broken("{} result sizes for {} axes", wanted.size(), kSpatial);
  Sizes sizes = sizes_of(n.shape(0));
  for (size_t i = 0; i < kSpatial; ++i) {
    if (wanted[i] < 1 || sizes[2 + i] < 1) return broken("{} elements become {}", sizes[2 + i], wanted[i]);
    sizes[2 + i] = wanted[i];
  }
  return one(sizes);
}

// [N,C,spatial...] and [N,results...,axes] -> [N,C,results...]
Shapes grid_sampler(const NodeView& n) {
  CARINA_CHECKED(expect_one_type(n, 1, 1));
  const Shape &x = n.shape(0), &grid = n.shape(1);
  const size_t rank = x.rank();
  if ((rank != 4 && rank != 5) || grid.rank() != rank || grid[0] != x[0] ||
      grid[rank - 1] != static_cast<int64_t>(rank) - 2)
    return broken("an operand {} and a grid {}", to_string(x), to_string(grid));
  Shape shape = grid;
  for (size_t i = rank; i-- > 2;) {
    if (x[i] < 1) return broken("its operand has no elements");
    shape[i] = grid[i - 1];
  }
  shape[1] = x[1];
  return one(shape);
}

Shapes pixel_shuffle(const NodeView& n) {
  Shape shape = n.shape(0);
  const int64_t r = n.integer("upscale_factor");
  const size_t rank = shape.rank();
  if (rank < 3 || r < 1 || r > kMaxFactor || shape[rank - 3] % (r * r) != 0)
    return broken("{} with factor {}", to_string(shape), r);
  shape[rank - 3] /= r * r;
  shape[rank - 2] *= r;
  shape[rank - 1] *= r;
  return one(shape);
}

Shapes pixel_unshuffle(const NodeView& n) {
  Shape shape = n.shape(0);
  const int64_t r = n.integer("downscale_factor");
  const size_t rank = shape.rank();
  if (rank < 3 || r < 1 || r > kMaxFactor || shape[rank - 2] % r != 0 || shape[rank - 1] % r != 0)
    return broken("{} with factor {}", to_string(shape), r);
  shape[rank - 3] *= r * r;
  shape[rank - 2] /= r;
  shape[rank - 1] /= r;
  return one(shape);
}

Shapes channel_shuffle(const NodeView& n) {
  const int64_t groups = n.integer("groups");
  if (n.rank(0) < 3 || groups < 1 || n.shape(0)[1] % groups != 0)
    return broken("{} in {} groups", to_string(n.shape(0)), groups);
  return one(n.shape(0));
}

// Matrices [N,2,3] and size [N,C,H,W] -> [N,H,W,2]; with one more axis, [N,3,4] -> [N,D,H,W,3]
Shapes affine_grid(const NodeView& n) {
  const Sizes& size = n.ints("size");
  const auto axes = static_cast<int64_t>(size.size()) - 2;
  if ((axes != 2 && axes != 3) || n.shape(0) != Shape{size[0], axes, axes + 1})
    return broken("matrices {} and {} sizes", to_string(n.shape(0)), size.size());
  Sizes sizes(size.begin() + 2, size.end());
  for (const int64_t s : sizes) {
    if (s < 0) return broken("size {}", s);
  }
  sizes.insert(sizes.begin(), size[0]);
  sizes.push_back(axes);
  return one(sizes);
}

constexpr std::array kResampleRules = {
    Rule{AtenOp::upsample_nearest1d_default, upsample<1>, same_type},
    Rule{AtenOp::upsample_nearest1d_vec, upsample<1>, same_type},
    Rule{AtenOp::upsample_nearest2d_default, upsample<2>, same_type},
    Rule{AtenOp::upsample_nearest2d_vec, upsample<2>, same_type},
    Rule{AtenOp::upsample_nearest3d_default, upsample<3>, same_type},
    Rule{AtenOp::upsample_nearest3d_vec, upsample<3>, same_type},
    Rule{AtenOp::_upsample_nearest_exact1d_default, upsample<1>, same_type},
    Rule{AtenOp::_upsample_nearest_exact1d_vec, upsample<1>, same_type},
    Rule{AtenOp::_upsample_nearest_exact2d_default, upsample<2>, same_type},
    Rule{AtenOp::_upsample_nearest_exact2d_vec, upsample<2>, same_type},
    Rule{AtenOp::_upsample_nearest_exact3d_default, upsample<3>, same_type},
    Rule{AtenOp::_upsample_nearest_exact3d_vec, upsample<3>, same_type},
    Rule{AtenOp::upsample_linear1d_default, upsample<1>, same_type},
    Rule{AtenOp::upsample_linear1d_vec, upsample<1>, same_type},
    Rule{AtenOp::upsample_bilinear2d_default, upsample<2>, same_type},
    Rule{AtenOp::upsample_bilinear2d_vec, upsample<2>, same_type},
    Rule{AtenOp::upsample_bicubic2d_default, upsample<2>, same_type},
    Rule{AtenOp::upsample_bicubic2d_vec, upsample<2>, same_type},
    Rule{AtenOp::upsample_trilinear3d_default, upsample<3>, same_type},
    Rule{AtenOp::upsample_trilinear3d_vec, upsample<3>, same_type},
    Rule{AtenOp::grid_sampler_default, grid_sampler, same_type},
    Rule{AtenOp::grid_sampler_2d_default, grid_sampler, same_type},
    Rule{AtenOp::pixel_shuffle_default, pixel_shuffle, same_type},
    Rule{AtenOp::pixel_unshuffle_default, pixel_unshuffle, same_type},
    Rule{AtenOp::channel_shuffle_default, channel_shuffle, same_type},
    Rule{AtenOp::affine_grid_generator_default, affine_grid, same_type},
};

}  // namespace

std::span<const Rule> resample_rules() {
  return kResampleRules;
}

}  // namespace carina::aten
