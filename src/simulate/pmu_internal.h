#pragma once

#include <vector>

#include "facts/npu_targets.h"
#include "simulate/report.h"

namespace carina::simulate {

// The events that the model has figures for, under the product's numbers and names. `report` holds timed operations.
std::vector<PmuCounter> count_events(const Report& report, const npu::AcceleratorConfig& accelerator);

}  // namespace carina::simulate
