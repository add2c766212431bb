// Renders the list of `carina targets`. to_text() is for a reader, to_json() for a program.
#pragma once

#include <string>
#include <vector>

#include "results/target_list.h"

namespace carina::report {

std::string to_text(const results::TargetList& list);
std::string to_json(const results::TargetList& list);

// The text of `carina targets --boards`, and that of --json.
std::string to_text(const results::BoardList& list);
std::string to_json(const results::BoardList& list);

}  // namespace carina::report
