#pragma once

#include "firmware/npu/operation.h"
#include "firmware/npu/registers.h"

namespace carina::firmware::npu_core {

// The operation that a command starts with the registers as they stand. False, with the reason on the console: register
// values that have no meaning, or that this simulator does not do.
bool decode(const Command& command, const Registers& registers, Operation& op);

}  // namespace carina::firmware::npu_core
