// Declares how errors of data that break a condition of the specification are told apart.
#pragma once

#include <algorithm>
#include <string_view>

#include "carina/result.h"

namespace carina {

// Returns whether the data broke a REQUIRE of the specification when a graph ran, so its results are not defined.
// Example: "REQUIRE broken at element [0,3]: the sum does not fit i32".
inline bool is_broken_require(const Diagnostic& error) {
  return error.what.starts_with("REQUIRE");
}

}  // namespace carina
