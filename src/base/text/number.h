#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace carina {

// The number that the whole of a text is, as std::from_chars() reads it: no blanks, no +, no locale. None: it is
// something else, or the type cannot hold it.
template <std::integral T>
std::optional<T> number_in(std::string_view text, int base = 10) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// float and double; also inf and nan.
template <std::floating_point T>
std::optional<T> number_in(std::string_view text);

}  // namespace carina
