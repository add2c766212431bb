// Declares CARINA_CHECK, the check of internal invariants, and the exception that it throws.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace carina {

// Reports a bug in Carina that a check found. Only the driver, the tools (exit code 3) and the bindings catch it. It
// never ends the caller's process.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws InternalError with "file:line: condition: message". Use it only for bugs in Carina, never for a user's input.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);

}  // namespace carina

// CARINA_CHECK(condition, "format", arguments...) checks an invariant of Carina that must hold for every input.
#define CARINA_CHECK(condition, ...)                                                         \
  do {                                                                                       \
    if (!(condition)) [[unlikely]]                                                           \
      ::carina::check_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
  } while (false)

// CARINA_UNREACHABLE("element type", value) throws InternalError at a point that no valid value reaches.
#define CARINA_UNREACHABLE(what, value) \
  ::carina::check_failed(__FILE__, __LINE__, "unreachable", ::fmt::format("{} {}", what, static_cast<long long>(value)))
