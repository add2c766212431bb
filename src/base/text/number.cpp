#include "base/text/number.h"

// libc++ supports floats in from_chars() since LLVM 20.
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <string>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

namespace carina {
namespace {

locale_t c_locale() {
  static const locale_t kLocale = ::newlocale(LC_ALL_MASK, "C", nullptr);
  return kLocale;
}

float read(const char* text, char** end, float) {
  return ::strtof_l(text, end, c_locale());
}
double read(const char* text, char** end, double) {
  return ::strtod_l(text, end, c_locale());
}

}  // namespace

template <std::floating_point T>
std::optional<T> number_in(std::string_view text) {
  // Rejects what strtod() accepts but from_chars() does not: blanks, + and hexadecimal digits. An x does not occur in
  // inf, nan or decimal digits.
  if (text.empty() || text.find_first_of(" \t\n\v\f\rxX") != std::string_view::npos || text.front() == '+')
    return std::nullopt;
  const std::string terminated(text);
  char* end = nullptr;
  const T number = read(terminated.c_str(), &end, T());
  if (end != terminated.c_str() + terminated.size()) return std::nullopt;
  // The value is out of range if digits give infinity or 0 without being an infinity or a zero.
  const bool is_named = text.find_first_of("iInN") != std::string_view::npos;
  if (std::isinf(number) && !is_named) return std::nullopt;
  const std::string_view digits = text.substr(0, text.find_first_of("eE"));
  if (number == 0 && digits.find_first_of("123456789") != std::string_view::npos) return std::nullopt;
  return number;
}

template std::optional<float> number_in<float>(std::string_view text);
template std::optional<double> number_in<double>(std::string_view text);

}  // namespace carina
#else
namespace carina {

template <std::floating_point T>
std::optional<T> number_in(std::string_view text) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

template std::optional<float> number_in<float>(std::string_view text);
template std::optional<double> number_in<double>(std::string_view text);

}  // namespace carina
#endif
