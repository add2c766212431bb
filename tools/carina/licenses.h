#pragma once

#include <string>

#include "carina/result.h"

namespace carina::cli {

// Returns the licenses of the third-party code in Carina: the text of share/carina/THIRD-PARTY-NOTICES.txt, which the
// build makes (scripts/third_party.py) and the installation puts beside bin/. Errors: the file is missing.
Result<std::string> third_party_notices();

}  // namespace carina::cli
