#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "report/render.h"

namespace carina::cli {

// What all subcommands share.
struct Console {
  bool json = false;
  bool quiet = false;    // no report, notes and progress: errors, warnings and JSON alone
  bool verbose = false;  // a line of standard error for each step
  int threads = 1;
  std::vector<std::string> arguments = {};  // the command line, without the program's name

  // The sink of the libraries' notes and progress. Notes go to stderr. Progress goes to stderr if it is a terminal or
  // --verbose is given, and is dropped otherwise.
  [[nodiscard]] Log log() const;
};

// Prints each error on stderr as "carina: ...". Returns the exit code, as report_failure().
int print_errors(const Diagnostics& errors);

// Reports why a command gave no result: each error on stderr as "carina: ...". With --json, also an object with "file",
// "status" and "errors" on stdout. Returns the exit code: 1 for wrong input or a failed environment, 2 for usage, 3 for
// an internal error, whose command is repeated for a report. Removes what the command has written so far.
int report_failure(const std::string& file, const Diagnostics& errors, const Console& console);

// Prints `text` on stdout. Errors: stdout is closed, or its disk is full.
Result<void> print(const std::string& text);

// Prints the report of a command, if the user did not ask for silence.
Result<void> print_report(const std::string& text, const Console& console);

// Prints the result of a command on `file`, or its errors. Returns the exit code.
int finish(const std::string& file, const Result<std::string>& text, const Console& console);

// The report as JSON, for --json.
template <typename Report>
Result<std::string> shown(const Result<Report>& report, const Console& console) {
  if (!report) return std::unexpected(report.error());
  return console.json ? report::to_json(*report) : report::to_text(*report);
}

// A subcommand. It adds its options to `app`, and sets `action` if the user calls it.
struct Command {
  const char* name;
  const char* summary;
  const char* examples;  // shown at the end of --help
  void (*add_options)(CLI::App& app, Console& console, std::function<int()>& action);
  bool reads_all = false;  // it prints the options of all commands
};

// The subcommands in the order of --help, with one file each in this folder.
extern const Command kAccuracy;
extern const Command kAot;
extern const Command kArmRun;
extern const Command kArmBuild;
extern const Command kCalibrateBoard;
extern const Command kCompare;
extern const Command kCompile;
extern const Command kCompletion;
extern const Command kDisasm;
extern const Command kEvaluateModel;
extern const Command kExplain;
extern const Command kFirmware;
extern const Command kInspect;
extern const Command kInterpret;
extern const Command kManual;
extern const Command kNpu;
extern const Command kOps;
extern const Command kQemu;
extern const Command kRun;
extern const Command kSweep;
extern const Command kTargets;
extern const Command kTosa;
extern const Command kVela;

}  // namespace carina::cli
