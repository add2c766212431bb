#pragma once

#include "runtime/kernel.h"

namespace carina::runtime {

// One function per kernel; what the arguments are stands beside each.
#define CARINA_PORTABLE_KERNEL(name, function) Error function(Arguments arguments, Arena& scratch);
#include "runtime/kernels/portable_kernels.def"
#undef CARINA_PORTABLE_KERNEL

}  // namespace carina::runtime
