#pragma once

#include "base/diagnostic.h"
#include "npu/registers.h"
#include "simulate/operation_internal.h"

namespace carina::simulate {

// What of the NPU's configuration decoding needs.
struct CoreShape {
  int cores = 1;            // of a U65 in two-core mode
  int weight_decoders = 1;  // of a U85
  int macs = 128;           // per cycle, all cores
};

// The operation that `op` starts with the registers as they stand; `data` is the command's own parameter and payload.
// Errors: register values that have no meaning on this product, with the register's name.
Result<Operation> decode(npu::Op op, uint64_t data, const npu::RegisterFile& registers, const CoreShape& core);

}  // namespace carina::simulate
