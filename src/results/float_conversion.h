#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "carina/result.h"

namespace carina::results {

// Cycles of one inference: in which the CPU converts float inputs and outputs, and in which the NPU computes.
struct ConversionCycles {
  int64_t cpu = 0, npu = 0;
};

// The note that integers as inputs and outputs save the conversion. No value if it takes few cycles, or fewer than the
// NPU.
std::optional<Diagnostic> conversion_note(std::string where, const ConversionCycles& cycles);

}  // namespace carina::results
