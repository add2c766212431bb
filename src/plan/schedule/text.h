#pragma once

#include <string>
#include <string_view>

#include "carina/result.h"
#include "plan/schedule/schedule.h"

// The text form of schedules.
namespace carina::plan {

// Prints a schedule: one line per tensor, step, stripe and so on, with fields by name. Fields that have their default
// value are left out. The form is total: parse(print(schedule)) == schedule, for legal schedules and others. It does
// not contain the bytes of constants and weights.
std::string print(const Schedule& schedule);

// Reads the text form. Messages name the text `where` and give the line. Errors: wrong grammar, unknown fields and
// values, numbers out of range, ids out of order.
Result<Schedule> parse(std::string_view text, const std::string& where);

}  // namespace carina::plan
