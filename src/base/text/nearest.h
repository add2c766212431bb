#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace carina {

// Returns "did you mean --target? " if a name differs from the typed text in at most two letters, else "".
std::string nearest_hint(std::string_view typed, const std::vector<std::string>& names);

}  // namespace carina
