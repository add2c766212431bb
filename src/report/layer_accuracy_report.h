// Renders the report of `carina accuracy --layers`. to_text() is for a reader, to_json() for a program.
#pragma once

#include <string>
#include <vector>

#include "results/layer_accuracy_report.h"

namespace carina::report {

std::string to_text(const results::LayerAccuracyReport& report);
std::string to_json(const results::LayerAccuracyReport& report);

}  // namespace carina::report
