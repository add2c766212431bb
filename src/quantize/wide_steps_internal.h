#pragma once

#include <cstddef>
#include <vector>

#include "ir/graph.h"
#include "quantize/wide_tail_internal.h"

namespace carina::quantize {

// Whether the layers of a network multiply each weight at most 8 times, as those of a step in a recurrent network or of
// a perceptron do. The NPU then waits for the weights, and 16-bit activations cost few cycles.
bool waits_for_weights(const ir::Graph& graph);

// Returns the groups of values that get 16 bits where 8 lose too much of a network that waits for its weights, in
// ascending order: where 16 bits cost few cycles. None if the layers multiply each weight more than 8 times: 16 bits
// would then cost many cycles.
//   Example: a decoder that reads one token has 16 bits in its residual sums, norms, linear layers and scores. The
//   caches, the queries and the weights of attention, which bmm reads, keep 8. So do the operands and results of
//   the sigmoids in an LSTM.
// Time: linear in nodes and operands.
std::vector<size_t> wide_steps(const ir::Graph& graph, const TailRequest& request);

}  // namespace carina::quantize
