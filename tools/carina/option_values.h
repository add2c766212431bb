#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace carina::cli {

// A number of bytes, with K, M, G or T (of 1024) after it or not; becomes the plain number.
CLI::Validator byte_size();

// A path: any text but the empty one.
CLI::Validator path();

// One of these words, in any case; becomes the number.
CLI::Validator one_of(std::map<std::string, int> words);

}  // namespace carina::cli
