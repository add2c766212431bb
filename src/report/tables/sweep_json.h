#pragma once

#include <string>
#include <string_view>

#include "carina/result.h"
#include "results/sweep_report.h"

// Sweeps as JSON, and back: for the state of a sweep, for clusters and for pages.
namespace carina::report {

std::string to_json(const results::SweepReport& report);
// Reads what to_json() wrote: to_json(read_sweep(json)) == json. Errors: other JSON; `name` is what messages call it.
Result<results::SweepReport> read_sweep(std::string_view json, const std::string& name);

// The text of to_json() for several models, written row by row: kJsonBegin, the rows separated by ",\n", kJsonEnd.
constexpr std::string_view kJsonBegin = "{\n  \"model\": \"\",\n  \"rows\": [\n";
constexpr std::string_view kJsonEnd = "\n  ]\n}\n";
std::string json_row(const results::SweepRow& row);

// Returns one line without the newline. read_sweep_line() reads it; errors as of read_sweep().
std::string to_json_line(const results::SweepLine& line);
Result<results::SweepLine> read_sweep_line(std::string_view json, const std::string& name);

}  // namespace carina::report
