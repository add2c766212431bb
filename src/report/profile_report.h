#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/profile_report.h"

namespace carina::report {

// Returns a table with a total.
std::string to_text(const results::Profile& profile);
// Appends the member "profile" to the JSON of a report.
std::string with_profile(std::string_view json, const results::Profile& profile);

}  // namespace carina::report
