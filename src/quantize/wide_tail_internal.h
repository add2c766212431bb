#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace carina::quantize {

struct TailRequest {
  const std::vector<size_t>& groups;  // per value: the group whose parameters it shares (Sharing::group)
  const std::vector<bool>& is_free;   // per group: 8 bits, by the general scheme alone
  bool weights_allow = true;          // 4-bit weights become 8-bit weights in a layer that reads 16 bits
  bool narrow_outputs = false;        // the program gives 8-bit integers
  // Groups that have 16 bits already. A network whose layers read them waits for its weights rather than for its
  // multiplications, so that the bound of the cycles counts the bytes of the weights.
  std::span<const size_t> wide = {};
};

// Returns how many pairs of numbers a layer with weights multiplies; 0 for other nodes.
int64_t multiplications_of(const ir::Graph& graph, const ir::Node& node);
// Returns the number of a layer's weights; 0 for other nodes.
int64_t weights_of(const ir::Graph& graph, const ir::Node& node);

// Returns the groups of values after the last large layers that get 16 bits in a scheme with 8, in ascending order.
// What is rounded there reaches the outputs undamped, and as the tensors are small, 16 bits cost next to nothing.
//   Example: ten convolutions of 3 M multiplications, a linear layer from 64 values to 5, a factor and an offset per
//   output. The result of the offset gets 16 bits, then its operand, then the linear layer's result and input, if they
//   fit: a bound of 3e7 / 256 cycles leaves 1 % = 1,170 for them.
// The groups are found from the outputs backwards, the cheapest first. A group is taken if its readers are layers with
// weights, or write 16 bits, so that no value is converted, and if together they cost at most 1 % of a lower bound of
// the cycles, and a 32nd of the largest operation's memory. Neither depends on the target: a model has the same
// integers on each NPU. Time: linear in the nodes that are taken, each with the readers of its operands. Evidence: ADR
// 0098.
std::vector<size_t> wide_tail(const ir::Graph& graph, const TailRequest& request);

}  // namespace carina::quantize
