// Inlines nodes with subgraphs: the nodes of a subgraph replace the node.

#include <fmt/format.h>

#include <algorithm>

#include "frontend/pt2/importer_internal.h"

namespace carina::pt2 {

namespace {

constexpr int kMaxDepth = 16;

// The arguments of a node with subgraphs: its graphs, and the tensors before and after them. Lists are flattened.
struct Arguments {
  std::vector<JsonView> graphs;
  std::vector<ir::ValueId> operands;     // tensors after the graphs
  std::optional<ir::ValueId> condition;  // tensor before the graphs
  std::optional<bool> known_condition;
};

void add_operands(const Scope& scope, std::string_view kind, JsonView value, std::vector<ir::ValueId>& operands) {
  const auto add = [&](JsonView tensor) {
    operands.push_back(scope.find(tensor["name"].text()).value_or(ir::ValueId()));
  };
  if (kind == "as_tensor") return add(value);
  if (kind != "as_tensors") return operands.push_back({});  // a number, which is part of the subgraph
  for (size_t i = 0; i < value.size(); ++i) add(value[i]);
}

Arguments arguments_of(const Scope& scope, JsonView inputs) {
  Arguments arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto [kind, value] = inputs[i]["arg"].alternative();
    if (kind == "as_graph") {
      arguments.graphs.push_back(value["graph"]);
    } else if (!arguments.graphs.empty()) {
      add_operands(scope, kind, value, arguments.operands);
    } else if (kind == "as_tensor") {
      arguments.condition = scope.find(value["name"].text());
    } else if (kind == "as_bool") {
      arguments.known_condition = value.boolean();
    }
  }
  return arguments;
}

}  // namespace

std::vector<ir::ValueId> Importer::inlined(JsonView graph, std::span<const ir::ValueId> operands,
                                           const std::string& where) {
  if (++depth_ > kMaxDepth) {
    reject({.where = where,
            .what = "regions are nested too deeply",
            .expected = fmt::format("at most {} levels", kMaxDepth)});
    return {};
  }
  Scope& region = open_scope(graph);
  const JsonView formal = region.graph()["inputs"];
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].valid()) continue;
    if (i >= formal.size()) {
      formal.complain("as many operands as the region declares");
      return {};
    }
    aliases_.bind(region, formal[i]["as_tensor"]["name"].text(), operands[i]);
  }
  import_nodes(region);
  std::vector<ir::ValueId> results;
  const JsonView outputs = region.graph()["outputs"];
  for (size_t i = 0; i < outputs.size() && !broken(); ++i) {
    const auto [kind, value] = outputs[i].alternative();
    results.push_back(kind == "as_tensor" ? region.find(value["name"].text()).value_or(ir::ValueId()) : ir::ValueId());
  }
  --depth_;
  return results;
}

void Importer::bind_results(Scope& scope, JsonView outputs, std::span<const ir::ValueId> results) {
  size_t next = 0;
  const auto bind_next = [&](JsonView tensor) {
    if (next >= results.size()) return outputs.complain("as many results as the region gives");
    if (results[next].valid()) aliases_.bind(scope, tensor["name"].text(), results[next]);
    ++next;
  };
  for (size_t i = 0; i < outputs.size() && !broken(); ++i) {
    const auto [kind, value] = outputs[i].alternative();
    if (kind == "as_tensor") bind_next(value);
    for (size_t k = 0; kind == "as_tensors" && k < value.size(); ++k) bind_next(value[k]);
  }
}

// Inlines wrap_with_set_grad_enabled(flag, graph, operands...), and wrap_with_autocast() that is not enabled.
void Importer::import_region(Scope& scope, JsonView json, const std::string& where) {
  const Arguments arguments = arguments_of(scope, json["inputs"]);
  if (arguments.graphs.empty()) return json["inputs"].complain("a graph");
  bind_results(scope, json["outputs"], inlined(arguments.graphs.front(), arguments.operands, where));
}

