#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/io/output_file.h"
#include "base/system/terminal.h"
#include "command.h"
#include "report/failure_report.h"

// What commands print: notes and progress on stderr, reports on stdout, errors with their exit code.
namespace carina::cli {

namespace {

enum class Counted : uint8_t { kNo, kEach, kPercent };

// The user's text for each step of the libraries. The many passes over the graph share one text.
struct Stage {
  std::string_view step;
  std::string_view label;
  Counted counted = Counted::kNo;
};
constexpr std::array kStages{Stage{.step = "read", .label = "reading the model"},
                             Stage{.step = "calibrate", .label = "calibrating", .counted = Counted::kEach},
                             Stage{.step = "quantize", .label = "quantizing"},
                             Stage{.step = "compile for the NPU", .label = "compiling part", .counted = Counted::kEach},
                             Stage{.step = "sweep", .label = "compiled combination", .counted = Counted::kEach},
                             Stage{.step = "sample", .label = "sample", .counted = Counted::kEach},
                             Stage{.step = "select", .label = "choosing NPU operations"},
                             Stage{.step = "blocks", .label = "choosing block sizes"},
                             Stage{.step = "weights", .label = "encoding weights"},
                             Stage{.step = "encode", .label = "encoding weights", .counted = Counted::kPercent},
                             Stage{.step = "memory", .label = "allocating memory for tensors"},
                             Stage{.step = "emit", .label = "writing commands"},
                             Stage{.step = "estimate", .label = "estimating cycles"},
                             Stage{.step = "write", .label = "writing the program"}};

Stage stage_of(std::string_view step) {
  const auto* stage = std::ranges::find(kStages, step, &Stage::step);
  return stage == kStages.end() ? Stage{.step = step, .label = "simplifying the model"} : *stage;
}

}  // namespace

std::string_view stage_label(std::string_view step) {
  return stage_of(step).label;
}

namespace {

std::string stage_text(std::string_view step, size_t done, size_t total) {
  const Stage stage = stage_of(step);
  if (stage.counted == Counted::kEach && total > 0) return fmt::format("{} {}/{}", stage.label, done + 1, total);
  if (stage.counted == Counted::kPercent && total > 0) return fmt::format("{} {} %", stage.label, 100 * done / total);
  return std::string(stage.label);
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
    fmt::print(stderr, "carina: {}: {}\n", name_of(diagnostic.severity), to_string(diagnostic));
  };
  if (stderr_is_terminal()) {
    log.progress = [](std::string_view step, size_t done, size_t total) {
      fmt::print(stderr, "\r\x1b[K{}", stage_text(step, done, total));
      if (done + 1 >= total) fmt::print(stderr, "\r\x1b[K");
      std::fflush(stderr);
    };
  }
  return log;
}

int report_failure(const std::string& file, const Diagnostics& errors, const Console& console) {
  remove_new_files();
  // the error is on stderr and in the exit code too
  if (console.json) static_cast<void>(print(report::to_json(file, errors)));
  int code = 1;
  for (const Diagnostic& error : errors) {
    fmt::print(stderr, "carina: {}: {}\n", name_of(error.severity), to_string(error));
    code = std::max(code, exit_code(error.fault));
  }
  return code;
}

Result<void> print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return {};
  if (errno == EPIPE) return {};  // `carina ops | head`: the reader has what it wanted
  return fail({.where = "standard output",
               .what = fmt::format("cannot write: {}", std::strerror(errno)),
               .fault = Fault::kEnvironment});
}

int finish(const std::string& file, const Result<std::string>& text, const Console& console) {
  if (!text) return report_failure(file, text.error(), console);
  const Result<void> printed = print(*text);
  return printed ? 0 : report_failure(file, printed.error(), console);
}

}  // namespace carina::cli
