// A TOSA module with control flow and variables becomes one graph, as an NPU's stream has no jumps and no memory of its
// own. The main graph is walked in order; the graphs that its nodes run are walked in their place:
//   - COND_IF: the branch that a constant condition chooses; else both, and SELECT for each result.
//   - WHILE_LOOP: round by round, as long as the condition is a constant. If it depends on the data, each further round
//     is computed, up to a given number, and SELECT keeps the results of the last one that the loop runs.
//   - VARIABLE_READ: what was written last; at the beginning the state before the run. VARIABLE_WRITE adds no node. A
//     variable that is never written is a constant.
//   Example: variable v = 0; y = v + x; v = y        inputs x, v and outputs y, v_next with states {v}: y = v + x
// A condition is constant if no input and no state reaches it. Its value is computed by the interpreter. Values that a
// loop carries are replaced by constants after each round, so that a counter does not grow into a chain of additions.
// The time is linear in the number of nodes that are made.
#include "driver/flat_tosa.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "interpret/interpreter.h"
#include "ir/emitter.h"
#include "ir/subgraph.h"

namespace carina::driver {

namespace {

constexpr int64_t kMaxRounds = 1024;       // of a loop: the range of --loop-rounds
constexpr int64_t kMaxKnownElements = 64;  // of a carried value that becomes a constant

using Values = std::vector<ir::ValueId>;

bool is_op(const ir::Node& node, TosaOp op) {
  return node.op == ir::Op(op);
}

bool has_state_or_jumps(const ir::Module& module) {
  return module.graphs.size() > 1 || std::ranges::any_of(module.main().nodes, [](const ir::Node& node) {
           return is_op(node, TosaOp::VARIABLE) || is_op(node, TosaOp::COND_IF) || is_op(node, TosaOp::WHILE_LOOP);
         });
}

class Flattener {
 public:
  Flattener(const ir::Module& module, int64_t loop_rounds, const std::string& where, const Log& log)
      : module_(module), loop_rounds_(loop_rounds), where_(where), log_(log) {
    made_.name = module.main().name;
  }

  Result<ir::Graph> run() {
    const ir::Graph& main = module_.main();
    Values inputs;
    for (const ir::ValueId input : main.inputs) inputs.push_back(add_input(main[input].name, main[input]));
    made_.inputs = inputs;
    declare_variables();
    CARINA_TRY(Values outputs, block(main, inputs));
    add_state(outputs);
    ir::remove_dead(made_);  // counters of loops, branches of which nothing is used
    note_control_flow();
    return std::move(made_);
  }

 private:
  struct Variable {
    std::string name;
    Tensor initial;
    bool is_written = false;
    ir::ValueId before = {};  // the state of the run before; a constant if the variable is never written
    ir::ValueId now = {};     // what was written last
  };

  ir::ValueId add_input(const std::string& name, const ir::Value& like) {
    const ir::ValueId id = made_.add_value(name, like.dtype, like.shape);
    made_[id].quantization = like.quantization;
    depends_.resize(made_.values.size(), false);
    depends_[id.index()] = true;
    return id;
  }

  void declare_variables() {
    for (const ir::Graph& graph : module_.graphs) {
      for (const ir::Node& node : graph.nodes) {
        if (is_op(node, TosaOp::VARIABLE_WRITE)) written_.insert(node.attributes.get<std::string>("name"));
      }
    }
    for (const ir::Graph& graph : module_.graphs) {
      for (const ir::Node& node : graph.nodes) {
        // Files of the official tools declare a variable in each graph that uses it.
        const bool is_new = is_op(node, TosaOp::VARIABLE) && find_variable(node) == variables_.end();
        if (is_new) declare(graph, node);
      }
    }
  }

