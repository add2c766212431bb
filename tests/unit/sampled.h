// Declares how many cases of a long loop a test takes.
#pragma once

#include <cstddef>

namespace carina::tests {

// One case of so many. Sanitizers check accesses and not numbers, and make a run tens of times longer, so there long
// loops take a part of their cases.
#ifdef CARINA_SANITIZED
inline constexpr size_t kOneOf = 5;
#else
inline constexpr size_t kOneOf = 1;
#endif

}  // namespace carina::tests
