#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/tables/layers.h"

namespace carina::report {

// The layers of one or more parts of a network, as tables. The CSV begins with the columns of the file that Vela's
// --verbose-performance writes, under their names; Carina's follow.
enum class TableForm { kText, kJson, kCsv };
std::string layer_table(const std::vector<results::NpuReport>& parts, LayerRows rows, TableForm form);

// By the name of a file: .csv, .json, else text.
TableForm form_of(std::string_view path);

}  // namespace carina::report
