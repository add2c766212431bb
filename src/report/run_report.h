// Renders the reports of `carina run` and `carina interpret`. to_text() is for a reader, to_json() for a program.
#pragma once

#include <string>
#include <vector>

#include "report/tables/layers.h"
#include "results/run_report.h"

namespace carina::report {

std::string to_text(const results::TestsReport& tests);

std::string to_text(const results::RunReport& report, LayerRows rows = LayerRows::kFolded);
std::string to_json(const results::RunReport& report);  // with each operation

std::string to_text(const results::InterpretReport& report);
std::string to_json(const results::InterpretReport& report);

}  // namespace carina::report
