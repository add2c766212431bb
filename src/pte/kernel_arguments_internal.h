#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace carina::pte {

// One argument of a kernel row, parsed. facts/executorch.h defines the words.
struct KernelArgument {
  enum class Kind : uint8_t { kOperand, kAllOperands, kNone, kFlag, kInteger, kIntegers, kAttribute };
  Kind kind = Kind::kNone;
  size_t operand = 0;                // kOperand
  bool flag = false;                 // kFlag
  std::array<int64_t, 4> numbers{};  // kInteger, kIntegers
  size_t count = 0;                  // of numbers
  std::string_view attribute = {};   // kAttribute
};

// Parses "3", "-1" or "0,0". Returns false for any other text.
constexpr bool parse_numbers(std::string_view text, KernelArgument& argument) {
  while (true) {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    if (text.empty() || argument.count == argument.numbers.size()) return false;
    int64_t number = 0;
    for (; !text.empty() && text.front() != ','; text.remove_prefix(1)) {
      if (text.front() < '0' || text.front() > '9' || number > 1'000'000'000) return false;
      number = number * 10 + (text.front() - '0');
    }
    argument.numbers[argument.count++] = negative ? -number : number;
    if (text.empty()) return true;
    text.remove_prefix(1);
  }
}

// Parses the text after '='.
constexpr std::optional<KernelArgument> parse_literal(std::string_view text) {
  using Kind = KernelArgument::Kind;
  if (text == "None") return KernelArgument{.kind = Kind::kNone};
  if (text == "true" || text == "false") return KernelArgument{.kind = Kind::kFlag, .flag = text == "true"};
  const bool is_list = text.size() > 2 && text.front() == '[' && text.back() == ']';
  KernelArgument argument{.kind = is_list ? Kind::kIntegers : Kind::kInteger};
  const bool good = parse_numbers(is_list ? text.substr(1, text.size() - 2) : text, argument);
  return good && (is_list || argument.count == 1) ? std::optional(argument) : std::nullopt;
}

// Parses one word of a row. Returns no value for an invalid word.
constexpr std::optional<KernelArgument> parse_argument(std::string_view word) {
  using Kind = KernelArgument::Kind;
  if (word.starts_with('=')) return parse_literal(word.substr(1));
  if (word == "%*") return KernelArgument{.kind = Kind::kAllOperands};
  if (word.starts_with('%')) {
    KernelArgument argument{.kind = Kind::kOperand};
    if (!parse_numbers(word.substr(1), argument) || argument.count != 1 || argument.numbers[0] < 0) return std::nullopt;
    argument.operand = static_cast<size_t>(argument.numbers[0]);
    return argument;
  }
  for (const char c : word) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c != '_' && !letter && (c < '0' || c > '9')) return std::nullopt;
  }
  return word.empty() ? std::nullopt : std::optional(KernelArgument{.kind = Kind::kAttribute, .attribute = word});
}

// Calls function(argument) for each word of a row. Returns false if the row has an invalid word.
template <typename Function>
constexpr bool for_each_argument(std::string_view row, const Function& function) {
  while (!row.empty()) {
    const size_t end = row.find(' ') == std::string_view::npos ? row.size() : row.find(' ');
    const std::optional<KernelArgument> argument = parse_argument(row.substr(0, end));
    if (!argument) return false;
    function(*argument);
    row.remove_prefix(end == row.size() ? end : end + 1);
  }
  return true;
}

}  // namespace carina::pte
