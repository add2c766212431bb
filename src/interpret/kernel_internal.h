#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carina/result.h"
#include "interpret/interpreter.h"
#include "ir/graph.h"
#include "kernels/operator.h"

// Kernels: the unit of execution of the interpreter, and what they get when they are made and when they run.
namespace carina::interpret {

using kernels::split;
using kernels::split_slots;
using kernels::Workers;

class Program;

// The state of a VARIABLE. `initial` has bytes only if the graph gives an initial value.
struct Variable {
  DType dtype = DType::kUnknown;
  Shape shape;
  std::vector<std::byte> initial;
  std::vector<std::byte> bytes;
  bool written = false;
};

// Data that kernels share while they run.
struct Runtime {
  Workers& workers;
};

// One execution of one node: the addresses of its operands. Each is a dense tensor, with elements as DTypeRow says.
struct Call {
  std::span<const std::byte* const> in;
  std::span<std::byte* const> out;
  std::byte* scratch;  // Kernel::scratch_bytes, aligned to 64
  Runtime& runtime;
  std::string_view where;                 // "model.tosa: conv_7", for messages
  kernels::Extremes* extremes = nullptr;  // by slot: extremes of the fp32 results; nullptr: not requested

  template <typename T>
  [[nodiscard]] const T* input(size_t i) const {
    return reinterpret_cast<const T*>(in[i]);
  }
  template <typename T>
  [[nodiscard]] T* output(size_t i) const {
    return reinterpret_cast<T*>(out[i]);
  }
  // The extremes that a kernel updates in this slot; nullptr: not requested.
  [[nodiscard]] kernels::Extremes* extremes_of_slot(int64_t slot) const {
    return extremes == nullptr ? nullptr : extremes + slot;
  }
};

// A prepared node. All work that does not depend on the data is done.
struct Kernel {
  std::function<Result<void>(const Call&)> run;
  size_t scratch_bytes = 0;
  size_t packed_bytes = 0;      // weights and tables that the kernel holds
  bool has_weights = false;     // holds a copy of operand 1, a constant; runs do not read the original
  bool finds_extremes = false;  // adds the extremes of its results to Call::extremes
};

// The properties of an operand that are known before a run.
struct Operand {
  std::string_view name;
  DType dtype;
  const Shape* shape;
  const Tensor* constant;  // nullptr if the data are known only at run time

  [[nodiscard]] int64_t dim(size_t axis) const { return (*shape)[axis]; }
  [[nodiscard]] size_t rank() const { return shape->rank(); }
};

// Gives kernels of control flow and variables access to graphs and state outside their node.
class Linker {
 public:
  virtual ~Linker() = default;
  // The planned graph of this name. Errors: no such graph; recursion; errors of its planning.
  virtual Result<Program*> program(const std::string& graph_name, const std::string& where) = 0;
  // The state of this name, created on first use. Errors: another type or shape than before.
  virtual Result<Variable*> variable(const std::string& name, const Operand& like, const std::string& where) = 0;
  [[nodiscard]] virtual int64_t loop_limit() const = 0;
};

// A node and its context, as kernels see them when they are made.
struct NodePlan {
  const ir::Graph& graph;
  const ir::Node& node;
  std::vector<Operand> in;
  std::vector<Operand> out;
  std::string where;
  Linker& linker;
  int threads = 1;
  Packing packing = Packing::kOnce;
  Sums sums = Sums::kInOrder;
  Kernels kernels = Kernels::kFast;

  [[nodiscard]] Diagnostic diagnostic(std::string what, std::string expected = {}, std::string got = {}) const;
};

// Nodes that one kernel computes: a node, then `tail` in order. Each of the tail is the only user of the previous one,
// and its other operands are constants. The kernel reads the operands of `node` and writes the output of the last.
struct TailPlan {
  NodePlan node;
  std::vector<NodePlan> tail = {};
};

// Nodes that one kernel computes: the RESCALE of each of the first operands, then `rest`. The kernel reads the first
// operands of the RESCALE nodes in place of the first operands of rest.node.
struct FrontPlan {
  struct Front {
    NodePlan node;
    bool is_shared;  // another node may need the result, too
  };
  std::vector<Front> front;
  TailPlan rest;
};

// A kernel of a FrontPlan. It is a type of its own, so that a kernel that would read the operands of the node cannot be
// returned in its place.
struct FrontKernel {
  Kernel kernel;
};

using Prepare = Result<Kernel> (*)(const NodePlan&);
// These return nothing if no kernel computes all nodes of the plan together.
using FuseTail = std::optional<Kernel> (*)(const TailPlan&);
using FuseFront = std::optional<FrontKernel> (*)(const FrontPlan&);

// The lowest index of an element that broke a REQUIRE, over all threads.
class FirstBad {
 public:
  void report(int64_t element) {
    int64_t seen = first_.load(std::memory_order_relaxed);
    while (element < seen && !first_.compare_exchange_weak(seen, element, std::memory_order_relaxed)) {
    }
  }
  [[nodiscard]] bool any() const { return first_.load(std::memory_order_relaxed) != kNone; }
  [[nodiscard]] int64_t element() const { return first_.load(std::memory_order_relaxed); }

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> first_{kNone};
};

// The error for data that broke a REQUIRE of the specification: "node: output element [0,3,1]: what".
std::unexpected<Diagnostics> fail_at(const Call& call, const Shape& shape, int64_t element, std::string what);

}  // namespace carina::interpret
