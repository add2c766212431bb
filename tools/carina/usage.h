#pragma once

#include <CLI/CLI.hpp>

#include "carina/result.h"

namespace carina::cli {

// What is wrong with a command line that `app` could not parse, in words that name what the user typed: an unknown
// command or option comes first, as an option that is then missing is only its consequence.
Diagnostics usage_errors(const CLI::App& app, const CLI::ParseError& error);

}  // namespace carina::cli
