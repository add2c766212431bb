// Runs other programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace carina {

// Runs a command and writes its output to the file `messages`. Returns its exit status, or no value if the program is
// not installed.
std::optional<int> run_command(std::vector<std::string> arguments, const std::string& messages);

// Returns the content of a file, or no value if it cannot be read.
std::string text_of(const std::string& path);

// Returns the last lines of a program's output.
std::string end_of(const std::string& text);

}  // namespace carina
