#pragma once

#include <string>
#include <vector>

#include "carina/result.h"

// Declares the name under which --state keeps finished work.

namespace carina::cli {

// Returns the SHA-256 of this program's file. Errors: it cannot be read.
Result<std::string> program_digest();

// Returns a digest of this program, of the arguments, and of the files' names and contents. For a folder these are the
// files in it. Errors:
// a file cannot be read.
Result<std::string> state_key(const std::vector<std::string>& words, const std::vector<std::string>& files);

}  // namespace carina::cli
