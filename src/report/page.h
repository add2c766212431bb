#pragma once

#include <string>

#include "report/accuracy_report.h"
#include "report/compare_report.h"
#include "report/compile_report.h"
#include "report/layer_accuracy_report.h"
#include "report/run_report.h"
#include "report/sweep_report.h"

// Renders reports as HTML pages. A page is one file, loads nothing, follows the reader's light or dark theme, and
// contains exactly the data of to_json(). docs/adr/0041 gives the design.
namespace carina::report {

enum class CompilePage { kCompile, kExplain };
std::string to_html(const results::CompileReport& report, CompilePage page);
std::string to_html(const results::RunReport& report);
std::string to_html(const results::CompareReport& report);
std::string to_html(const results::AccuracyReport& report);
std::string to_html(const results::LayerAccuracyReport& report);
std::string to_html(const results::SweepReport& report);

}  // namespace carina::report
