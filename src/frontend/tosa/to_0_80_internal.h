#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "carina/result.h"
#include "facts/tosa_0_80.h"
#include "ir/graph.h"

namespace carina::tosa {

// The maximum growth of a module written as 0.80: shared operands are repeated as attributes, and biases are broadcast.
inline constexpr int64_t kMaxGrowthBytes = int64_t{1} << 28;

// Converts a module of 1.0 to a form that 0.80 can represent: the same graphs, with biases of one element broadcast
// over the channels. Errors, all of them: operators, types, attributes and operands that 0.80 does not have, by name;
// growth above kMaxGrowthBytes.
Result<ir::Module> prepare_0_80(const ir::Module& module);

// The operands that become attributes in 0.80.
class FoldedOperands {
 public:
  explicit FoldedOperands(const ir::Graph& graph);
  // Returns whether the value is in the file: as an input, an output, or an operand that stays an operand.
  [[nodiscard]] bool stands_in_file(ir::ValueId id) const { return stands_[id.index()]; }
  // The operands that stay operands.
  [[nodiscard]] std::vector<ir::ValueId> inputs_in_file(const ir::Node& node) const;

 private:
  const ir::Graph& graph_;
  std::vector<bool> stands_;
};

// The number of each value's type in 0.80. It is unsigned if all nodes that use the value treat it as unsigned. No
// value for types that 0.80 does not have.
std::vector<std::optional<uint32_t>> file_types(const ir::Graph& graph);

// The value of a slot of a prepared node, in the kind of the slot's field. Error: a constant that does not fit.
Result<ir::Attribute> value_of_slot(const ir::Graph& graph, const ir::Node& node, const Tosa080Slot& slot,
                                    const std::string& where);

}  // namespace carina::tosa
