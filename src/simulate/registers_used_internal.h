#pragma once

#include <bitset>

#include "npu/registers.h"
#include "simulate/decode/operation.h"

namespace carina::simulate {

using RegisterSet = std::bitset<npu::kRegCount>;

// The registers whose values decide what an operation does on this product.
RegisterSet registers_used(const Operation& op, npu::Product product);

// Checks that the stream has set all registers that an operation uses. Errors: one is not set; the message names it.
Result<void> check_registers_set(const Operation& op, const npu::RegisterFile& registers);

}  // namespace carina::simulate
