#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace carina {

// Returns "did you mean --target?" if it is the only name that begins with the typed text, else if it differs from the
// text in at most two letters, or if one to five names contain the text, which are all offered; else "". Case does not
// count, and "-" and "_" are the same.
//   Example: SramOnly and sram-only are near Sram_Only; "did you mean dark_red or light_red?" for "_red".
std::string nearest_hint(std::string_view typed, const std::vector<std::string>& names);

// Likewise, for names in the text of a message: "int8 (INT8), int16x8 (INT16X8), none".
std::string nearest_hint(std::string_view typed, std::string_view names);

// Returns nearest_hint() and the text, with a blank between them if there is a hint.
std::string with_nearest(std::string_view typed, const std::vector<std::string>& names, std::string_view text);

}  // namespace carina
