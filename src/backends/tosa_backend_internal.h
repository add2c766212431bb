// Declares the backend that packages TOSA graphs without compiling them for a device.
#pragma once

#include <string_view>

#include "backends/backend.h"
#include "carina/result.h"

namespace carina::backends {

// Returns whether a target is a TOSA specification, for example "TOSA-1.0+INT+int16".
bool is_tosa_spec(std::string_view target);

// Returns the backend of a TOSA specification. A delegate is its TOSA graph (FlatBuffer 1.0), as ExecuTorch's
// TOSABackend produces it. Operators that the profiles and extensions do not have stay on the CPU. Errors (usage):
// `spec` is not a TOSA specification.
Result<Backend> tosa_backend(std::string_view spec);

}  // namespace carina::backends
