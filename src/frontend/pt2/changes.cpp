// The changes that a program makes to its inputs and constants: they become state, notes or errors.
//   Example: calls.add_(1) on a buffer makes `calls` the last input of the graph, and the sum its last output.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "frontend/pt2/importer_internal.h"
#include "ir/pass.h"

namespace carina::pt2 {

void Importer::import_mutation(const Scope& scope, std::string_view kind, JsonView spec, JsonView output) {
  // The signature has the name of the user's model. The value has the name of the graph input.
  if (kind == "user_input_mutation") {
    overwritten_.emplace(spec["user_input_name"].text());
    return;
  }
  const std::string_view name = spec[kind == "buffer_mutation" ? "buffer_name" : "parameter_name"].text();
  const auto [form, argument] = output.alternative();
  const std::optional<ir::ValueId> last = form == "as_tensor" ? scope.find(argument["name"].text()) : std::nullopt;
  const auto stored = std::ranges::find(stored_, name, &StoredTensor::name);
  if (stored != stored_.end() && last && last->valid()) stored->last = *last;
}

// A program that is not functional changes its buffers in place. Their names then stand for other values.
void Importer::find_last_contents(const Scope& scope) {
  for (StoredTensor& stored : stored_) {
    const std::optional<ir::ValueId> now = scope.find(stored.placeholder);
    if (!stored.last.valid() && now) stored.last = *now;
    if (stored.last == stored.value) stored.last = {};
  }
}

namespace {

// Marks the values from which `value` is computed.
void mark_sources(const ir::Graph& graph, ir::ValueId value, std::vector<bool>& marked) {
  marked[value.index()] = true;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const ir::Node& node = graph.nodes[n];
    const auto is_marked = [&](ir::ValueId id) { return id.valid() && marked[id.index()]; };
    if (std::ranges::none_of(node.outputs, is_marked)) continue;
    for (const ir::ValueId input : node.inputs) {
      if (input.valid()) marked[input.index()] = true;
    }
  }
}

// Whether it is a buffer of torch.nn's batch and instance norms, which they update in training.
bool is_statistic(std::string_view name) {
  const auto ends_with = [&](std::string_view end) { return name.ends_with(end); };
  return std::ranges::any_of(std::array<std::string_view, 3>{"running_mean", "running_var", "num_batches_tracked"},
                             ends_with);
}

}  // namespace

// Makes a buffer that the program changes an input and an output, also if it is only written: a caller can read it. The
// statistics of a batch norm in training are left out if no result depends on them.
Result<void> Importer::add_states() {
  std::vector<bool> needed(graph_.values.size(), false);
  for (const ir::ValueId output : graph_.outputs) mark_sources(graph_, output, needed);
  const auto is_new = [&](const StoredTensor& stored) {
    if (!graph_[stored.value].constant) return false;
    if (options_.shared_states.contains(stored.name)) return true;
    return stored.last.valid() && (needed[stored.value.index()] || !is_statistic(stored.name));
  };
  Diagnostics changed;
  std::vector<size_t> states;
  for (auto next = std::ranges::find_if(stored_, is_new); next != stored_.end();
       next = std::ranges::find_if(stored_, is_new)) {
    if (!next->last.valid()) next->last = next->value;  // only read
    ir::Value& value = graph_[next->value];
    const ir::Value& last = graph_[next->last];
    if (last.dtype != value.dtype || last.shape != value.shape) {
      changed.push_back({.where = fmt::format("{}: {}", archive_.where(), next->name),
                         .what = "the model changes the type or the shape of this buffer",
                         .expected = fmt::format("{} {}", name_of(value.dtype), to_string(value.shape)),
                         .got = fmt::format("{} {}", name_of(last.dtype), to_string(last.shape)),
                         .hint = "keep state in a buffer of a fixed type and shape"});
    }
    states.push_back(static_cast<size_t>(next - stored_.begin()));
    graph_.states.push_back({.name = next->name, .initial = *std::exchange(value.constant, std::nullopt)});
    mark_sources(graph_, next->last, needed);
  }
  const auto left = std::ranges::find_if(stored_, [&](const StoredTensor& stored) {
    return stored.last.valid() && graph_[stored.value].constant && is_statistic(stored.name);
  });
  if (left != stored_.end())
    note(fmt::format("the program does not keep {} and other statistics of norms in training, which no result needs",
                     left->name));
  for (const size_t state : states) graph_.inputs.push_back(stored_[state].value);
  for (const size_t state : states) graph_.outputs.push_back(stored_[state].last);
  if (!changed.empty()) return fail(std::move(changed));
  return {};
}

// Handles each changed value. A change of an input is dropped with a note. A changed buffer is state. A change of a
// constant of the program's own text is an error, since it cannot be told whether it lasts.
Result<void> Importer::settle_changes(const Scope& scope) {
  find_last_contents(scope);
  CARINA_CHECKED(add_states());
  ir::remove_dead(graph_);
  Diagnostics constants;
  for (const std::string& name : overwritten_) {
    const std::optional<ir::ValueId> id = graph_.find_value(name);
    if (!id) continue;
    const auto inputs = std::span(graph_.inputs).first(graph_.inputs_without_state());
    if (graph_[*id].constant) {
      constants.push_back({.where = fmt::format("{}: {}", archive_.where(), name),
                           .what = "the model changes this constant when it runs, and reads it",
                           .hint = "register it as a buffer, whose changes last from run to run"});
    } else if (std::ranges::find(inputs, *id) != inputs.end()) {
      note(fmt::format("the model overwrites its input {}; the compiled program leaves the caller's tensor as it is",
                       name));
    }
  }
  if (!constants.empty()) return fail(std::move(constants));
  return ir::verify_structure(graph_);
}

}  // namespace carina::pt2
