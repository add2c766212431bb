#pragma once

#include <vector>

#include "carina/npu_report.h"

namespace carina::report {

// One row per layer, with its operations together, or one row per operation.
enum class LayerRows { kFolded, kEach };
// Returns the rows in order. A folded row is at the position of the layer's first operation. It has sums, the MAC
// utilization of the whole, the bottleneck of most of its cycles, and the maximum of SRAM held by its operations.
std::vector<results::LayerReport> rows_of(const results::NpuReport& npu, LayerRows rows);

}  // namespace carina::report
