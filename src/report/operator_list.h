#pragma once

#include <string>
#include <vector>

#include "results/operator_list.h"

namespace carina::report {

// Returns the text of build/pages/SUPPORTED_OPS.md, of which docs/SUPPORTED_OPS.md is a summary.
std::string to_text(const results::OperatorList& list);
std::string to_json(const results::OperatorList& list);

}  // namespace carina::report
