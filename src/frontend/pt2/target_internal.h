#pragma once

#include <optional>
#include <string_view>

#include "facts/aten_ops.h"

namespace carina::pt2 {

// How the reader handles a node, by its target.
enum class TargetKind {
  kOperator,      // a row of facts/aten_ops.def
  kInPlace,       // the in-place form of such a row, which also overwrites its first operand
  kSymbolic,      // arithmetic on sizes; the results follow from the example input
  kNumberOfData,  // converts an element of a tensor to a number
  kAssertion,     // checks a condition and has no result
  kRegion,        // calls a subgraph, which is inlined; the operands follow the graph
  kChoice,        // a condition and two subgraphs; selects the results of one
  kLoop,          // while_loop: one subgraph is the body, the other computes whether to continue
  kSequence,      // map, scan: one subgraph, which is applied to each element of sequences
  kUnknown,
};
struct Target {
  TargetKind kind = TargetKind::kUnknown;
  AtenOp op{};                   // kOperator, kInPlace: the operator; kChoice, kLoop: the operator that selects
  std::string_view reason = {};  // kUnknown: the reason for the message
};

// Classifies a target, such as "torch.ops.aten.conv2d.default", "executorch.exir.dialects.edge._ops.aten.relu.default",
// "_operator.mul" or "torch.ops.higher_order.cond".
Target target_of_name(std::string_view name);

}  // namespace carina::pt2
