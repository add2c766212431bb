#pragma once

#include <string_view>

#include "backends/backend.h"
#include "base/diagnostic.h"

namespace carina::backends {

// Whether a target is a TOSA specification, "TOSA-1.0+INT+int16".
bool is_tosa_spec(std::string_view target);

// No accelerator: a delegate is its TOSA graph (FlatBuffer 1.0), as ExecuTorch's TOSABackend gives it. What the profiles
// and extensions of the specification do not have stays on the CPU. Errors (usage): not such a specification.
Result<Backend> tosa_backend(std::string_view spec);

}  // namespace carina::backends
