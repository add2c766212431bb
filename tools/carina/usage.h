#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "carina/result.h"

namespace carina::cli {

// What is wrong with a command line that `app` could not parse, in words that name what the user typed: an unknown
// command or option comes first, as an option that is then missing is only its consequence. `arguments`: the
// command line without the program's name.
Diagnostics usage_errors(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments);

}  // namespace carina::cli
