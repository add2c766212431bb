#pragma once

#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "plan/schedule/schedule.h"

namespace carina::plan {

// The text form of schedules: one line per tensor, step, stripe ..., fields by name, those left out that have their
// first value. It is total: parse(print(schedule)) == schedule, for legal schedules and others. It does not hold the
// bytes of constants and weights.
std::string print(const Schedule& schedule);

// Reads the text form. `where` is what messages call the text; they carry the line. Errors: wrong grammar, unknown
// fields and values, numbers out of range, ids out of their order.
Result<Schedule> parse(std::string_view text, const std::string& where);

}  // namespace carina::plan
