#pragma once

#include <string>

#include "report/tables/sweep_json.h"
#include "results/sweep_report.h"

namespace carina::report {

// Prints the table of a sweep, and the same table as CSV.
std::string to_text(const results::SweepReport& report);
std::string to_csv(const results::SweepReport& report);

}  // namespace carina::report
