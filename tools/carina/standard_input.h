#pragma once

#include <string>

#include "carina/result.h"

namespace carina::cli {

// Returns a temporary file with the bytes of standard input, for "-" as the name of an input: readers map their file,
// and read it several times. Its name ends as the kind of its bytes: "standard-input.pt2". The file lasts as long as
// the process. Errors: standard input is a terminal, is empty, or cannot be read.
Result<std::string> standard_input_file();

}  // namespace carina::cli
