#pragma once

#include <string>

#include "carina/result.h"

namespace carina::report {

// Returns the JSON report of a command that failed. The kind of a message is "rule" if it begins with "rule <id> (TOSA
// 1.0, section <n>)" (from the verifier), "require" if it begins with "REQUIRE" (the data violate a condition of the
// specification at run time), else "error". `status` is "unpredictable" if a REQUIRE is violated, "refused" if the file
// or the inputs have another fault, else "failed" (the command line, the disk).
std::string to_json(const std::string& file, const Diagnostics& errors);

}  // namespace carina::report