  // A variable without an initial value begins with zeros.
  void declare(const ir::Graph& graph, const ir::Node& node) {
    const auto dtype = node.attributes.get<DType>("type");
    const Shape shape(node.attributes.integers("var_shape"));
    Variable variable{.name = node.attributes.get<std::string>("name"), .initial = {}};
    variable.initial =
        node.inputs.empty() ? MutableTensor(dtype, shape).freeze() : *graph[node.inputs.front()].constant;
    variable.is_written = written_.contains(variable.name);
    if (node.inputs.empty())
      log_.note({.where = where_,
                 .what = fmt::format("the variable {} has no initial value: it begins with zeros", variable.name),
                 .severity = Severity::kNote});
    const std::string name = "variable_" + variable.name;
    variable.before =
        variable.is_written
            ? add_input(name, {.name = name, .dtype = dtype, .shape = shape, .quantization = {}, .constant = {}})
            : made_.add_constant(name, variable.initial);
    variable.now = variable.before;
    variables_.push_back(std::move(variable));
  }

  std::vector<Variable>::iterator find_variable(const ir::Node& node) {
    return std::ranges::find(variables_, node.attributes.get<std::string>("name"), &Variable::name);
  }
  Variable& variable_of(const ir::Node& node) { return *find_variable(node); }

  Values variable_values() const {
    Values values;
    for (const Variable& variable : variables_) values.push_back(variable.now);
    return values;
  }
  void set_variable_values(const Values& values) {
    for (size_t i = 0; i < values.size(); ++i) variables_[i].now = values[i];
  }

  // The values of a block are those of the new graph.
  using Meaning = std::map<ir::ValueId, ir::ValueId>;

  ir::ValueId value_of(const ir::Graph& block, ir::ValueId id, Meaning& meaning) {
    if (!id.valid()) return id;
    if (const auto found = meaning.find(id); found != meaning.end()) return found->second;
    const auto [entry, is_new] = constants_.try_emplace({&block, id.index()});
    if (is_new) {
      ir::Value copy = block[id];
      entry->second = made_.add_value(std::move(copy));
    }
    return entry->second;
  }

  Values values_of(const ir::Graph& block, std::span<const ir::ValueId> ids, Meaning& meaning) {
    Values values;
    for (const ir::ValueId id : ids) values.push_back(value_of(block, id, meaning));
    return values;
  }

  // Adds the nodes of a block to the new graph. Returns the block's outputs.
  Result<Values> block(const ir::Graph& graph, const Values& arguments) {
    Meaning meaning;
    for (size_t i = 0; i < arguments.size(); ++i) meaning[graph.inputs[i]] = arguments[i];
    for (const ir::Node& node : graph.nodes) {
      const Values inputs = values_of(graph, node.inputs, meaning);
      Values outputs;
      if (is_op(node, TosaOp::VARIABLE)) continue;
      if (is_op(node, TosaOp::VARIABLE_READ)) {
        outputs = {variable_of(node).now};
      } else if (is_op(node, TosaOp::VARIABLE_WRITE)) {
        variable_of(node).now = inputs.front();
      } else if (is_op(node, TosaOp::COND_IF)) {
        CARINA_TRY(outputs, condition(node, inputs));
      } else if (is_op(node, TosaOp::WHILE_LOOP)) {
        CARINA_TRY(outputs, loop(node, inputs));
      } else {
        outputs = copy_of(graph, node, inputs);
      }
      for (size_t i = 0; i < outputs.size(); ++i) meaning[node.outputs[i]] = outputs[i];
    }
    return values_of(graph, graph.outputs, meaning);
  }

  Values copy_of(const ir::Graph& graph, const ir::Node& node, const Values& inputs) {
    ir::Node copy = node;
    copy.inputs = inputs;
    copy.outputs.clear();
    for (const ir::ValueId output : node.outputs) {
      ir::Value value = graph[output];
      copy.outputs.push_back(made_.add_value(std::move(value)));
    }
    const Values outputs = copy.outputs;
    made_.add_node(std::move(copy));
    return outputs;
  }

  const ir::Graph& graph_of(const ir::Node& node, const char* attribute) const {
    return *module_.find(node.attributes.get<std::string>(attribute));
  }

