// Declares Diagnostic, the one type of message to the user, and Result, a value or diagnostics.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace carina {

// The origin of an error. The command line turns it into an exit code.
enum class Fault {
  kInput,        // the user's model or file: exit code 1
  kUsage,        // the command line or an option: exit code 2
  kEnvironment,  // the disk, memory or a missing program: exit code 1
  kInternal,     // Carina itself: exit code 3
};

enum class Severity { kError, kWarning, kNote };

// "error", "warning" or "note".
const char* name_of(Severity severity);
// "input", "usage", "environment" or "internal", as JSON spells it; "unknown" for a value that is no enumerator.
std::string_view name_of(Fault fault) noexcept;

// One message to the user: what is wrong, where, what was expected, what was found, what to do. Empty fields are not
// printed.
struct Diagnostic {
  std::string where;  // file, node, line of the user's model: "model.pt2: conv_7 (model.py:41)"
  std::string what;
  std::string expected = {};
  std::string got = {};
  std::string hint = {};
  Fault fault = Fault::kInput;
  Severity severity = Severity::kError;
  std::optional<size_t> node = {};  // index of the node in the given graph, if the message is about one node
};

using Diagnostics = std::vector<Diagnostic>;

// A value, or all the reasons why there is none.
template <typename T>
using Result = std::expected<T, Diagnostics>;

// Makes the failed Result of one diagnostic: return fail({.where = ..., .what = ...}).
[[nodiscard]] inline std::unexpected<Diagnostics> fail(Diagnostic diagnostic) {
  Diagnostics all;
  all.push_back(std::move(diagnostic));
  return std::unexpected(std::move(all));
}

// Makes the failed Result of several diagnostics.
[[nodiscard]] inline std::unexpected<Diagnostics> fail(Diagnostics diagnostics) {
  return std::unexpected(std::move(diagnostics));
}

// Formats a message for the user: "where: what: expected E, got G", and the hint on the next line.
std::string to_string(const Diagnostic& diagnostic);
// Formats each message, separated by newlines.
std::string to_string(const Diagnostics& diagnostics);

}  // namespace carina

#define CARINA_CONCAT_(a, b) a##b
#define CARINA_CONCAT(a, b) CARINA_CONCAT_(a, b)

// CARINA_TRY(auto x, f()) sets x = *f(), or returns f's diagnostics from the enclosing function.
#define CARINA_TRY(declaration, expression)                                   \
  auto CARINA_CONCAT(try_, __LINE__) = (expression);                          \
  if (!CARINA_CONCAT(try_, __LINE__)) {                                       \
    return std::unexpected(std::move(CARINA_CONCAT(try_, __LINE__)).error()); \
  }                                                                           \
  declaration = *std::move(CARINA_CONCAT(try_, __LINE__))

// CARINA_CHECKED(f()) returns f's diagnostics from the enclosing function if f, a Result<void>, failed.
#define CARINA_CHECKED(expression)                                                                 \
  do {                                                                                             \
    if (auto checked = (expression); !checked) return std::unexpected(std::move(checked).error()); \
  } while (false)
