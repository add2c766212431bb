#pragma once

#include <cstdint>
#include <vector>

#include "npu/compiled_network.h"
#include "plan/compile.h"
#include "plan/program.h"

namespace carina::plan {

// Writes the commands as register writes and operations, with the waits between them. Adds a note per operation.
std::vector<uint32_t> emit_stream(const Program& program, const ir::Graph& graph, const Target& target,
                                  const Variation& variation, std::vector<npu::LayerNote>& notes);

}  // namespace carina::plan
