#pragma once

#include <string>
#include <vector>

#include "report/tables/sweep_json.h"
#include "results/sweep_report.h"

namespace carina::report {

// The rows of several models in one report.
results::SweepReport joined(std::vector<results::SweepReport> reports);

std::string to_text(const results::SweepReport& report);
std::string to_csv(const results::SweepReport& report);

}  // namespace carina::report
