// Defines the version of Carina.
#pragma once

#include <string_view>

// The version of the headers, as numbers and as text. The version of the library that a program links is
// carina::version(); the two differ where headers and library come from different installations.
#define CARINA_VERSION_MAJOR 0
#define CARINA_VERSION_MINOR 1
#define CARINA_VERSION_PATCH 0
#define CARINA_VERSION "0.1.0"
// One number that grows with the version, for #if: 0.1.0 is 100.
#define CARINA_VERSION_NUMBER (CARINA_VERSION_MAJOR * 10000 + CARINA_VERSION_MINOR * 100 + CARINA_VERSION_PATCH)

namespace carina {

// The version of the library: "0.1.0".
std::string_view version() noexcept;

}  // namespace carina
