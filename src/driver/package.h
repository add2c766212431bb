// Declares the function that writes a program and its delegates as one .pte file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "carina/result.h"
#include "driver/delegation.h"
#include "pte/emit.h"

namespace carina::driver {

struct Package {
  std::vector<std::byte> program;  // the .pte
  // What Carina's runtime plans for the values between delegates and kernels. ExecuTorch's plans
  // state_in_delegate_bytes more.
  int64_t planned_bytes = 0;
  // What a run copies of the state, in bytes: by write-backs at its end; by delegates, to their scratch memory and
  // back, in ExecuTorch's runtime, and in Carina's, where state_in_delegate_bytes of the state stay in the scratch
  // memory and take no planned memory.
  int64_t written_back_bytes = 0;
  int64_t official_copied_bytes = 0;
  int64_t copied_bytes = 0;
  int64_t state_in_delegate_bytes = 0;
  int64_t tables_bytes = 0;  // tables of Carina's runtime on a Cortex-M; 0: a delegate's are not known
  bool in_segments = false;  // delegates follow the FlatBuffer in segments, since they are too large for it
};

// Writes a program and its delegates as one .pte. `program` is partition::Partitioned::program with operators that have
// CPU kernels. Errors: all operators without a CPU kernel; Diagnostic::node is a node of `program`.
Result<Package> package(const ir::Graph& program, std::span<const pte::Delegate> delegates,
                        pte::CpuKernels kernels = pte::CpuKernels::kPortable);
Result<Package> package(const Delegated& delegated, pte::CpuKernels kernels);

// One method of a program.
struct PackagedMethod {
  std::string name;
  const Delegated& delegated;
};

// Writes several methods as one .pte. Errors: those of pte::emit_methods().
Result<std::vector<std::byte>> package_methods(std::span<const PackagedMethod> methods, pte::CpuKernels kernels);

}  // namespace carina::driver
