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

// A module of 1.0 as 0.80 can say it: the same graphs, biases of one element spread over the channels. Errors, all of
// them: operators, types, attributes and operands that 0.80 does not have, by name;
// more growth than kMaxGrowthBytes.
Result<ir::Module> prepare_0_80(const ir::Module& module);

// Which operands become attributes in 0.80.
class FoldedOperands {
 public:
  explicit FoldedOperands(const ir::Graph& graph);
  // Whether the value is an input, an output or an operand that remains an operand.
  [[nodiscard]] bool stands_in_file(ir::ValueId id) const { return stands_[id.index()]; }
  // The operands that remain operands.
  [[nodiscard]] std::vector<ir::ValueId> inputs_in_file(const ir::Node& node) const;

 private:
  const ir::Graph& graph_;
  std::vector<bool> stands_;
};

// By value, the number of its type in 0.80: unsigned where all that touch it take it as unsigned; nothing for types
// that 0.80 does not have.
std::vector<std::optional<uint32_t>> file_types(const ir::Graph& graph);

// What a prepared node has in a slot, of the kind of the slot's field. Errors: a constant that does not fit.
Result<ir::Attribute> value_of_slot(const ir::Graph& graph, const ir::Node& node, const Tosa080Slot& slot,
                                    const std::string& where);

}  // namespace carina::tosa
