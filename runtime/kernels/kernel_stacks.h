#pragma once

#include <cstddef>
#include <string_view>

namespace carina::runtime {

// The stack that a kernel of portable_kernels() takes on a Cortex-M55, in bytes, with the functions that it calls
// except those of the C library; 0 for an unknown name. A KernelStack for method_sizes(). Source: the code that GCC 12
// makes with -Os (tests/m55/stack.py).
size_t portable_kernel_stack(std::string_view kernel);

}  // namespace carina::runtime
