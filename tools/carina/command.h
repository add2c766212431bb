#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <thread>

#include "base/diagnostic.h"
#include "base/log.h"

namespace carina::cli {

// What every subcommand shares.
struct Console {
  bool json = false;
  int threads = 1;

  // Where the libraries' notes and progress go: notes to stderr; progress to stderr when it is a terminal, else
  // nowhere.
  [[nodiscard]] Log log() const;
};

// Prints errors on stderr, each as "carina: ..."; returns the exit code: 1 the input or the environment is at fault, 2
// usage, 3 internal.
int report_errors(const Diagnostics& errors);

// The same for a command whose result on `file` may be asked for as JSON: with --json also prints on stdout an object
// with "file", "status" and "errors", for programs that need to know why there is no result.
int report_failure(const std::string& file, const Diagnostics& errors, const Console& console);

// Prints `text` on stdout; 0, or 1 when stdout cannot take it.
int print(const std::string& text);

// A subcommand: adds its options to `app` and sets `action` when it is called.
struct Command {
  const char* name;
  const char* summary;
  const char* examples;  // shown at the end of --help
  void (*add_options)(CLI::App& app, Console& console, std::function<int()>& action);
};

// In the order of --help; each is one file of this folder.
extern const Command kAccuracy;
extern const Command kCompile;
extern const Command kDisasm;
extern const Command kExplain;
extern const Command kInspect;
extern const Command kInterpret;
extern const Command kNpu;
extern const Command kOps;
extern const Command kRun;
extern const Command kTosa;

}  // namespace carina::cli