  ir::Emitter emitter_of(const ir::Node& node) {
    ir::Emitter emitter(made_);
    emitter.set_origin_of(node);
    return emitter;
  }

  // Chooses between values, and between what two branches have written.
  Values chosen(const ir::Node& node, ir::ValueId condition, const Values& yes, const Values& no) {
    Values values;
    for (size_t i = 0; i < yes.size(); ++i)
      values.push_back(yes[i] == no[i] ? yes[i] : emitter_of(node).select(condition, yes[i], no[i]));
    return values;
  }

  Result<Values> condition(const ir::Node& node, const Values& inputs) {
    const Values arguments(inputs.begin() + 1, inputs.end());
    CARINA_TRY(const std::optional<bool> known, known_flag(inputs.front()));
    if (known) return block(graph_of(node, *known ? "then_graph" : "else_graph"), arguments);
    ++selected_;
    const Values before = variable_values();
    CARINA_TRY(const Values yes, block(graph_of(node, "then_graph"), arguments));
    const Values after_yes = variable_values();
    set_variable_values(before);
    CARINA_TRY(const Values no, block(graph_of(node, "else_graph"), arguments));
    set_variable_values(chosen(node, inputs.front(), after_yes, variable_values()));
    return chosen(node, inputs.front(), yes, no);
  }

  Result<Values> loop(const ir::Node& node, Values carried) {
    ir::ValueId active = {};  // whether the loop still runs; invalid: it does
    for (int64_t round = 0;; ++round) {
      CARINA_TRY(const Values flag, block(graph_of(node, "cond_graph"), carried));
      CARINA_TRY(const std::optional<bool> goes_on, known_flag(flag.front()));
      if (goes_on && !*goes_on) return ended(round, std::move(carried));
      if (!goes_on || active.valid()) {
        if (loop_rounds_ == 0) return fail(depends_on_data(node));
        if (round >= loop_rounds_) return ended(round, std::move(carried));
        active = active.valid() ? emitter_of(node).binary(TosaOp::LOGICAL_AND, active, flag.front()) : flag.front();
      }
      if (round >= kMaxRounds)
        return fail({.where = where_,
                     .what = fmt::format("the loop {} has too many rounds to be unrolled", node.name),
                     .expected = fmt::format("at most {} rounds", kMaxRounds)});
      const Values before = variable_values();
      CARINA_TRY(Values next, block(graph_of(node, "body_graph"), carried));
      if (active.valid()) {
        set_variable_values(chosen(node, active, variable_values(), before));
        next = chosen(node, active, next, carried);
      }
      for (ir::ValueId& value : next) CARINA_CHECKED(make_constant(value));
      carried = std::move(next);
    }
  }

  Values ended(int64_t rounds, Values carried) {
    ++loops_;
    rounds_ += rounds;
    return carried;
  }

  Diagnostic depends_on_data(const ir::Node& node) const {
    return {.where = where_,
            .what = fmt::format("the number of rounds of the loop {} depends on the data, and the NPU has no jumps",
                                node.name),
            .hint = "--loop-rounds N computes N rounds, and keeps the results of the last one that the loop runs"};
  }

  // Brings `depends_` and `producer_` up to the nodes that were added last.
  void look_at_new_nodes() {
    depends_.resize(made_.values.size(), false);
    producer_.resize(made_.values.size());
    for (; seen_ < made_.nodes.size(); ++seen_) {
      const ir::Node& node = made_.nodes[seen_];
      const bool depends =
          std::ranges::any_of(node.inputs, [&](ir::ValueId input) { return input.valid() && depends_[input.index()]; });
      for (const ir::ValueId output : node.outputs) {
        depends_[output.index()] = depends;
        producer_[output.index()] = ir::NodeId(seen_);
      }
    }
  }

