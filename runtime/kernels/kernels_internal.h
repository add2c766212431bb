#pragma once

#include "runtime/kernel.h"

namespace carina::runtime {

// Declares one function per kernel. The arguments are listed beside each definition.
#define CARINA_PORTABLE_KERNEL(name, function) Error function(Arguments arguments, Arena& scratch);
#include "runtime/kernels/portable_kernels.def"
#undef CARINA_PORTABLE_KERNEL

}  // namespace carina::runtime
