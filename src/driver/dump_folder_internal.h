#pragma once

#include <string>

#include "carina/result.h"

namespace carina::driver {

// Makes the folder of `carina compile --dump` and removes the files output_tag<n>_* that an earlier compile wrote,
// since the folder holds the parts of one program. Errors: the folder cannot be made or changed.
Result<void> clear_dump(const std::string& folder);

}  // namespace carina::driver
