#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <string_view>

namespace carina::cli {

// Converts a number of bytes, optionally with K, M, G or T (powers of 1024), to a plain number.
CLI::Validator byte_size();

// Accepts a path: any text that is not empty.
CLI::Validator path();

// Accepts the path of a file or folder to read, or - for standard input, which becomes the path of a file with its
// bytes (standard_input.h).
CLI::Validator input_path();

// Accepts one of these names in any case, and converts it to its number.
CLI::Validator one_of(std::map<std::string, int> names);

// Converts the text to lower case.
CLI::Validator lower_case();

// Accepts a text if `error_of` returns no error. --help shows the type of the argument as `shown`.
CLI::Validator spec(std::string (*error_of)(std::string_view), std::string shown);

}  // namespace carina::cli
