#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "carina/result.h"
#include "carina/tensor.h"
#include "ir/graph.h"
#include "kernels/micro/extremes.h"
#include "kernels/packing.h"

// The TOSA interpreter.
namespace carina::interpret {

// Called with each value as soon as it is computed. Graph inputs come once at the start, then each node's outputs in
// order. Inputs and constants that nodes read are not repeated. The tensor is a view that is valid during the call
// only. Values of control-flow graphs are reported with their own graph, once per execution.
using Observer = std::function<void(const ir::Graph& graph, ir::ValueId value, const Tensor& tensor)>;

// Reports selected values of the main graph, as an observer reports all. Other values may be fused with their
// neighbors. Kernels compute the extremes of their results while these are in the cache.
struct Watch {
  std::vector<bool> values;  // by value of the graph: whether it is reported
  // `extremes` are those of an fp32 value.
  std::function<void(ir::ValueId value, const Tensor& tensor, const kernels::Extremes& extremes)> see;
};

enum class Profiling { kOff, kOn };

using kernels::Packing;

// How fp32 convolutions sum up. In both modes, results depend neither on the processor nor on the number of threads.
enum class Sums {
  kInOrder,  // one chain of sums per output, as in this project's other engines
  // Winograd's algorithm for 3x3 windows: a quarter of the multiplications for large ones, 4/9 for smaller ones
  // (Packing decides the limit). Results differ by up to 1e-5 of the range (docs/performance.md 5).
  kFewMultiplications,
};

// Which kernels compute the nodes.
enum class Kernels {
  kFast,
  // One node at a time, with plain loops for convolutions, matrix products and RESCALE: a reference for kFast, with the
  // same bits if the sums are in order.
  kPlain,
};

struct Options {
  int threads = 1;                               // >= 1; results do not depend on it
  size_t memory_budget_bytes = size_t{4} << 30;  // arena, scratch, packed weights and outputs together
  Observer observer = {};                        // if set: no fusing; every value is computed and reported
  std::optional<Watch> watch = {};               // not together with an observer
  std::function<void()> between_nodes = {};      // called before each node's kernel; an exception ends the run
  Profiling profiling = Profiling::kOff;
  Packing packing = Packing::kOnce;
  Sums sums = Sums::kInOrder;
  Kernels kernels = Kernels::kFast;
  std::string where = {};                 // the file's name, a prefix of node names in messages
  int64_t loop_limit = int64_t{1} << 32;  // most iterations of one WHILE_LOOP execution
};

// The time of one node and of the nodes fused into it, over all runs since create() or clear_profile(). The time of a
// control-flow node includes the nodes of the graphs that it runs, which are also listed.
struct NodeTime {
  std::string graph;
  ir::NodeId node;
  std::string name;                         // of the node
  std::string_view op;                      // "tosa.CONV2D"
  std::vector<std::string_view> with = {};  // operators that were fused into it, in order
  int64_t calls = 0;
  int64_t nanoseconds = 0;
};

// Evaluates TOSA 1.0 graphs. Integers are exactly as the specification says. Floats are accumulated in fp32 or wider,
// and their bits depend neither on the processor nor on the number of threads.
class Interpreter {
 public:
  // Plans the module's main graph: it chooses kernels, packs weights and allocates one arena by live ranges. The module
  // is copied (constants share their bytes), so it need not outlive the call. Errors: an operator, type combination,
  // shape or attribute that TOSA 1.0 does not define; unknown shapes; recursive control flow; more memory than the
  // budget.
  static Result<Interpreter> create(const ir::Module& module, const Options& options);

  // Runs the main graph. The inputs are in the order of graph.inputs, each of its value's type and shape; the outputs
  // are in the order of graph.outputs. VARIABLE state persists between runs. Errors: wrong inputs; data that break a
  // REQUIRE of the specification (the message names node and element).
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs);

  // Resets every VARIABLE to its initial value.
  void reset_variables();
  // Bytes of arenas, scratch and packed weights.
  [[nodiscard]] size_t planned_bytes() const;
  // Times per node in execution order; empty without profiling.
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
