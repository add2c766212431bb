#pragma once

#include <string>
#include <vector>

#include "results/operator_list.h"

namespace carina::report {

// Returns the text of docs/SUPPORTED_OPS.md.
std::string to_text(const results::OperatorList& list);
std::string to_json(const results::OperatorList& list);

}  // namespace carina::report
