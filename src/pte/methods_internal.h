#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "carina/result.h"
#include "ir/graph.h"
#include "pte/emit.h"
#include "pte/program.h"

namespace carina::pte {

// The buffer of planned memory with the states that methods share.
inline constexpr uint32_t kSharedMemory = 2;

// The states that several methods of a program have, and where they stand in kSharedMemory.
struct SharedStates {
  std::map<std::string, uint64_t> offsets = {};  // by name
  int64_t bytes = 0;
};

// emit(), with states of these names in kSharedMemory.
Result<Program> emit_with(const ir::Graph& graph, std::span<const Delegate> delegates, CpuKernels kernels,
                          const SharedStates& shared);

}  // namespace carina::pte
