#include <array>
#include <cmath>

#include "base/checked_math.h"
#include "frontend/pt2/verify/rule.h"

namespace carina::aten {

namespace {

// A longer tensor is rejected by the readers.
constexpr double kMaxLength = 0x1p40;

Shapes of_size(const NodeView& n) {
  for (const int64_t size : n.ints("size")) {
    if (size < 0) return broken("size {}", size);
  }
  return one(n.ints("size"));
}

Shapes scalar(const NodeView&) {
  return one(Shape{});
}

const ir::Attribute& number(const NodeView& n, std::string_view name) {
  static const ir::Attribute kZero = int64_t{0};
  const ir::Attribute* found = n.node.attributes.find(name);
  return found == nullptr ? kZero : *found;
}

// The steps from start to end: whole numbers exactly, others as float64 as torch does it.
Shapes arange(const NodeView& n) {
  const ir::Attribute &start = number(n, "start"), &end = number(n, "end");
  const bool has_step = n.node.attributes.find("step") != nullptr;
  const ir::Attribute step = has_step ? number(n, "step") : ir::Attribute{int64_t{1}};
  const auto real = [](const ir::Attribute& value) {
    const auto* whole = std::get_if<int64_t>(&value);
    const auto* fraction = std::get_if<double>(&value);
    return whole != nullptr ? static_cast<double>(*whole) : fraction != nullptr ? *fraction : std::nan("");
  };
  double length = std::ceil((real(end) - real(start)) / real(step));
  const auto *first = std::get_if<int64_t>(&start), *last = std::get_if<int64_t>(&end),
             *by = std::get_if<int64_t>(&step);
  if (first != nullptr && last != nullptr && by != nullptr && *by != 0 && std::abs(length) < kMaxLength) {
    int64_t distance = 0;
    if (__builtin_sub_overflow(*last, *first, &distance)) return broken("its range is too long");
    length = static_cast<double>(distance / *by + (distance % *by != 0 ? 1 : 0));
  }
  if (!(length >= 0 && length < kMaxLength)) return broken("it has {} elements", length);
  return one(Sizes{static_cast<int64_t>(length)});
}

// int64 if all numbers are whole, else the default type of floats.
ResultType type_of_numbers(const NodeView& n, size_t result) {
  const ResultType type = asked_or_same(n, result);
  if (type.dtype != DType::kUnknown) return type;
  for (const auto& [name, value] : n.node.attributes.list()) {
    if (std::holds_alternative<double>(value))
      return {.dtype = DType::kFp32, .instead = ResultType::Instead::kAnyFloat};
  }
  return {.dtype = DType::kInt64, .instead = ResultType::Instead::kBool};
}

ResultType asked_or_default(const NodeView& n, size_t) {
  const ir::Attribute* dtype = n.node.attributes.find("dtype");
  if (dtype != nullptr && std::holds_alternative<DType>(*dtype)) return {.dtype = std::get<DType>(*dtype)};
  return {.dtype = DType::kFp32, .instead = ResultType::Instead::kAnyFloat};
}

Shapes linspace(const NodeView& n) {
  for (size_t i = 0; i < n.node.inputs.size(); ++i) {
    if (n.rank(i) != 0) return broken("an end has rank {}", n.rank(i));
  }
  if (n.integer("steps") < 0) return broken("{} steps", n.integer("steps"));
  return one(Sizes{n.integer("steps")});
}

Shapes window(const NodeView& n) {
  if (n.integer("window_length") < 0) return broken("a window of {} elements", n.integer("window_length"));
  return one(Sizes{n.integer("window_length")});
}

// The rows and columns of the elements of a triangle. Their number is not checked here.
Shapes triangle_places(const NodeView& n) {
  if (n.integer("row") < 0 || n.integer("col") < 0) return broken("{} x {}", n.integer("row"), n.integer("col"));
  const std::optional<Shape> declared = n.declared(0);
  if (declared && (declared->rank() != 2 || (*declared)[0] != 2)) return broken("its result has another shape");
  return std::vector<std::optional<Shape>>{std::nullopt};
}

ResultType asked_or_int64(const NodeView& n, size_t) {
  const ir::Attribute* dtype = n.node.attributes.find("dtype");
  if (dtype != nullptr && std::holds_alternative<DType>(*dtype)) return {.dtype = std::get<DType>(*dtype)};
  return {.dtype = DType::kInt64};
}

Shapes eye(const NodeView& n) {
  const int64_t rows = n.integer("n");
  const int64_t columns = n.node.attributes.find("m") == nullptr ? rows : n.integer("m");
  if (rows < 0 || columns < 0) return broken("{} x {}", rows, columns);
  return one(Sizes{rows, columns});
}

constexpr std::array kSourceRules = {
    Rule{AtenOp::full_default, of_size, type_of_numbers},
    Rule{AtenOp::zeros_default, of_size, asked_or_default},
    Rule{AtenOp::ones_default, of_size, asked_or_default},
    Rule{AtenOp::empty_memory_format, of_size, asked_or_default},
    Rule{AtenOp::_empty_dim_order_default, of_size, asked_or_default},
    Rule{AtenOp::rand_default, of_size, asked_or_default},
    Rule{AtenOp::randn_default, of_size, asked_or_default},
    Rule{AtenOp::full_like_default, same_as_first, asked_or_same},
    Rule{AtenOp::zeros_like_default, same_as_first, asked_or_same},
    Rule{AtenOp::ones_like_default, same_as_first, asked_or_same},
    Rule{AtenOp::empty_like_default, same_as_first, asked_or_same},
    Rule{AtenOp::rand_like_default, same_as_first, asked_or_same},
    Rule{AtenOp::randn_like_default, same_as_first, asked_or_same},
    Rule{AtenOp::new_zeros_default, of_size, asked_or_same},
    Rule{AtenOp::new_ones_default, of_size, asked_or_same},
    Rule{AtenOp::new_full_default, of_size, asked_or_same},
    Rule{AtenOp::new_empty_default, of_size, asked_or_same},
    Rule{AtenOp::scalar_tensor_default, scalar, asked_or_default},
    Rule{AtenOp::arange_default, arange, type_of_numbers},
    Rule{AtenOp::arange_start, arange, type_of_numbers},
    Rule{AtenOp::arange_start_step, arange, type_of_numbers},
    Rule{AtenOp::linspace_default, linspace, asked_or_default},
    Rule{AtenOp::linspace_Tensor_Tensor, linspace, asked_or_default},
    Rule{AtenOp::linspace_Tensor_Scalar, linspace, asked_or_default},
    Rule{AtenOp::linspace_Scalar_Tensor, linspace, asked_or_default},
    Rule{AtenOp::eye_default, eye, asked_or_default},
    Rule{AtenOp::eye_m, eye, asked_or_default},
    Rule{AtenOp::hann_window_default, window, asked_or_default},
    Rule{AtenOp::hann_window_periodic, window, asked_or_default},
    Rule{AtenOp::hamming_window_default, window, asked_or_default},
    Rule{AtenOp::hamming_window_periodic, window, asked_or_default},
    Rule{AtenOp::hamming_window_periodic_alpha, window, asked_or_default},
    Rule{AtenOp::hamming_window_periodic_alpha_beta, window, asked_or_default},
    Rule{AtenOp::blackman_window_default, window, asked_or_default},
    Rule{AtenOp::blackman_window_periodic, window, asked_or_default},
    Rule{AtenOp::bartlett_window_default, window, asked_or_default},
    Rule{AtenOp::bartlett_window_periodic, window, asked_or_default},
    Rule{AtenOp::kaiser_window_default, window, asked_or_default},
    Rule{AtenOp::kaiser_window_periodic, window, asked_or_default},
    Rule{AtenOp::kaiser_window_beta, window, asked_or_default},
    Rule{AtenOp::logspace_default, linspace, asked_or_default},
    Rule{AtenOp::tril_indices_default, triangle_places, asked_or_int64},
    Rule{AtenOp::triu_indices_default, triangle_places, asked_or_int64},
};

}  // namespace

std::span<const Rule> source_rules() {
  return kSourceRules;
}

}  // namespace carina::aten
