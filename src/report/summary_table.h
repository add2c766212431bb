#pragma once

#include <string>

#include "report/compile_report.h"

namespace carina::report {

// Returns one row about the whole network, with the columns of Vela's <network>_summary_<system>.csv. The delegates'
// layers must be present. Unknown values (the bytes of weights before encoding) are empty cells.
std::string summary_table(const results::CompileReport& report);

}  // namespace carina::report
