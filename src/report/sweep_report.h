#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "carina/result.h"
#include "results/sweep_report.h"

namespace carina::report {

std::string to_text(const results::SweepReport& report);
std::string to_csv(const results::SweepReport& report);
std::string to_json(const results::SweepReport& report);
// Reads the output of to_json(): to_json(read_sweep(json)) == json. `name` is its name in messages. Errors: other JSON.
Result<results::SweepReport> read_sweep(std::string_view json, const std::string& name);

}  // namespace carina::report
