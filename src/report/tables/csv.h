#pragma once

#include <string>
#include <vector>

namespace carina::report {

// A line of a CSV file (RFC 4180): a cell that holds a comma, a quote or the end of a line stands in quotes.
std::string csv_line(const std::vector<std::string>& cells);

}  // namespace carina::report
