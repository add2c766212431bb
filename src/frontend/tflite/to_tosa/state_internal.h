// What a model keeps from run to run: resource variables and variable tensors, which become variables of TOSA.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontend/tflite/to_tosa/call_internal.h"

namespace carina::tflite {

// The variables of a model while its main graph becomes nodes. A variable is read once, before its first use, and
// written once, at the end. TOSA has variables of int8 and bool. If one has another type, all are state of the graph:
// inputs and outputs (ir::Graph::states). A variable that signatures share is state of each of them, whether it is read
// or written.
//   Example: v = READ(h); y = v + x; ASSIGN(h, y)    VARIABLE h; v = VARIABLE_READ h; y = v + x; VARIABLE_WRITE h, y
class State {
 public:
  State(const Model& model, Builder& builder);

  // Reads the variable tensors that operators take and that are no inputs. They begin with their zero point.
  void read_tensors();
  // Whether the operator acts on resource variables.
  static bool has_part_in(const Operator& op);
  // Whether that is an error: the operator is in a part of a graph whose resource variables are the CPU's.
  [[nodiscard]] bool is_rejected(const Operator& op) const { return model_.is_part && has_part_in(op); }
  // Makes the nodes of an operator that acts on variables. `call` is the operator's.
  Result<void> run(Call& call);
  // A subgraph that no graph of a signature runs by CALL_ONCE: a branch, a loop, or a signature if none was chosen.
  [[nodiscard]] const Subgraph* unused_graph() const;
  // Writes the variables that have another value than before the run. The graph must have its outputs.
  void write();

 private:
  struct Variable {
    std::string name;         // of the TOSA variable
    carina::Tensor initial;   // no elements: it has none
    ir::ValueId before = {};  // invalid: not read
    ir::ValueId now = {};     // invalid: neither read nor written
  };

  Result<void> initialize(Call& call);
  Result<void> read(Call& call, Variable& variable);
  Result<void> assign(Call& call, Variable& variable);
  void read_before(Variable& variable);
  void write_one(const Variable& variable);
  Variable& variable_of(const std::string& name);

  const Model& model_;
  Builder& b_;
  bool are_inputs_ = false;
  std::set<std::string> shared_;            // resource variables that the graphs of other signatures use
  std::vector<int32_t> initialized_;        // subgraphs that CALL_ONCE has run
  std::map<int32_t, std::string> handles_;  // by tensor
  std::map<std::string, Variable> resources_;
  std::map<int32_t, Variable> tensors_;  // by tensor
};

}  // namespace carina::tflite
