#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "report/render.h"

namespace carina::cli {

// What every subcommand shares.
struct Console {
  bool json = false;
  int threads = 1;
  std::vector<std::string> arguments = {};  // the command line, without the program's name

  // Where the libraries' notes and progress go: notes to stderr; progress to stderr when it is a terminal, else
  // nowhere.
  [[nodiscard]] Log log() const;
};

// What a step of Log::progress is called for people.
std::string_view stage_label(std::string_view step);

// Says why a command gave no result: each error on stderr as "carina: ..."; with --json also an object with "file",
// "status" and "errors" on stdout, for programs. Returns the exit code: 1 the input or the environment is at fault, 2
// usage, 3 internal.
int report_failure(const std::string& file, const Diagnostics& errors, const Console& console);

// Prints `text` on stdout. Errors: stdout is closed, or its disk is full.
Result<void> print(const std::string& text);

// The exit code of a command whose result on `file` is this: its text is printed, or why there is none.
int finish(const std::string& file, const Result<std::string>& text, const Console& console);

// A report as --json asks for it.
template <typename Report>
Result<std::string> shown(const Result<Report>& report, const Console& console) {
  if (!report) return std::unexpected(report.error());
  return console.json ? report::to_json(*report) : report::to_text(*report);
}

// A subcommand: adds its options to `app` and sets `action` when it is called.
struct Command {
  const char* name;
  const char* summary;
  const char* examples;  // shown at the end of --help
  void (*add_options)(CLI::App& app, Console& console, std::function<int()>& action);
};

// In the order of --help; each is one file of this folder.
extern const Command kAccuracy;
extern const Command kAot;
extern const Command kArmRun;
extern const Command kCalibrateBoard;
extern const Command kCompare;
extern const Command kCompile;
extern const Command kDisasm;
extern const Command kEvaluateModel;
extern const Command kExplain;
extern const Command kFirmware;
extern const Command kInspect;
extern const Command kInterpret;
extern const Command kNpu;
extern const Command kOps;
extern const Command kQemu;
extern const Command kRun;
extern const Command kSweep;
extern const Command kTargets;
extern const Command kTosa;

}  // namespace carina::cli
