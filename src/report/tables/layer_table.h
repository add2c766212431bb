#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/tables/layers.h"

namespace carina::report {

// Formats the layers of one or more parts of a network as a table. The CSV begins with the columns of Vela's
// --verbose-performance file, under their names, followed by Carina's columns.
enum class TableForm { kText, kJson, kCsv };
std::string layer_table(const std::vector<results::NpuReport>& parts, LayerRows rows, TableForm form);

// Returns the form for a file's extension: .csv, .json, otherwise text.
TableForm form_of(std::string_view path);

}  // namespace carina::report
