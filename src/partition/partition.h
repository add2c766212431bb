#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "ir/graph.h"
#include "ir/refusal.h"

namespace carina::partition {

// Per node of a graph whose quantization has been spread (ir::propagate_quantization) why it cannot run on the target; none
// where it can.
using Legality = std::function<std::vector<std::optional<ir::Refusal>>(const ir::Graph& annotated)>;

// Why the user keeps a node of the prepared graph on the CPU; none: as the rest decides.
using UserConstraint = std::function<std::optional<ir::Refusal>(const ir::Node& node)>;

// A quantized value that no delegate touches, between nodes that the target does not have.
enum class FloatsOnCpu : uint8_t {
  kRounded,  // is what its integers stand for: the model says so
  kKept,     // stays as it is computed: the quantization was made for the NPU
};

struct PartitionOptions {
  std::vector<std::string> cpu_nodes;  // names of nodes that the user keeps on the CPU
  std::vector<std::string> cpu_ops;    // ops likewise: "aten.conv2d.default", "conv2d.default" or "conv2d"
  UserConstraint keep = {};            // any other filter: a module's nodes, a predicate
  bool delegate_nothing = false;       // --no-delegate: everything on the CPU
  bool delegate_all = false;           // also subgraphs whose call costs more than it saves
  FloatsOnCpu floats = FloatsOnCpu::kRounded;
  std::vector<ir::Refusal> refused;  // nodes that a later stage would not take, from an earlier try
};

// Where a node of the prepared graph runs, and why.
struct Decision {
  ir::NodeId node;   // index in the graph that was given to partition()
  std::string name;  // the node's name, op and source line, so that a report needs no graph
  std::string op;
  std::string source;
  bool runs_on_npu = false;
  int delegate = -1;       // which delegate, when on the NPU
  std::string reason;      // "stride_y is 5, at most 3 is supported"; on the NPU: "supported"
  std::string hint;        // what would put it on the NPU; may be empty
  std::string rule = {};   // which rule refused it, as ir::Refusal has it; empty on the NPU
  int64_t cpu_cycles = 0;  // what it takes on a Cortex-M55, an estimate; 0 on the NPU
};

// A graph split in two sides.
struct Partitioned {
  // What the runtime executes: ATen kernels on float and plain integers (constants in floats keep the `quantization` that
  // they have in the given graph, no other value has any), explicit
  // quantized_decomposed.quantize_per_tensor / dequantize_per_tensor nodes at the boundaries, and
  // higher_order.executorch_call_delegate nodes with the attribute "delegate" (int64: index into `delegates`), whose
  // inputs and outputs are those of the delegate's graph, in order.
  ir::Graph program;
  // ATen graphs to lower with lower::to_tosa(). A quantized input or output keeps dtype fp32 with `quantization`: the
  // program passes the integers. The nodes' `origin`, here and in `program`, is the node of the given graph.
  std::vector<ir::Graph> delegates;
  std::vector<Decision> decisions;  // one per node of the given graph, in its order
};

// Splits a prepared graph (with `quantization` on values where it is quantized) into delegates of what `legality` allows
// and the rest. Delegates are as large as possible without making a cycle; subgraphs that only move data, and those beside
// other work of the CPU whose call takes longer than their nodes would there, are not worth one unless the user asks for it.
// Errors: a name in cpu_nodes or cpu_ops that is not in the graph (usage).
Result<Partitioned> partition(const ir::Graph& aten, const Legality& legality, const PartitionOptions& options,
                              const Log& log);

}  // namespace carina::partition
