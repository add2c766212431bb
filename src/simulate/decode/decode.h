#pragma once

#include "carina/result.h"
#include "npu/registers.h"
#include "simulate/decode/operation.h"

// Decodes commands into operations.
namespace carina::simulate {

// The part of the NPU's configuration that the decoder needs.
struct CoreShape {
  int cores = 1;            // of a U65 in two-core mode
  int weight_decoders = 1;  // of a U85
  int macs = 128;           // per cycle, all cores
};

// Decodes the operation that `op` starts with the current registers. `data` is the command's own parameter and payload.
// Errors: register values that have no meaning on this product; the message names the register.
Result<Operation> decode(npu::Op op, uint64_t data, const npu::RegisterFile& registers, const CoreShape& core);

}  // namespace carina::simulate
