#pragma once

#include <vector>

#include "facts/npu_targets.h"
#include "simulate/interface/report.h"

namespace carina::simulate {

// The events that the model estimates, with the product's numbers and names. `report` has timed operations.
std::vector<PmuCounter> count_events(const Report& report, const npu::AcceleratorConfig& accelerator);

}  // namespace carina::simulate
