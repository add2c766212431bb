#pragma once

#include "runtime/backends/ethos_u.h"

namespace carina::runtime {

// Checks that an argument matches the blob's tensor: element size, number of elements, memory. Error: kInvalidArgument.
Error check_npu_input(const EValue& argument, const NpuTensor& tensor);

// Like check_npu_input(). In addition, the NPU's tensor may have wider rows than the argument (padded at the end), or
// two 4-bit elements in each byte.
Error check_npu_output(const EValue& argument, const NpuTensor& tensor);

// Copies checked arguments. `scratch` is the memory of region 1.
void copy_npu_input(const EValue& argument, const NpuTensor& tensor, std::byte* scratch);
void copy_npu_output(const EValue& argument, const NpuTensor& tensor, const std::byte* scratch);

}  // namespace carina::runtime
