#pragma once

#include "firmware/npu/operation.h"
#include "firmware/npu/registers.h"

namespace carina::firmware::npu_core {

// The operation that a command starts with the current registers. Returns false for illegal or unsupported register
// values, and prints the reason on the console.
bool decode(const Command& command, const Registers& registers, Operation& op);

}  // namespace carina::firmware::npu_core
