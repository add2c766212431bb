// Starts programs on Windows. Only files for it include this header.
#pragma once

#include <windows.h>

#include <optional>
#include <string>
#include <vector>

namespace carina {

// Runs a program with these standard streams, and waits for its end. Returns its exit status, or no value if it cannot
// be started.
std::optional<int> run_program(const std::vector<std::string>& words, STARTUPINFOA& streams);

}  // namespace carina
