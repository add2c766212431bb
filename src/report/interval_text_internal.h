#pragma once

#include <string>

#include "facts/npu_accuracy.h"

namespace carina::report {

// A line that says in which interval the cycles of hardware are expected; empty if the target has no interval.
std::string interval_text(const npu::CycleInterval& interval);

}  // namespace carina::report
