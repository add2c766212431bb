#pragma once

#include <executorch/runtime/backend/interface.h>

#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "runtime/kernel.h"

// Conversions and errors that the delegates share at the boundary to the official runtime.
namespace carina::interop {

namespace official = ::executorch::runtime;

Log to_official_log();

// The official runtime's values as ours, on the same memory; nothing for those that neither delegates nor the kernels
// of cortex_m_kernels.cpp take (texts, lists of other things than integers).
struct Converted {
  std::vector<runtime::EValue> values;
  std::vector<runtime::EValue*> pointers;
};
Converted converted(official::Span<official::EValue*> arguments);

// Writes an error to the official log, and keeps it for carina_executorch_last_error().
official::Error failed(const Diagnostics& why, official::Error as);

// Registers a delegate when the library is loaded. At that time there is no caller who could get an error, so a failure
// (another delegate has that name) is logged.
bool registered(const char* name, official::BackendInterface& delegate);

}  // namespace carina::interop
