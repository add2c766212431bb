// What the standard streams are connected to.
#pragma once

#include <cstddef>
#include <optional>

namespace carina {

// Whether a person reads standard error.
bool stderr_is_terminal();

// Whether a person would have to type standard input.
bool stdin_is_terminal();

// Whether words on standard error may have colors: a terminal that has them, and no NO_COLOR (https://no-color.org).
bool stderr_has_colors();

// The columns of the terminal that standard output is, or no value if it is none.
std::optional<size_t> terminal_columns();

}  // namespace carina