  // The content of a value that depends on constants only; no value for another.
  Result<std::optional<Tensor>> known(ir::ValueId id) {
    look_at_new_nodes();
    if (made_[id].constant) return std::optional(*made_[id].constant);
    if (depends_[id.index()]) return std::optional<Tensor>();
    std::vector<ir::NodeId> members, open{producer_[id.index()]};
    std::vector<bool> is_member(made_.nodes.size(), false);
    while (!open.empty()) {
      const ir::NodeId node = open.back();
      open.pop_back();
      if (!node.valid() || is_member[node.index()]) continue;
      is_member[node.index()] = true;
      members.push_back(node);
      for (const ir::ValueId input : made_[node].inputs) {
        if (input.valid()) open.push_back(producer_[input.index()]);
      }
    }
    std::ranges::sort(members);
    ir::Module module;
    module.graphs.push_back(ir::subgraph_of(made_, members, std::span(&id, 1)).graph);
    CARINA_TRY(interpret::Interpreter interpreter, interpret::Interpreter::create(module, {.where = where_}));
    CARINA_TRY(std::vector<Tensor> outputs, interpreter.run({}));
    return std::optional(std::move(outputs.front()));
  }

  Result<std::optional<bool>> known_flag(ir::ValueId id) {
    CARINA_TRY(const std::optional<Tensor> tensor, known(id));
    return tensor ? std::optional(tensor->values<uint8_t>().front() != 0) : std::optional<bool>();
  }

  Result<void> make_constant(ir::ValueId& id) {
    if (made_[id].constant || made_[id].shape.elements() > kMaxKnownElements) return {};
    CARINA_TRY(std::optional<Tensor> tensor, known(id));
    if (tensor) id = made_.add_constant(made_[id].name, *std::move(tensor));
    return {};
  }

  // Adds the written variables behind the inputs and outputs. A node gives each output, and no other output.
  void add_state(const Values& outputs) {
    made_.outputs = outputs;
    for (const Variable& variable : variables_) {
      if (!variable.is_written) continue;
      made_.inputs.push_back(variable.before);
      made_.outputs.push_back(variable.now);
      made_.states.push_back({.name = variable.name, .initial = variable.initial});
    }
    look_at_new_nodes();
    for (size_t i = 0; i < made_.outputs.size(); ++i) {
      ir::ValueId& output = made_.outputs[i];
      const auto before = std::span(made_.outputs).first(i);
      const bool is_again = std::ranges::find(before, output) != before.end();
      const bool is_made = output.index() < producer_.size() && producer_[output.index()].valid();
      if (is_made && !is_again) continue;
      ir::Emitter emitter(made_);
      emitter.set_origin(made_[output].name, "", {});
      output = emitter.unary(TosaOp::IDENTITY, output);
    }
  }

  void note_control_flow() const {
    if (loops_ > 0)
      log_.note(
          {.where = where_,
           .what = fmt::format("{} loop{} unrolled: {} rounds in all", loops_, loops_ == 1 ? " is" : "s are", rounds_),
           .severity = Severity::kNote});
    if (selected_ > 0)
      log_.note(
          {.where = where_,
           .what = fmt::format("both branches are computed at {} condition{}", selected_, selected_ == 1 ? "" : "s"),
           .severity = Severity::kNote});
  }

  const ir::Module& module_;
  int64_t loop_rounds_;
  const std::string& where_;
  const Log& log_;
  ir::Graph made_;
  std::vector<Variable> variables_;
  std::set<std::string> written_;
  std::map<std::pair<const ir::Graph*, size_t>, ir::ValueId> constants_;
  std::vector<bool> depends_;         // by value: whether an input or a state reaches it
  std::vector<ir::NodeId> producer_;  // by value
  size_t seen_ = 0;                   // nodes that these two know
  int64_t loops_ = 0, rounds_ = 0, selected_ = 0;
};

}  // namespace

Result<ir::Graph> flat_tosa(ir::Module module, int64_t loop_rounds, const std::string& where, const Log& log) {
  if (!has_state_or_jumps(module)) return std::move(module.main());
  return Flattener(module, loop_rounds, where, log).run();
}

}  // namespace carina::driver
