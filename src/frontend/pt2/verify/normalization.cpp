#include <array>

#include "base/checked_math.h"
#include "frontend/pt2/verify/rule.h"

namespace carina::aten {

namespace {

// [N,C,...]: parameters of shape [C] at operands 1 to 4.
std::expected<void, std::string> check_parameters(const NodeView& n, size_t last) {
  CARINA_CHECKED(expect_floats(n));
  if (n.rank(0) < 2) return broken("its operand has rank {}", n.rank(0));
  constexpr std::array<std::string_view, 5> kNames = {"", "weight", "bias", "running mean", "running variance"};
  for (size_t i = 1; i <= last; ++i) CARINA_CHECKED(expect_shape(n, i, kNames[i], Shape{n.shape(0)[1]}));
  return {};
}

// The statistics, which are further results, are not checked.
Shapes with_statistics(const NodeView& n) {
  Shapes shapes = unchecked(n);
  if (!shapes->empty()) shapes->front() = n.shape(0);
  return shapes;
}

Shapes batch_norm(const NodeView& n) {
  CARINA_CHECKED(check_parameters(n, 4));
  return with_statistics(n);
}

Shapes batch_norm_without_statistics(const NodeView& n) {
  CARINA_CHECKED(check_parameters(n, 2));
  return with_statistics(n);
}

// Normalizes over the last axes, whose sizes are the argument.
std::expected<size_t, std::string> normalized_axes(const NodeView& n, size_t parameters) {
  CARINA_CHECKED(expect_floats(n));
  const Sizes& sizes = n.ints("normalized_shape");
  const Shape& x = n.shape(0);
  if (sizes.empty() || sizes.size() > x.rank() || Shape(sizes) != Shape(x.dims().last(sizes.size())))
    return broken("its operand {} does not end in the {} normalized sizes", to_string(x), sizes.size());
  for (size_t i = 1; i <= parameters; ++i) CARINA_CHECKED(expect_shape(n, i, i == 1 ? "weight" : "bias", Shape(sizes)));
  return sizes.size();
}

Shapes layer_norm(const NodeView& n) {
  CARINA_CHECKED(normalized_axes(n, 2));
  return one(n.shape(0));
}

Shapes layer_norm_with_statistics(const NodeView& n) {
  CARINA_TRY(const size_t axes, normalized_axes(n, 2));
  Shape statistics = n.shape(0);
  for (size_t i = statistics.rank() - axes; i < statistics.rank(); ++i) statistics[i] = 1;
  return std::vector<std::optional<Shape>>{n.shape(0), statistics, statistics};
}

Shapes rms_norm(const NodeView& n) {
  CARINA_CHECKED(normalized_axes(n, 1));
  return one(n.shape(0));
}

std::expected<void, std::string> check_groups(const NodeView& n, int64_t groups) {
  CARINA_CHECKED(check_parameters(n, 2));
  if (groups < 1 || n.shape(0)[1] % groups != 0) return broken("{} channels in {} groups", n.shape(0)[1], groups);
  return {};
}

Shapes group_norm(const NodeView& n) {
  CARINA_CHECKED(check_groups(n, n.integer("num_groups")));
  return one(n.shape(0));
}

Shapes group_norm_with_statistics(const NodeView& n) {
  const int64_t groups = n.integer("group");
  CARINA_CHECKED(check_groups(n, groups));
  const Shape& x = n.shape(0);
  const Sizes factors{n.integer("N"), n.integer("C"), n.integer("HxW")};
  if (factors[0] != x[0] || factors[1] != x[1] || checked_product(factors) != x.elements())
    return broken("N {}, C {} and HxW {} are not those of {}", factors[0], factors[1], factors[2], to_string(x));
  const Shape statistics{x[0], groups};
  return std::vector<std::optional<Shape>>{x, statistics, statistics};
}

Shapes softmax(const NodeView& n) {
  CARINA_CHECKED(axis_of(n.integer("dim"), n.rank(0)));
  return one(n.shape(0));
}

// _softmax(half_to_float)
ResultType half_or_same(const NodeView& n, size_t result) {
  return n.flag("half_to_float") ? ResultType{.dtype = DType::kFp32} : same_type(n, result);
}

constexpr std::array kNormalizationRules = {
    Rule{AtenOp::batch_norm_default, batch_norm, first_same},
    Rule{AtenOp::_native_batch_norm_legit_no_training_default, batch_norm, first_same},
    Rule{AtenOp::_native_batch_norm_legit_no_stats, batch_norm_without_statistics, first_same},
    Rule{AtenOp::native_batch_norm_default, batch_norm, first_same},
    Rule{AtenOp::instance_norm_default, batch_norm, first_same},
    Rule{AtenOp::layer_norm_default, layer_norm, same_type},
    Rule{AtenOp::native_layer_norm_default, layer_norm_with_statistics, first_same},
    Rule{AtenOp::group_norm_default, group_norm, same_type},
    Rule{AtenOp::native_group_norm_default, group_norm_with_statistics, first_same},
    Rule{AtenOp::rms_norm_default, rms_norm, promoted},
    Rule{AtenOp::softmax_int, softmax, asked_or_same},
    Rule{AtenOp::_softmax_default, softmax, half_or_same},
    Rule{AtenOp::_safe_softmax_default, softmax, asked_or_same},
    Rule{AtenOp::log_softmax_int, softmax, asked_or_same},
    Rule{AtenOp::_log_softmax_default, softmax, half_or_same},
};

}  // namespace

std::span<const Rule> normalization_rules() {
  return kNormalizationRules;
}

}  // namespace carina::aten
