#pragma once

#include <string>

#include "report/compile_report.h"

namespace carina::report {

// One row about the whole network, under the columns of the file that Vela writes (<network>_summary_<system>.csv).
// Needs the delegates' layers. What is not known (the bytes of weights before they were encoded) is an empty cell.
std::string summary_table(const results::CompileReport& report);

}  // namespace carina::report
