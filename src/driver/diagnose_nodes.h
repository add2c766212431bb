#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/diagnostic.h"
#include "ir/graph.h"

namespace carina::driver {

// Where a node of the user's model could run, by its operators alone: types, shapes and limits are not looked at.
// Of several operators that a node becomes the last of these counts.
enum class Disposition : uint8_t {
  kFolded,   // nothing would be left of it
  kNpu,      // has a lowering
  kCpu,      // has a kernel
  kNowhere,  // has neither
};

struct NodeDiagnosis {
  std::vector<Disposition> dispositions;  // per node of the user's model
  Diagnostics errors;  // all that cannot be normalized and all that can run nowhere; Diagnostic::node
};

// Diagnoses the nodes of a model that cannot be compiled as a whole, so that one run shows all that is in the way. `graph`:
// as imported, Node::origin being the node of the user's model; of `nodes` nodes in all.
NodeDiagnosis diagnose_nodes(ir::Graph graph, size_t nodes);

}  // namespace carina::driver
