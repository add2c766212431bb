#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "command.h"
#include "report/verify_report.h"

namespace carina::cli {

namespace {

const char* label(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "";
}

int exit_code(Fault fault) {
  switch (fault) {
    case Fault::kInput:
    case Fault::kEnvironment:
      return 1;
    case Fault::kUsage:
      return 2;
    case Fault::kInternal:
      return 3;
  }
  return 3;
}

}  // namespace

Log Console::log() const {
  Log log;
  log.note = [](const Diagnostic& diagnostic) {
    fmt::print(stderr, "carina: {}: {}\n", label(diagnostic.severity), to_string(diagnostic));
  };
  if (::isatty(STDERR_FILENO) == 1) {
    log.progress = [](std::string_view step, size_t done, size_t total) {
      if (total > 0) {
        fmt::print(stderr, "\r\x1b[K{} {}/{}", step, done + 1, total);
      } else {
        fmt::print(stderr, "\r\x1b[K{}", step);
      }
      if (done + 1 >= total) fmt::print(stderr, "\r\x1b[K");
      std::fflush(stderr);
    };
  }
  return log;
}

int report_errors(const Diagnostics& errors) {
  int code = 1;
  for (const Diagnostic& error : errors) {
    fmt::print(stderr, "carina: {}: {}\n", label(error.severity), to_string(error));
    code = std::max(code, exit_code(error.fault));
  }
  return code;
}

int report_failure(const std::string& file, const Diagnostics& errors, const Console& console) {
  if (console.json) print(report::to_json(file, errors));
  return report_errors(errors);
}

int print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? 0 : 1;
}

}  // namespace carina::cli
