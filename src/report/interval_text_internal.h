#pragma once

#include <string>

#include "facts/npu_accuracy.h"

namespace carina::report {

// Returns a line with the interval in which the cycles of hardware are expected; empty if the target has no interval.
std::string interval_text(const npu::CycleInterval& interval);

}  // namespace carina::report
