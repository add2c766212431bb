#pragma once

#include <string>
#include <vector>

namespace carina::report {

// Returns a line of a CSV file (RFC 4180). A cell with a comma, a quote or a line break is quoted.
std::string csv_line(const std::vector<std::string>& cells);

}  // namespace carina::report
