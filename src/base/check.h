#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace carina {

// A mistake of ours, found by a check. Driver, tools (exit code 3) and bindings catch it; nobody else does, and it
// never ends the caller's process.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws InternalError with "file:line: condition: message". Only for our own mistakes, never for a user's input.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);

}  // namespace carina

// CARINA_CHECK(condition, "format", arguments...): an invariant of ours that must hold whatever the input.
#define CARINA_CHECK(condition, ...)                                                         \
  do {                                                                                       \
    if (!(condition)) [[unlikely]]                                                           \
      ::carina::check_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
  } while (false)

#define CARINA_UNREACHABLE(what, value) \
  ::carina::check_failed(__FILE__, __LINE__, "unreachable", ::fmt::format("{} {}", what, static_cast<long long>(value)))
