// Result types, by PyTorch's rules of type promotion: https://docs.pytorch.org/docs/stable/tensor_attributes.html

#include <algorithm>
#include <array>

#include "frontend/pt2/verify/rule.h"

namespace carina::aten {

namespace {

using Instead = ResultType::Instead;

int category_of(DType dtype) {
  return is_float(dtype) ? 2 : dtype == DType::kBool ? 0 : 1;
}

// Types between which PyTorch promotes. The order makes the later one win, with the exceptions of promote().
constexpr std::array kOrder = {DType::kBool,  DType::kUInt8, DType::kInt8, DType::kInt16, DType::kInt32,
                               DType::kInt64, DType::kFp16,  DType::kBf16, DType::kFp32,  DType::kFp64};

// The type of a result of two operands of one kind (both with axes, or both scalars). kUnknown: not checked.
DType promote(DType a, DType b) {
  if (a == b) return a;
  const auto place_a = std::ranges::find(kOrder, a), place_b = std::ranges::find(kOrder, b);
  if (place_a == kOrder.end() || place_b == kOrder.end()) return DType::kUnknown;
  const DType low = std::min(place_a, place_b) == place_a ? a : b;
  const DType high = low == a ? b : a;
  if (low == DType::kUInt8 && high == DType::kInt8) return DType::kInt16;
  if (low == DType::kFp16 && high == DType::kBf16) return DType::kFp32;
  return high;
}

// The promoted type of all operands, and of a Python number of category `number` (-1: none).
ResultType promote_all(const NodeView& n, size_t first, int number) {
  DType with_axes = DType::kUnknown, scalars = DType::kUnknown;
  for (size_t i = first; i < n.node.inputs.size(); ++i) {
    if (!n.has(i)) continue;
    DType& kind = n.rank(i) == 0 ? scalars : with_axes;
    const DType before = kind;
    kind = before == DType::kUnknown ? n.dtype(i) : promote(before, n.dtype(i));
    if (kind == DType::kUnknown) return {.dtype = {}, .instead = Instead::kAnything};
  }
  DType dtype = with_axes;
  if (dtype == DType::kUnknown || (scalars != DType::kUnknown && category_of(scalars) > category_of(dtype)))
    dtype = scalars;
  if (dtype == DType::kUnknown) return {.dtype = {}, .instead = Instead::kAnything};
  if (number > category_of(dtype)) {
    if (number == 2) return {.dtype = DType::kFp32, .instead = Instead::kAnyFloat};
    return {.dtype = DType::kInt64, .instead = Instead::kBool};
  }
  return {.dtype = dtype, .instead = is_float(dtype) && first == 0 ? Instead::kFirstFloat : Instead::kNothing};
}

// The highest category of the numbers among the attributes that are operands.
int category_of_numbers(const NodeView& n) {
  int category = -1;
  for (const std::string_view name : {"other", "self", "exponent", "min", "max"}) {
    const ir::Attribute* number = n.node.attributes.find(name);
    if (number == nullptr) continue;
    if (std::holds_alternative<double>(*number)) category = 2;
    if (std::holds_alternative<int64_t>(*number)) category = std::max(category, 1);
  }
  return category;
}

std::optional<DType> asked(const NodeView& n) {
  const ir::Attribute* dtype = n.node.attributes.find("dtype");
  if (dtype == nullptr || !std::holds_alternative<DType>(*dtype)) return std::nullopt;
  return std::get<DType>(*dtype);
}

}  // namespace

std::expected<void, std::string> expect_one_type(const NodeView& n, size_t first, size_t last) {
  for (size_t i = first; i <= last && i < n.node.inputs.size(); ++i) {
    if (n.has(i) && n.dtype(i) != n.dtype(0))
      return broken("operands of type {} and {}", name_of(n.dtype(0)), name_of(n.dtype(i)));
  }
  return {};
}

std::expected<void, std::string> expect_floats(const NodeView& n) {
  for (size_t i = 0; i < n.node.inputs.size(); ++i) {
    if (n.has(i) && !is_float(n.dtype(i))) return broken("an operand of type {}", name_of(n.dtype(i)));
  }
  return {};
}

ResultType same_type(const NodeView& n, size_t) {
  if (!n.has(0)) return {.dtype = {}, .instead = Instead::kAnything};
  return {.dtype = n.dtype(0)};
}

ResultType promoted(const NodeView& n, size_t) {
  return promote_all(n, 0, category_of_numbers(n));
}

ResultType promoted_after_first(const NodeView& n, size_t) {
  return promote_all(n, 1, category_of_numbers(n));
}

ResultType promoted_float(const NodeView& n, size_t result) {
  const ResultType type = promoted(n, result);
  if (type.instead == Instead::kAnything || is_float(type.dtype)) return type;
  return {.dtype = DType::kFp32, .instead = Instead::kAnyFloat};
}

ResultType quotient(const NodeView& n, size_t result) {
  const ir::Attribute* mode = n.node.attributes.find("rounding_mode");
  const bool exact = mode != nullptr && std::holds_alternative<std::monostate>(*mode);
  return exact ? promoted_float(n, result) : promoted(n, result);
}

ResultType bool_type(const NodeView&, size_t) {
  return {.dtype = DType::kBool};
}

ResultType index_type(const NodeView&, size_t) {
  return {.dtype = DType::kInt64};
}

ResultType values_and_indices(const NodeView& n, size_t result) {
  return result == 0 ? same_type(n, 0) : index_type(n, result);
}

ResultType asked_or_same(const NodeView& n, size_t result) {
  const auto dtype = asked(n);
  return dtype ? ResultType{.dtype = *dtype} : same_type(n, result);
}

ResultType asked_or_sum(const NodeView& n, size_t result) {
  const auto dtype = asked(n);
  if (dtype) return {.dtype = *dtype};
  const ResultType own = same_type(n, result);
  return is_float(own.dtype) ? own : ResultType{.dtype = DType::kInt64};
}

ResultType first_same(const NodeView& n, size_t result) {
  return result == 0 ? same_type(n, result) : unchecked_type(n, result);
}

ResultType unchecked_type(const NodeView&, size_t) {
  return {.dtype = {}, .instead = Instead::kAnything};
}

}  // namespace carina::aten
