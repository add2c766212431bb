#pragma once

#include <optional>
#include <string>
#include <vector>

namespace carina {

// Runs a command, what it says going to a file. Returns its exit status; nothing when it is not installed.
std::optional<int> run_command(std::vector<std::string> arguments, const std::string& messages);

// What a file holds; nothing when it cannot be read.
std::string text_of(const std::string& path);

// The last lines of what a program said.
std::string end_of(const std::string& text);

}  // namespace carina
