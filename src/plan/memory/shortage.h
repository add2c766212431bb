#pragma once

#include <cstdint>
#include <string_view>

#include "base/diagnostic.h"
#include "plan/schedule/schedule.h"

// What to say when a network needs more memory than there is.
namespace carina::plan {

// Diagnostic::where of what shortage() gives.
inline constexpr std::string_view kShortage = "arena";

// Storages of one space do not fit: by how much, which operator needs most, and what lives then. `total_bytes`: what they
// take together.
Diagnostic shortage(const Schedule& schedule, Space space, int64_t total_bytes, int64_t limit_bytes);

}  // namespace carina::plan
