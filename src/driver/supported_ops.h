#pragma once

#include <string>

namespace carina::driver {

// docs/SUPPORTED_OPS.md: every ATen and TOSA operator that Carina knows, and what its parts do with it, from the tables
// that the parts work by.
std::string supported_ops_markdown();

}  // namespace carina::driver
