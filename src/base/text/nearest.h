#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace carina {

// Returns "did you mean --target?" if a name differs from the typed text in at most two letters, or if it is the only
// one that contains the text; else "". Case does not count, and "-" and "_" are the same.
//   Example: SramOnly and sram-only are near Sram_Only; "target" is near --target if no other name contains it.
std::string nearest_hint(std::string_view typed, const std::vector<std::string>& names);

// Likewise, for names in the text of a message: "int8 (INT8), int16x8 (INT16X8), none".
std::string nearest_hint(std::string_view typed, std::string_view names);

}  // namespace carina
