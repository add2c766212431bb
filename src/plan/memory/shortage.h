#pragma once

#include <cstdint>
#include <string_view>

#include "carina/result.h"
#include "plan/schedule/schedule.h"

// The messages for a network that needs more memory than there is.
namespace carina::plan {

// Diagnostic::where of the messages that shortage() returns.
inline constexpr std::string_view kShortage = "arena";

// The message for storages of one space that do not fit. It says how many bytes are missing, which operator needs most,
// and which tensors live then. `total_bytes` is the size of all storages together.
Diagnostic shortage(const Schedule& schedule, Space space, int64_t total_bytes, int64_t limit_bytes);

}  // namespace carina::plan
