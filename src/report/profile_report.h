#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/profile_report.h"

namespace carina::report {

// A table, with the total.
std::string to_text(const results::Profile& profile);
// A report's JSON with the member "profile" behind the others.
std::string with_profile(std::string_view json, const results::Profile& profile);

}  // namespace carina::report
