#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "interpret/interpreter.h"
#include "interpret/kernel_internal.h"

// Program: a planned graph.
namespace carina::interpret {

// The memory of a value while a program runs.
struct Allocation {
  enum class Kind : uint8_t { kNowhere, kConstant, kInput, kOutput, kArena };
  Kind kind = Kind::kNowhere;
  size_t index = 0;  // kInput, kOutput: position in the graph's list; kArena: offset
};

// One planned graph: kernels in order, and an arena for all intermediate values.
class Program {
 public:
  // `graph`, `options` and `watch` (may be nullptr) must outlive the program. Errors: as Interpreter::create.
  static Result<std::unique_ptr<Program>> plan(const ir::Graph& graph, const Options& options, const Watch* watch,
                                               Linker& linker);

  // Runs on dense inputs in graph order, aligned for their types, and fills the outputs. Outputs must not overlap
  // inputs.
  Result<void> execute(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, Runtime& runtime);

  [[nodiscard]] const ir::Graph& graph() const { return graph_; }
  // Known after plan(): arena and packed weights.
  [[nodiscard]] size_t planned_bytes() const { return arena_bytes_ + packed_bytes_; }
  // Constants that no kernel reads any more, because kernels hold copies.
  [[nodiscard]] const std::vector<ir::ValueId>& packed() const { return packed_; }
  // Allocates the arena. Call it before the first execute().
  void allocate();
  void add_times(std::vector<NodeTime>& times) const;
  void clear_times();

 private:
  struct Step {
    Kernel kernel;
    ir::NodeId node;                // the node that gives the step its name
    std::vector<ir::NodeId> fused;  // the other nodes that it computes
    std::string where;
    std::vector<ir::ValueId> reads;
    std::vector<ir::ValueId> writes;
    std::vector<const std::byte*> in;
    std::vector<std::byte*> out;
    size_t scratch_offset = 0;
    int64_t calls = 0;
    int64_t nanoseconds = 0;
  };
  // A value that is copied to an output at the end, because it is an input, a constant or another output too.
  struct OutputCopy {
    ir::ValueId value;
    size_t output;
  };

  Program(const ir::Graph& graph, const Options& options, const Watch* watch)
      : graph_(graph), options_(options), watch_(watch) {}
  friend class Planner;

  void bind(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs);
  [[nodiscard]] std::byte* address(ir::ValueId value, std::span<const std::byte* const> inputs,
                                   std::span<std::byte* const> outputs);
  // Reports a value to the observer and the watch. `found`: its extremes by slot; empty: unknown.
  void show(ir::ValueId value, const std::byte* data, std::span<const kernels::Extremes> found, Workers& workers) const;
  [[nodiscard]] bool is_watched(ir::ValueId value) const { return watch_ != nullptr && watch_->values[value.index()]; }
  Result<void> run_step(Step& step, Runtime& runtime);
  Result<void> run_and_show(Step& step, Runtime& runtime);

  const ir::Graph& graph_;
  const Options& options_;
  const Watch* watch_;
  std::vector<Step> steps_;
  std::vector<Allocation> allocations_;  // by value; values that share bytes have equal allocations
  std::vector<Tensor> constants_;        // by value; aligned for their types
  std::vector<OutputCopy> output_copies_;
  std::vector<ir::ValueId> packed_;
  size_t arena_bytes_ = 0;
  size_t packed_bytes_ = 0;
  MutableBuffer arena_;
  std::vector<kernels::Extremes> found_;  // by slot: extremes of a step's results
  bool allocated_ = false;
};

}  // namespace carina::interpret
