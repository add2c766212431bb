#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/diagnostic.h"
#include "driver/delegation.h"
#include "pte/emit.h"

namespace carina::driver {

struct Package {
  std::vector<std::byte> program;  // the .pte
  int64_t planned_bytes = 0;       // what the executor plans for the values between delegates and kernels
  bool in_segments = false;  // the delegates stand behind the FlatBuffer, since they are too large to stand inside
};

// Writes program (partition::Partitioned::program, its operators those of the kernels) and delegates as one .pte.
// Errors: operators that have no kernel for the CPU, all of them; Diagnostic::node is a node of `program`.
Result<Package> package(const ir::Graph& program, std::span<const pte::Delegate> delegates,
                        pte::CpuKernels kernels = pte::CpuKernels::kPortable);
Result<Package> package(const Delegated& delegated, pte::CpuKernels kernels);

}  // namespace carina::driver
