#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace carina {

// "did you mean --target? " where one of the names differs from what was typed in two letters at most, else "".
std::string nearest_hint(std::string_view typed, const std::vector<std::string>& names);

}  // namespace carina
