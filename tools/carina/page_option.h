#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

#include "base/io/file.h"
#include "help_text.h"
#include "option_values.h"
#include "report/render.h"

namespace carina::cli {

// Adds --report, for subcommands whose report can be an HTML page.
inline void add_page_option(CLI::App& app, std::string& file) {
  app.add_option("--report", file,
                 "Write the report as one HTML page with plots. The page loads nothing from a network")
      ->group(section::kReports)
      ->check(path());
}

// Writes the page to the requested file. `make` returns its text.
template <typename Report>
Result<void> write_page(const std::string& file, const Report& report) {
  if (file.empty()) return {};
  return write_file(file, report::to_html(report));
}

}  // namespace carina::cli
