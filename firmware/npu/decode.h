#pragma once

#include "firmware/npu/operation.h"
#include "firmware/npu/registers.h"

namespace carina::firmware::npu_core {

// Fills in the operation that a command starts, from the values of the registers. Returns false for illegal or
// unsupported register values, and prints the reason on the console.
bool decode(const Command& command, const Registers& registers, Operation& op);

}  // namespace carina::firmware::npu_core
