#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "command.h"
#include "report/run_report.h"

namespace carina::cli {

// --all, of the subcommands that show what an NPU did.
inline void add_all_option(CLI::App& app, report::LayerRows& rows) {
  app.add_flag_callback(
      "--all", [&rows] { rows = report::LayerRows::kEach; },
      "With --timed, a row for each operation of the NPU; default: one for the operations of a layer together");
}

inline Result<std::string> shown_run(const Result<report::RunReport>& report, report::LayerRows rows,
                                     const Console& console) {
  if (!report) return std::unexpected(report.error());
  return console.json ? to_json(*report) : to_text(*report, rows);
}

}  // namespace carina::cli
