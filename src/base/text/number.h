// Parses numbers.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace carina {

// Parses the whole text as a number with std::from_chars(): no blanks, no '+', no locale. Returns no value if the text
// is not a number or the type cannot hold it.
template <std::integral T>
std::optional<T> number_in(std::string_view text, int base = 10) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// Parses float and double, including inf and nan.
template <std::floating_point T>
std::optional<T> number_in(std::string_view text);

}  // namespace carina
