// Unrolls map and scan: one copy of their subgraph for each element of the sequences.

#include <fmt/format.h>

#include <algorithm>

#include "frontend/pt2/importer_internal.h"

namespace carina::pt2 {

namespace {

// The arguments of map_impl(graph, sequences, operands) and scan(graph, state, sequences, operands).
struct SequenceArguments {
  std::optional<JsonView> graph;
  std::vector<std::vector<ir::ValueId>> lists;  // the lists after the graph
};

SequenceArguments sequence_arguments_of(const Scope& scope, JsonView inputs) {
  SequenceArguments arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto [kind, value] = inputs[i]["arg"].alternative();
    if (kind == "as_graph") {
      arguments.graph = value["graph"];
    } else if (arguments.graph) {
      arguments.lists.push_back(scope.tensors_of(inputs[i]["arg"]));
    }
  }
  return arguments;
}

// Returns the length of the sequences; 0 if they have none, or different ones.
int64_t length_of(const ir::Graph& graph, std::span<const ir::ValueId> sequences) {
  int64_t length = 0;
  for (const ir::ValueId sequence : sequences) {
    if (!sequence.valid() || graph[sequence].shape.rank() == 0) return 0;
    const int64_t own = graph[sequence].shape[0];
    if (own <= 0 || (length != 0 && own != length)) return 0;
    length = own;
  }
  return length;
}

}  // namespace

// Returns element `index` along the first axis: aten.select.int(sequence, 0, index).
ir::ValueId Importer::element_of(const ir::Node& node, ir::ValueId sequence, int64_t index) {
  Shape shape(graph_[sequence].shape.dims().subspan(1));
  const ir::ValueId element = graph_.add_value(node.name + "_element", graph_[sequence].dtype, std::move(shape));
  ir::Node select = node;
  select.op = AtenOp::select_int;
  select.inputs = {sequence};
  select.outputs = {element};
  select.attributes = {{"dim", int64_t{0}}, {"index", index}};
  graph_.add_node(std::move(select));
  return element;
}

// Returns aten.stack(elements), along a new first axis.
ir::ValueId Importer::stacked(const ir::Node& node, std::vector<ir::ValueId> elements) {
  const auto is_absent = [](ir::ValueId element) { return !element.valid(); };
  if (std::ranges::any_of(elements, is_absent)) return {};
  const ir::Value& first = graph_[elements.front()];
  std::vector<int64_t> sizes{static_cast<int64_t>(elements.size())};
  std::ranges::copy(first.shape.dims(), std::back_inserter(sizes));
  const ir::ValueId whole = graph_.add_value(node.name, first.dtype, Shape(sizes));
  ir::Node stack = node;
  stack.op = AtenOp::stack_default;
  stack.inputs = std::move(elements);
  stack.outputs = {whole};
  stack.attributes = {{"dim", int64_t{0}}};
  graph_.add_node(std::move(stack));
  return whole;
}

// Example: scan(f, [h0], [x], [w]) with x of 2 elements
//   h1, y1 = f(h0, x[0], w); h2, y2 = f(h1, x[1], w)
// gives h2 and stack([y1, y2]). map has no state.
void Importer::import_sequence(Scope& scope, JsonView json, const ir::Node& node) {
  SequenceArguments arguments = sequence_arguments_of(scope, json["inputs"]);
  const size_t lists = arguments.lists.size();
  if (!arguments.graph || (lists != 2 && lists != 3)) return json["inputs"].complain("a graph, and two or three lists");
  std::vector<ir::ValueId> state = lists == 3 ? arguments.lists.front() : std::vector<ir::ValueId>();
  const std::vector<ir::ValueId>& sequences = arguments.lists[lists - 2];
  const int64_t length = length_of(graph_, sequences);
  unrolled_ += length;
  if (length == 0 || unrolled_ > kMaxUnrolled)
    return reject_operator(scope, json, node,
                           length == 0 ? "its sequences have different lengths, or none"
                                       : fmt::format("sequences are unrolled: at most {} elements", kMaxUnrolled),
                           {});
  std::vector<std::vector<ir::ValueId>> results;  // one list for each sequence of results
  for (int64_t n = 0; n < length; ++n) {
    std::vector<ir::ValueId> operands = state;
    for (const ir::ValueId sequence : sequences) operands.push_back(element_of(node, sequence, n));
    std::ranges::copy(arguments.lists.back(), std::back_inserter(operands));
    const std::vector<ir::ValueId> made = inlined(*arguments.graph, operands, where_of(node));
    if (broken() || made.size() < state.size()) return;
    std::copy_n(made.begin(), state.size(), state.begin());
    results.resize(made.size() - state.size());
    for (size_t i = 0; i < results.size(); ++i) results[i].push_back(made[state.size() + i]);
  }
  for (std::vector<ir::ValueId>& elements : results) state.push_back(stacked(node, std::move(elements)));
  bind_results(scope, json["outputs"], state);
}

}  // namespace carina::pt2
