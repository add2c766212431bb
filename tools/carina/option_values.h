#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <string_view>

namespace carina::cli {

// A number of bytes, with K, M, G or T (of 1024) after it or not; becomes the plain number.
CLI::Validator byte_size();

// A path: any text but the empty one.
CLI::Validator path();

// One of these names, in any case; becomes the number.
CLI::Validator one_of(std::map<std::string, int> names);

// Becomes lower case.
CLI::Validator lower_case();

// A text for which `error_of` gives no error; `shown` is what help calls it.
CLI::Validator spec(std::string (*error_of)(std::string_view), std::string shown);

}  // namespace carina::cli
