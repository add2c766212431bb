#pragma once

#include <string>

#include "report/accuracy_report.h"
#include "report/compare_report.h"
#include "report/compile_report.h"
#include "report/layer_accuracy_report.h"
#include "report/run_report.h"
#include "report/sweep_report.h"

// Reports as pages: one HTML file each, which loads nothing, follows the reader's light or dark theme, and holds exactly what
// to_json() gives as its data. docs/adr/0066 says how.
namespace carina::report {

enum class CompilePage { kCompile, kExplain };
std::string to_html(const CompileReport& report, CompilePage page);
std::string to_html(const RunReport& report);
std::string to_html(const CompareReport& report);
std::string to_html(const AccuracyReport& report);
std::string to_html(const LayerAccuracyReport& report);
std::string to_html(const SweepReport& report);

}  // namespace carina::report
