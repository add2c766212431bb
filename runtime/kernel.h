#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/arena.h"
#include "runtime/error.h"
#include "runtime/evalue.h"

namespace carina::runtime {

// The call of a kernel: the arguments of the out-variant schema in order (with all defaults), the out tensors, and the
// returned value. Allocations from `scratch` end when the kernel returns.
using Arguments = std::span<EValue* const>;
using Kernel = Error (*)(Arguments arguments, Arena& scratch);

struct KernelEntry {
  std::string_view name;  // "aten::add.out"; no dot if the overload name is empty
  Kernel kernel;
};

// Restarts the sequence of random numbers. All kernels with random numbers share one sequence per process. It begins
// with seed 0 and is the same on every machine, so two runs of a process give the same numbers.
void seed_random(uint64_t seed);

// All portable kernels of this library (runtime/kernels), sorted by name.
std::span<const KernelEntry> portable_kernels();

}  // namespace carina::runtime
