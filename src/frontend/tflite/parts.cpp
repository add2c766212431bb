#include "frontend/tflite/parts.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace carina::tflite {

namespace {

bool contains(const std::vector<int32_t>& list, int32_t value) {
  return std::ranges::find(list, value) != list.end();
}

// Operators whose order matters beyond what they read and write as tensors.
bool has_effects(const Subgraph& graph, const Operator& op) {
  constexpr std::string_view kWithEffects[] = {"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE", "IF",
                                               "WHILE",      "CALL"};
  if (std::ranges::find(kWithEffects, op.name) != std::end(kWithEffects)) return true;
  return std::ranges::any_of(op.inputs, [&](int32_t index) {
    return index != kAbsent && graph.tensors[static_cast<size_t>(index)].is_variable;
  });
}

// For each operator the operators that must run before it.
std::vector<std::vector<size_t>> predecessors(const Subgraph& graph) {
  std::vector<std::optional<size_t>> producer(graph.tensors.size());
  std::vector<std::vector<size_t>> out(graph.operators.size());
  std::optional<size_t> last_effect;
  for (size_t i = 0; i < graph.operators.size(); ++i) {
    const Operator& op = graph.operators[i];
    for (const int32_t input : op.inputs) {
      if (input != kAbsent && producer[static_cast<size_t>(input)])
        out[i].push_back(*producer[static_cast<size_t>(input)]);
    }
    for (const int32_t output : op.outputs) producer[static_cast<size_t>(output)] = i;
    if (!has_effects(graph, op)) continue;
    if (last_effect) out[i].push_back(*last_effect);
    last_effect = i;
  }
  return out;
}

bool is_variable(const Subgraph& graph, int32_t tensor) {
  return tensor != kAbsent && graph.tensors[static_cast<size_t>(tensor)].is_variable;
}

// The variable tensors of a part while operators are added to it.
class Variables {
 public:
  explicit Variables(const Subgraph& graph) : graph_(graph) {}

  // Adds those of an operator. Returns false, and adds none, if there would be too many for a stream.
  bool add(const Operator& op) {
    std::vector<int32_t> all = tensors_;
    for (const int32_t input : op.inputs) {
      if (is_variable(graph_, input) && !contains(all, input)) all.push_back(input);
    }
    if (all.size() > kMaxVariables) return false;
    tensors_ = std::move(all);
    return true;
  }

 private:
  const Subgraph& graph_;
  std::vector<int32_t> tensors_;
};

void add_borders(const Subgraph& graph, Part& part) {
  std::vector<bool> inside(graph.operators.size());
  std::vector<bool> written(graph.tensors.size());
  for (const size_t i : part.operators) {
    inside[i] = true;
    for (const int32_t output : graph.operators[i].outputs) written[static_cast<size_t>(output)] = true;
  }
  for (const size_t i : part.operators) {
    for (const int32_t input : graph.operators[i].inputs) {
      if (input == kAbsent || graph.tensors[static_cast<size_t>(input)].is_constant) continue;
      if (graph.tensors[static_cast<size_t>(input)].shape.elements() == 0) continue;  // an empty list of sizes
      if (!written[static_cast<size_t>(input)] && !contains(part.inputs, input)) part.inputs.push_back(input);
    }
  }
  // A stream's variables are its first inputs.
  const auto others = std::ranges::stable_partition(part.inputs, [&](int32_t i) { return is_variable(graph, i); });
  if (part.on_npu) part.variables.assign(part.inputs.begin(), others.begin());
  const auto is_read_outside = [&](int32_t tensor) {
    if (contains(graph.outputs, tensor)) return true;
    for (size_t i = 0; i < graph.operators.size(); ++i) {
      if (!inside[i] && contains(graph.operators[i].inputs, tensor)) return true;
    }
    return false;
  };
  for (const size_t i : part.operators) {
    for (const int32_t output : graph.operators[i].outputs) {
      if (is_read_outside(output)) part.outputs.push_back(output);
    }
  }
  part.outputs.insert(part.outputs.end(), part.variables.begin(), part.variables.end());
}

}  // namespace

Part part_of(const Subgraph& graph, std::vector<size_t> operators, bool on_npu) {
  Part part{.on_npu = on_npu, .operators = std::move(operators), .inputs = {}, .outputs = {}};
  add_borders(graph, part);
  return part;
}

std::vector<Part> split_operators(const Subgraph& graph, const std::vector<bool>& on_npu) {
  const std::vector<std::vector<size_t>> before = predecessors(graph);
  std::vector<bool> done(graph.operators.size());
  std::vector<Part> parts;
  size_t left = graph.operators.size();
  for (bool kind = false; left > 0; kind = !kind) {
    std::vector<size_t> ready;
    Variables variables(graph);
    for (size_t i = 0; i < graph.operators.size(); ++i) {
      const bool is_ready = std::ranges::all_of(before[i], [&](size_t other) { return done[other]; });
      if (done[i] || on_npu[i] != kind || !is_ready) continue;
      if (kind && !variables.add(graph.operators[i])) continue;
      done[i] = true;
      ready.push_back(i);
    }
    if (ready.empty()) continue;
    left -= ready.size();
    parts.push_back(part_of(graph, std::move(ready), kind));
  }
  return parts;
}

Model model_of(const Subgraph& graph, const Part& part) {
  Subgraph cut{.name = graph.name,
               .tensors = graph.tensors,
               .inputs = part.inputs,
               .outputs = part.outputs,
               .operators = {},
               .rounding = graph.rounding};
  for (const size_t i : part.operators) cut.operators.push_back(graph.operators[i]);
  return {.description = {}, .subgraphs = {std::move(cut)}, .is_part = true};
}

}  // namespace carina::tflite
