#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/arena.h"
#include "runtime/error.h"
#include "runtime/evalue.h"

namespace carina::runtime {

// A kernel's call: the arguments of the out-variant schema in order (every default written out), the out tensors, the
// returned value. `scratch` is given back when the kernel returns.
using Arguments = std::span<EValue* const>;
using Kernel = Error (*)(Arguments arguments, Arena& scratch);

struct KernelEntry {
  std::string_view name;  // "aten::add.out"; without the dot when the overload is empty
  Kernel kernel;
};

// The kernels that draw random numbers take them from one sequence of the process, which begins at seed 0 and is the
// same on every machine: two runs of a process give the same numbers. This begins it anew.
void seed_random(uint64_t seed);

// All portable kernels of this library (runtime/kernels), sorted by name.
std::span<const KernelEntry> portable_kernels();

}  // namespace carina::runtime
