#pragma once

#include <string>
#include <vector>

#include "results/target_list.h"

namespace carina::report {

std::string to_text(const results::TargetList& list);
std::string to_json(const results::TargetList& list);

}  // namespace carina::report
