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
  const flatbuffers::Table* attributes;  // of the row's kind, verified; nullptr: all defaults
  std::vector<ir::ValueId> inputs;
  std::vector<ir::ValueId> outputs;
  std::string name;
};

// Converts an operator to nodes of 1.0, in execution order. Adds the constants and values that they need to `graph`.
// `unsigned_values`: indices of values with an unsigned type in the file. Errors: an operator or types that 1.0 does
// not have; too few or too many operands; numbers that do not fit their type.
Result<std::vector<ir::Node>> nodes_of_0_80(ir::Graph& graph, const Operator080& op,
                                            const std::unordered_set<size_t>& unsigned_values,
                                            const std::string& where);

// Converts a bf16 constant of a 0.80 file, which is stored as fp32. `data` has at least 4 bytes per element.
Tensor wide_to_bf16(const Shape& shape, const Buffer& data);

}  // namespace carina::tosa
