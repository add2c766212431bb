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

// One of these words, in any case; becomes the number.
CLI::Validator one_of(std::map<std::string, int> words);

// Becomes lower case.
CLI::Validator lower_case();

// A text that `complaint` has nothing against; `shown` is what help calls it.
CLI::Validator words(std::string (*complaint)(std::string_view), std::string shown);

}  // namespace carina::cli
