#pragma once

#include <vector>

#include "results/npu_report.h"

namespace carina::report {

// One row for the operations of a layer together, or one for each.
enum class LayerRows { kFolded, kEach };
// The rows in order; of operations together (in the order in which the layers first run), sums, the MAC use of the
// whole, bound by what bounds most of the cycles, the most SRAM that any of them holds.
std::vector<results::LayerReport> rows_of(const results::NpuReport& npu, LayerRows rows);

}  // namespace carina::report
