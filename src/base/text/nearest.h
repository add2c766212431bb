#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace carina {

// Returns "did you mean --target? " if a name differs from the typed text in at most two letters, or if it is the only
// one that contains the text; else "". Case does not count, and "-" and "_" are the same.
//   Example: u55-128 and ethos_u55-129 are near ethos-u55-128.
std::string nearest_hint(std::string_view typed, const std::vector<std::string>& names);

}  // namespace carina
