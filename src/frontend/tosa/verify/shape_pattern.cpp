#include <fmt/format.h>

#include <algorithm>

#include "base/checked_math.h"
#include "base/text/number.h"
#include "frontend/tosa/verify/shape_pattern_internal.h"

namespace carina::tosa {

namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  }) && !(text[0] >= '0' && text[0] <= '9');
}

}  // namespace

std::optional<std::string> ShapePattern::match(std::string_view operand, std::string_view text, const Shape& shape) {
  if (text.empty()) return std::nullopt;
  if (!text.starts_with('[')) return match_whole(operand, text, shape);
  std::string_view rest = text.substr(1, text.size() - 2);
  for (size_t axis = 0; axis < shape.rank(); ++axis) {
    const size_t comma = std::min(rest.find(','), rest.size());
    if (auto wrong = match_size(operand, trimmed(rest.substr(0, comma)), shape[axis])) return wrong;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return std::nullopt;
}

std::optional<std::string> ShapePattern::match_whole(std::string_view operand, std::string_view name,
                                                     const Shape& shape) {
  const auto known = shapes_.find(name);
  if (known == shapes_.end()) {
    shapes_.emplace(std::string(name), Whole{.shape = shape, .operand = std::string(operand)});
    return std::nullopt;
  }
  if (known->second.shape == shape) return std::nullopt;
  return fmt::format("{} of {}, but {} of {}", carina::to_string(shape), operand,
                     carina::to_string(known->second.shape), known->second.operand);
}

std::optional<std::string> ShapePattern::match_size(std::string_view operand, std::string_view entry, int64_t size) {
  if (is_name(entry) && entry != "rank") {
    const auto known = sizes_.find(entry);
    if (known == sizes_.end()) {
      sizes_.emplace(std::string(entry), Size{.value = size, .operand = std::string(operand)});
      return std::nullopt;
    }
    if (known->second.value == size) return std::nullopt;
    return fmt::format("{} is {} in {}, but {} in {}", entry, size, operand, known->second.value,
                       known->second.operand);
  }
  const auto wanted = evaluate(entry);
  if (!wanted || *wanted == size) return std::nullopt;
  return fmt::format("{} is {} in {}, but must be {}", entry, size, operand, *wanted);
}

// Evaluates a sum of products and quotients, the only forms in the specification: "a*b", "a/b + c".
std::optional<int64_t> ShapePattern::evaluate(std::string_view expression) const {
  if (const size_t plus = expression.find('+'); plus != std::string_view::npos) {
    const auto left = evaluate(trimmed(expression.substr(0, plus)));
    const auto right = evaluate(trimmed(expression.substr(plus + 1)));
    return left && right ? checked_add(*left, *right) : std::nullopt;
  }
  const size_t sign = expression.find_first_of("*/");
  if (sign == std::string_view::npos) return factor(expression);
  const auto left = factor(trimmed(expression.substr(0, sign)));
  const auto right = factor(trimmed(expression.substr(sign + 1)));
  if (!left || !right) return std::nullopt;
  if (expression[sign] == '*') return checked_mul(*left, *right);
  return *right == 0 ? std::nullopt : std::optional(*left / *right);
}

std::optional<int64_t> ShapePattern::factor(std::string_view text) const {
  if (const auto number = number_in<int64_t>(text)) return *number;
  if (text.starts_with("rank(") && text.ends_with(')')) {
    const auto shape = shapes_.find(text.substr(5, text.size() - 6));
    return shape == shapes_.end() ? std::nullopt : std::optional(static_cast<int64_t>(shape->second.shape.rank()));
  }
  const auto size = sizes_.find(text);
  return size == sizes_.end() ? std::nullopt : std::optional(size->second.value);
}

}  // namespace carina::tosa