// Selects the results by the condition. Both subgraphs of `cond` are computed, which is legal because they have no side
// effects.
std::vector<ir::ValueId> Importer::choose(const ir::Node& node, ir::ValueId condition, std::span<const ir::ValueId> yes,
                                          std::span<const ir::ValueId> no) {
  ir::ValueId flag = condition;
  if (graph_[condition].shape.rank() > 0) {
    flag = graph_.add_value(node.name + "_condition", graph_[condition].dtype, Shape{});
    ir::Node view = node;
    view.op = AtenOp::view_default;
    view.inputs = {condition};
    view.outputs = {flag};
    view.attributes = {{"size", std::vector<int64_t>()}};
    graph_.add_node(std::move(view));
  }
  std::vector<ir::ValueId> results;
  for (size_t i = 0; i < std::min(yes.size(), no.size()); ++i) {
    results.push_back(yes[i] == no[i] ? yes[i] : ir::ValueId());
    if (!yes[i].valid() || !no[i].valid() || yes[i] == no[i]) continue;
    results.back() = graph_.add_value(node.name, graph_[yes[i]].dtype, Shape(graph_[yes[i]].shape));
    ir::Node chosen = node;
    chosen.op = AtenOp::where_self;
    chosen.inputs = {flag, yes[i], no[i]};
    chosen.outputs = {results.back()};
    graph_.add_node(std::move(chosen));
  }
  return results;
}

// Inlines cond(condition, true graph, false graph, operands).
void Importer::import_choice(Scope& scope, JsonView json, const ir::Node& node) {
  const Arguments arguments = arguments_of(scope, json["inputs"]);
  if (arguments.graphs.size() != 2) return json["inputs"].complain("two graphs");
  const std::string where = where_of(node);
  if (arguments.known_condition) {
    const JsonView taken = arguments.graphs[*arguments.known_condition ? 0 : 1];
    return bind_results(scope, json["outputs"], inlined(taken, arguments.operands, where));
  }
  if (!arguments.condition || !arguments.condition->valid())
    return reject({.where = where,
                   .what = "the condition is no tensor",
                   .hint = "make it a tensor of one bool: torch.tensor(...)"});
  const std::vector<ir::ValueId> yes = inlined(arguments.graphs[0], arguments.operands, where);
  const std::vector<ir::ValueId> no = inlined(arguments.graphs[1], arguments.operands, where);
  if (broken()) return;
  bind_results(scope, json["outputs"], choose(node, *arguments.condition, yes, no));
}

// Adds one round of a loop. If the condition holds, the values are those after the round; otherwise they stay as they
// are. Once the condition is false, it stays false, because its inputs no longer change. Returns false if the condition
// is not a tensor or the file is invalid.
bool Importer::run_round(const ir::Node& node, std::span<const JsonView> graphs, std::vector<ir::ValueId>& state) {
  const std::string where = where_of(node);
  const std::vector<ir::ValueId> goes_on = inlined(graphs[0], state, where);
  if (broken()) return false;
  if (goes_on.empty() || !goes_on.front().valid()) {
    reject({.where = where,
            .what = "the condition is no tensor",
            .hint = "compare tensors in it, and carry counters as tensors"});
    return false;
  }
  const std::vector<ir::ValueId> next = inlined(graphs[1], state, where);
  if (broken()) return false;
  const std::vector<ir::ValueId> chosen = choose(node, goes_on.front(), next, state);
  std::ranges::copy(chosen, state.begin());
  return true;
}

// Inlines while_loop(condition graph, body graph, values that rounds change, values that they only read).
void Importer::import_loop(Scope& scope, JsonView json, const ir::Node& node) {
  if (options_.loop_rounds <= 0)
    return reject_operator(scope, json, node, "control flow that depends on data: how often it runs is not known",
                           "say how often at most: --loop-rounds N");
  const Arguments arguments = arguments_of(scope, json["inputs"]);
  if (arguments.graphs.size() != 2) return json["inputs"].complain("two graphs");
  std::vector<ir::ValueId> state = arguments.operands;
  for (int64_t round = 0; round < options_.loop_rounds; ++round) {
    if (!run_round(node, arguments.graphs, state)) return;
  }
  bind_results(scope, json["outputs"], state);
  note(fmt::format("{} runs {} rounds at most: where the data asks for more, its results are those after {}", node.name,
                   options_.loop_rounds, options_.loop_rounds),
       "more: --loop-rounds N");
}

}  // namespace carina::pt2
