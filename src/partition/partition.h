#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/options.h"
#include "carina/result.h"
#include "ir/graph.h"
#include "ir/rejection.h"

namespace carina::partition {

// Returns for each node of a graph, after ir::propagate_quantization, why it cannot run on the target; no value if it
// can.
using Legality = std::function<std::vector<std::optional<ir::Rejection>>(const ir::Graph& annotated)>;

// Returns why the user keeps a node of the normalized graph on the CPU; no value if the user does not.
using UserConstraint = std::function<std::optional<ir::Rejection>(const ir::Node& node)>;

// The treatment of a quantized value between CPU nodes that is not an input or output of any delegate.
enum class FloatsOnCpu : uint8_t {
  kRounded,  // the value is quantized and dequantized, as the model specifies
  kKept,     // the value stays float, because the quantization was made only for the NPU
};

// What the CPU's kernels of quantized nodes compute with.
enum class CpuArithmetic : uint8_t { kFloats, kInt8 };

// The user's options, for the normalized graph: cpu_ops are its operators ("aten.conv2d.default", "conv2d.default" or
// "conv2d"). It has no modules: the caller finds the nodes of cpu_modules and keeps them by `keep`.
struct PartitionOptions : options::PartitionOptions {
  UserConstraint keep = {};  // any other constraint, such as the nodes of a module
  FloatsOnCpu floats = FloatsOnCpu::kRounded;
  CpuArithmetic arithmetic = CpuArithmetic::kFloats;  // for costs
  std::vector<ir::Rejection> rejected = {};           // nodes that a later stage rejected in an earlier attempt
};

// Where a node of the normalized graph runs, and the reason.
struct Decision {
  ir::NodeId node;   // a node of the graph that was given to partition()
  std::string name;  // the node's name, op and source line, so that a report needs no graph
  std::string op;
  std::string source;
  bool runs_on_npu = false;
  int delegate = -1;       // index of the delegate, if the node runs on the NPU
  std::string reason;      // "stride_y is 5, at most 3 is supported"; on the NPU: "supported"
  std::string hint;        // how the node could run on the NPU; may be empty
  std::string rule = {};   // the rule that rejected the node (ir::Rejection::rule); empty on the NPU
  int64_t cpu_cycles = 0;  // estimated cycles on a Cortex-M55; 0 on the NPU
};

// A graph partitioned between CPU and delegates.
struct Partitioned {
  // The graph that the runtime executes. It has ATen nodes on floats and plain integers,
  // quantized_decomposed.quantize_per_tensor / dequantize_per_tensor nodes at the boundaries, and
  // higher_order.executorch_call_delegate nodes. Their attribute "delegate" (int64) is an index into `delegates`, and
  // their inputs and outputs are those of the delegate's graph, in order. Only float constants have `quantization`, as
  // in the given graph.
  ir::Graph program;
  // The ATen graphs of the delegates, which lower::to_tosa() lowers. A quantized input or output has dtype fp32 and
  // `quantization`; the program passes its integers. Here and in `program`, a node's `origin` is a node of the given
  // graph.
  std::vector<ir::Graph> delegates;
  std::vector<Decision> decisions;  // one per node of the given graph, in its order
};

// Partitions a normalized graph into delegates, whose nodes `legality` allows, and a program for the rest. Quantized
// values have `quantization`. Delegates are as large as possible without a cycle. Two kinds of subgraphs stay on the
// CPU unless the user requests otherwise: those that only move data, and, if other nodes run on the CPU too, those
// whose call would take longer than their nodes on the CPU. Errors (usage): a name in cpu_nodes or cpu_ops that the
// graph does not have.
Result<Partitioned> partition(const ir::Graph& aten, const Legality& legality, const PartitionOptions& options,
                              const Log& log);

// Returns the estimated CPU cycles in which a program converts its float inputs and outputs to integers and back.
int64_t boundary_cycles_of(const ir::Graph& program);

}  // namespace carina::partition
