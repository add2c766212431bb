#pragma once

#include <string_view>

#include "carina/result.h"
#include "driver/compile.h"

namespace carina::api {

// Sets an option by its long name on the command line ("optimize", "--cpu-node") to the value of a text, as the command
// line does. A list gets another element. A flag takes "true", "false" or "". Options of files and of printing
// (CARINA_DRIVER_OPTION) and the target's files are not among them. Errors (usage): an unknown name; a value that the
// option does not take.
Result<void> set_option(driver::CompileRequest& request, std::string_view name, std::string_view value);

}  // namespace carina::api
