#pragma once

#include <vector>

#include "npu/compiled_network.h"
#include "plan/family/family.h"

namespace carina::plan {

// Where the values of the graph are while a finished schedule runs, for comparisons with other engines. Values that
// have no elements of their own (they are fused, or rolling rows of a cascade) are absent. `layer` of a note is the
// index of the command after which all elements are written.
std::vector<npu::ValueNote> value_notes(const Schedule& schedule, const Material& material, const Spaces& spaces);

}  // namespace carina::plan
