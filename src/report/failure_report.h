#pragma once

#include <string>

#include "carina/result.h"

namespace carina::report {

// Why a command gave no result, for programs. The kind of a message: "rule" when it begins with "rule <id> (TOSA 1.0,
// section <n>)", of the verifier; "require" when it begins with "REQUIRE", a condition of the specification that the
// data broke at run time; else "error". `status`: "unpredictable" when a REQUIRE is broken, "refused" when the file or
// the inputs are at fault in another way, else "failed" (the command line, the disk).
std::string to_json(const std::string& file, const Diagnostics& errors);

}  // namespace carina::report
