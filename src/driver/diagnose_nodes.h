// Declares the diagnosis of the nodes of a model that cannot be compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "carina/result.h"
#include "ir/graph.h"

namespace carina::driver {

// Where a node of the user's model could run by its operators alone; types, shapes and limits are ignored. If a
// node becomes several operators, the last applicable value of this list counts.
enum class Disposition : uint8_t {
  kFolded,   // becomes no operator
  kNpu,      // has a lowering
  kCpu,      // has a kernel
  kNowhere,  // has neither
};

struct NodeDiagnosis {
  std::vector<Disposition> dispositions;  // per node of the user's model
  Diagnostics errors;  // all nodes that cannot be normalized and all that cannot run anywhere; Diagnostic::node
};

// Diagnoses the nodes of a model that cannot be compiled, so that one run reports all problems. `graph` is the graph as
// imported. Its Node::origin is a node of the user's model, which has `nodes` nodes.
NodeDiagnosis diagnose_nodes(ir::Graph graph, size_t nodes);

}  // namespace carina::driver
