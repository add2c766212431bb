#include "carina/result.h"

#include <fmt/format.h>

#include "carina/check.h"

namespace carina {

const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  CARINA_UNREACHABLE("severity", static_cast<int>(severity));
}

std::string_view name_of(Fault fault) noexcept {
  switch (fault) {
    case Fault::kInput:
      return "input";
    case Fault::kUsage:
      return "usage";
    case Fault::kEnvironment:
      return "environment";
    case Fault::kInternal:
      return "internal";
  }
  return "unknown";
}

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = diagnostic.where.empty() ? diagnostic.what : diagnostic.where + ": " + diagnostic.what;
  if (!diagnostic.expected.empty()) text += ": expected " + diagnostic.expected;
  if (!diagnostic.got.empty()) text += (diagnostic.expected.empty() ? ": got " : ", got ") + diagnostic.got;
  if (!diagnostic.hint.empty()) text += "\n  " + diagnostic.hint;
  return text;
}

std::string to_string(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    text += to_string(diagnostic);
  }
  return text;
}

}  // namespace carina
