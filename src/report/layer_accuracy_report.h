#pragma once

#include <string>
#include <vector>

#include "results/layer_accuracy_report.h"

namespace carina::report {

std::string to_text(const results::LayerAccuracyReport& report);
std::string to_json(const results::LayerAccuracyReport& report);

}  // namespace carina::report
