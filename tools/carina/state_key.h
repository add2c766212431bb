#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"

// Under which name finished work is kept in --state.

namespace carina::cli {

// SHA-256 of this program's file. Errors: it cannot be read.
Result<std::string> program_digest();

// A digest of this program, of the words, and of the files' names and contents; of a folder, of the files in it. Errors:
// a file cannot be read.
Result<std::string> state_key(const std::vector<std::string>& words, const std::vector<std::string>& files);

}  // namespace carina::cli
