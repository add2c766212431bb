#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/io/output_file.h"
#include "base/system/terminal.h"
#include "command.h"
#include "report/render.h"
#include "report/stage_text.h"

// What commands print: notes and progress on stderr, reports on stdout, errors with their exit code.
namespace carina::cli {

namespace {

constexpr int kInternalError = 3;

// The command line as a shell takes it.
std::string command_line(const std::vector<std::string>& arguments) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=+,@%";
  std::string line = "carina";
  for (const std::string& argument : arguments) {
    if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) {
      line += " " + argument;
      continue;
    }
    line += " '";
    for (const char c : argument) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += "'";
  }
  return line;
}

// "error" in red, "warning" in yellow, where standard error has colors.
std::string colored_name(Severity severity) {
  static const bool has_colors = stderr_has_colors();
  if (!has_colors || severity == Severity::kNote) return name_of(severity);
  return fmt::format("\x1b[1;{}m{}\x1b[0m", severity == Severity::kError ? 31 : 33, name_of(severity));
}

// Shows steps on one line of the terminal, at most ten times a second: a step that lasts less is not seen anyway.
class ProgressLine {
 public:
  void show(std::string_view step, size_t done, size_t total) {
    const std::scoped_lock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    const bool is_last = done + 1 >= total;
    if (is_last && shown_) clear();
    if (is_last || now - last_ < kInterval) return;
    last_ = now;
    shown_ = true;
    fmt::print(stderr, "\r\x1b[K{}", report::stage_text(step, done, total));
    std::fflush(stderr);
  }

 private:
  static constexpr std::chrono::milliseconds kInterval{100};

  void clear() {
    shown_ = false;
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
  }

  std::mutex mutex_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool shown_ = false;
};

// Prints a line when a step begins, with the seconds since the start: for logs, and to see where time goes.
class StepLines {
 public:
  void show(std::string_view step, size_t done, size_t total) {
    const std::scoped_lock lock(mutex_);
    const std::string_view label = report::stage_label(step);
    if (label == last_) return;
    last_ = label;
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - began_;
    fmt::print(stderr, "carina: {:7.3f} s: {}\n", since.count(), report::stage_text(step, done, total));
  }

 private:
  std::mutex mutex_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::string_view last_;
};

int exit_code(Fault fault) {
  switch (fault) {
    case Fault::kInput:
    case Fault::kEnvironment:
      return 1;
    case Fault::kUsage:
      return 2;
    case Fault::kInternal:
      return kInternalError;
  }
  return kInternalError;
}

}  // namespace

Log Console::log() const {
  Log log;
  log.note = [drop_notes = quiet](const Diagnostic& diagnostic) {
    if (drop_notes && diagnostic.severity == Severity::kNote) return;
    fmt::print(stderr, "carina: {}: {}\n", colored_name(diagnostic.severity), to_string(diagnostic));
  };
  if (verbose) {
    log.progress = [lines = std::make_shared<StepLines>()](std::string_view step, size_t done, size_t total) {
      lines->show(step, done, total);
    };
  } else if (stderr_is_terminal() && !quiet) {
    log.progress = [line = std::make_shared<ProgressLine>()](std::string_view step, size_t done, size_t total) {
      line->show(step, done, total);
    };
  }
  return log;
}

int print_errors(const Diagnostics& errors) {
  int code = 1;
  for (const Diagnostic& error : errors) {
    fmt::print(stderr, "carina: {}: {}\n", colored_name(error.severity), to_string(error));
    code = std::max(code, exit_code(error.fault));
  }
  return code;
}

int report_failure(const std::string& file, const Diagnostics& errors, const Console& console) {
  remove_new_files();
  // the error is on stderr and in the exit code too
  if (console.json) static_cast<void>(print(report::to_json(file, errors)));
  const int code = print_errors(errors);
  if (code == kInternalError) fmt::print(stderr, "  to reproduce it: {}\n", command_line(console.arguments));
  return code;
}

Result<void> print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return {};
  if (errno == EPIPE) return {};  // `carina ops | head`: the reader has what it wanted
  return fail({.where = "standard output",
               .what = fmt::format("cannot write: {}", std::strerror(errno)),
               .fault = Fault::kEnvironment});
}

Result<void> print_report(const std::string& text, const Console& console) {
  return console.quiet && !console.json ? Result<void>{} : print(text);
}

int finish(const std::string& file, const Result<std::string>& text, const Console& console) {
  if (!text) return report_failure(file, text.error(), console);
  const Result<void> printed = print_report(*text, console);
  return printed ? 0 : report_failure(file, printed.error(), console);
}

}  // namespace carina::cli
