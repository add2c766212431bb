#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

#include "base/io/file.h"
#include "command.h"
#include "help_text.h"
#include "option_values.h"
#include "report/render.h"
#include "report/tables/layer_table.h"

namespace carina::cli {

// Adds --all, for subcommands that show the operations of an NPU.
inline void add_all_option(CLI::App& app, report::LayerRows& rows) {
  app.add_flag_callback(
         "--all", [&rows] { rows = report::LayerRows::kEach; },
         "In the table of layers: one row per NPU operation. Default: one row per layer")
      ->group(section::kReports);
}

// Adds --per-layer, for subcommands that report the cycles of an NPU.
inline void add_layers_option(CLI::App& app, std::string& file) {
  app.add_option("--per-layer,--csv", file,
                 "Write a table of the layers: cycles by cause, traffic by memory, live SRAM. Format: .csv (with "
                 "Vela's columns), .json, or text")
      ->group(section::kReports)
      ->check(path());
}

// Writes the table of --per-layer, if it is requested.
inline Result<void> write_layers(const std::string& file, const results::NpuReport& npu, report::LayerRows rows) {
  if (file.empty()) return {};
  const std::string table = report::layer_table({npu}, rows, report::form_of(file));
  return write_file(file, std::as_bytes(std::span(table)));
}

inline Result<std::string> shown_run(const Result<results::RunReport>& report, report::LayerRows rows,
                                     const Console& console) {
  if (!report) return std::unexpected(report.error());
  return console.json ? report::to_json(*report) : report::to_text(*report, rows);
}

}  // namespace carina::cli
