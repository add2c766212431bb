#pragma once

#include <optional>
#include <string_view>

#include "facts/aten_ops.h"

namespace carina::pt2 {

// What becomes of a node, by its target.
enum class TargetKind {
  kOperator,      // a row of facts/aten_ops.def
  kInPlace,       // the in-place form of such a row: it also overwrites its first operand
  kSymbolic,      // arithmetic on sizes; the results are known from the example
  kNumberOfData,  // makes a number of a tensor's element
  kAssertion,     // checks something and gives nothing
  kRegion,        // calls a subgraph that can be inlined: its operands follow the graph
  kChoice,        // a condition and two subgraphs, of which the results of one are taken
  kLoop,          // while_loop: rounds of two subgraphs, one says whether the other runs
  kUnknown,
};
struct Target {
  TargetKind kind = TargetKind::kUnknown;
  AtenOp op{};                   // of kOperator and kInPlace; of kChoice and kLoop: what chooses
  std::string_view reason = {};  // of kUnknown: what the user is told besides the name
};

// Finds the meaning of "torch.ops.aten.conv2d.default", "executorch.exir.dialects.edge._ops.aten.relu.default",
// "_operator.mul", "torch.ops.higher_order.cond".
Target target_of_name(std::string_view name);

}  // namespace carina::pt2
