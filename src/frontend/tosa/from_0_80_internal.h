#pragma once

#include <flatbuffers/flatbuffers.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "facts/tosa_0_80.h"
#include "ir/graph.h"

namespace carina::tosa {

// An operator of a 0.80 file.
struct Operator080 {
  const Tosa080Op& row;
  const flatbuffers::Table* attributes;  // of the row's kind, verified; null: all defaults
  std::vector<ir::ValueId> inputs;
  std::vector<ir::ValueId> outputs;
  std::string name;
};

// The nodes of 1.0 that do what the operator does, in order; adds the constants and values that they need to `graph`.
// `unsigned_values`: by index, those of an unsigned type in the file. Errors: an operator or types that 1.0 does not
// have, too few or too many operands, numbers that do not fit their type.
Result<std::vector<ir::Node>> nodes_of_0_80(ir::Graph& graph, const Operator080& op,
                                            const std::unordered_set<size_t>& unsigned_values,
                                            const std::string& where);

// bf16 constants stand in 0.80 files as fp32. `data` has at least 4 bytes for each element.
Tensor bf16_of_wide(const Shape& shape, const Buffer& data);

}  // namespace carina::tosa
