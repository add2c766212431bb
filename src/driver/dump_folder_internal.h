#pragma once

#include <string>

#include "base/diagnostic.h"

namespace carina::driver {

// The folder of `carina compile --dump` holds the parts of one program. Makes it and removes what an earlier compile
// wrote to it: output_tag<n>_*. Errors: it cannot be made or changed.
Result<void> clear_dump(const std::string& folder);

}  // namespace carina::driver
