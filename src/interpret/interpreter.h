#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "ir/graph.h"
#include "simd/extremes.h"
#include "tensor/tensor.h"

namespace carina::interpret {

// Called with each value as soon as it is known: the inputs and constants that nodes read are not repeated, graph
// inputs come once at the start, then each node's outputs in order. The tensor is a view that is valid during the call
// only (copy its bytes to keep it). Values of control-flow graphs are reported with their own graph, once per
// execution.
using Observer = std::function<void(const ir::Graph& graph, ir::ValueId value, const Tensor& tensor)>;

// Sees some values of the main graph, as the observer sees all of them. The others may be computed together with their
// neighbors, and kernels find the extremes of what they write while it is in the cache.
struct Watch {
  std::vector<bool> values;  // per value of the graph: it is seen
  // `extremes`: of fp32 values.
  std::function<void(ir::ValueId value, const Tensor& tensor, const simd::Extremes& extremes)> see;
};

enum class Profiling { kOff, kOn };

// When convolutions lay out their weights as their kernels want them.
enum class Packing {
  kOnce,     // a copy of all weights is held
  kEachRun,  // of one node's at a time, where they are fp32: for few runs of large networks
};

// How convolutions of fp32 add up. Results depend neither on the processor nor on threads in any case.
enum class Sums {
  kInOrder,  // every output is one chain of sums, as the other engines' of this program
  // Large windows of 3x3 in a quarter of the products, smaller ones in 4/9 (which ones depends on Packing): up to 1e-5 of
  // the range away (docs/adr/0107).
  kFewMultiplications,
};

struct Options {
  int threads = 1;                               // >= 1; results do not depend on it
  size_t memory_budget_bytes = size_t{4} << 30;  // arena, scratch, packed weights and outputs together
  Observer observer = {};                        // set: no internal fusing, every value is computed and shown
  std::optional<Watch> watch = {};               // not beside an observer
  std::function<void()> between_nodes = {};      // called before each node's kernel; what it throws ends the run
  Profiling profiling = Profiling::kOff;
  Packing packing = Packing::kOnce;
  Sums sums = Sums::kInOrder;
  std::string where = {};                 // the file's name, put before node names in messages
  int64_t loop_limit = int64_t{1} << 32;  // iterations of one WHILE_LOOP execution before it is an error
};

// What one node cost over all runs since create() or clear_profile(), with the nodes that were fused into it. A node of
// control flow includes the nodes of the graphs that it runs, which stand in the list too.
struct NodeTime {
  std::string graph;
  ir::NodeId node;
  std::string name;                         // of the node
  std::string_view op;                      // "tosa.CONV2D"
  std::vector<std::string_view> with = {};  // operators that were fused into it, in order
  int64_t calls = 0;
  int64_t nanoseconds = 0;
};

// Evaluates TOSA 1.0 graphs: integers exactly as the specification says, floats in fp32 or wider accumulation with bits
// that depend neither on the processor nor on the number of threads.
class Interpreter {
 public:
  // Plans the module's main graph: kernels chosen, weights packed, one arena laid out by liveness. The module is copied
  // (constants share their bytes), so it need not outlive the call. Errors: an operator, type combination, shape or
  // attribute that TOSA 1.0 does not define, shapes not known, control flow that is recursive, more memory than the
  // budget.
  static Result<Interpreter> create(const ir::Module& module, const Options& options);

  // Runs the main graph on `inputs`, in the order of graph.inputs, each of its value's type and shape; gives the
  // outputs in the order of graph.outputs. VARIABLE state is kept from run to run. Errors: wrong inputs; a REQUIRE of
  // the specification that the data break (naming node and element).
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs);

  // Puts every VARIABLE back to its initial value.
  void reset_variables();
  // Bytes that the plan holds: arenas, scratch, packed weights.
  [[nodiscard]] size_t planned_bytes() const;
  // Times per node in execution order; empty unless profiling.
  [[nodiscard]] std::vector<NodeTime> profile() const;
  void clear_profile();

  Interpreter(Interpreter&&) noexcept;
  Interpreter& operator=(Interpreter&&) noexcept;
  ~Interpreter();

 private:
  struct Session;
  explicit Interpreter(std::unique_ptr<Session> session);
  std::unique_ptr<Session> session_;
};

}  // namespace carina::interpret
