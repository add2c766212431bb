#pragma once

#include <cstdint>
#include <vector>

#include "npu/compiled_network.h"
#include "plan/family/family.h"
#include "plan/family/options.h"

// Emission: the last step of the planner turns a finished schedule into the NPU's command stream.
namespace carina::plan {

struct Emission {
  const Schedule& schedule;
  const Material& material;
  const ir::Graph& graph;  // gives the names in the notes
  const Family& family;
  const Target& target;
  Variation::Overlap overlap = Variation::Overlap::kExact;
  npu::StreamWriter::Writes writes = npu::StreamWriter::Writes::kOmitUnchanged;
};
struct Stream {
  std::vector<uint32_t> words;
  std::vector<npu::LayerNote> notes;  // one per command
};
// Writes the commands of a finished schedule as register writes and operations, with the waits between them.
Stream emit_stream(const Emission& what);

}  // namespace carina::plan
