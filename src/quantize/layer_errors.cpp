#include "quantize/layer_errors.h"

#include <algorithm>
#include <functional>

#include "facts/aten_traits.h"

namespace carina::quantize {

namespace {

constexpr double kExact = 300;   // dB
constexpr double kLargest = 99;  // larger values count as this, since an undisturbed value would otherwise dominate

std::vector<bool> fused_values(const ir::Graph& graph) {
  const auto users = ir::users(graph);
  std::vector<bool> fused(graph.values.size(), false);
  for (size_t v = 0; v < fused.size(); ++v) {
    if (users[v].size() != 1) continue;
    const ir::Node& user = graph[users[v].front()];
    fused[v] = traits_of(user.op.aten()).quantization == AtenQuantization::kActivation;
  }
  return fused;
}

double entered(double before, double after) {
  return before > after ? std::min(before, kLargest) - std::min(after, kLargest) : 0;
}

}  // namespace

std::vector<LayerError> layer_errors(const ir::Graph& reference, const std::map<std::string, Similarity>& values) {
  const std::vector<bool> fused = fused_values(reference);
  std::vector<double> similarity(reference.values.size(), kExact);  // of a fused value: that of the value before it
  for (const ir::ValueId input : reference.inputs) {
    const auto own = values.find(reference[input].name);
    if (own != values.end() && own->second.elements > 0) similarity[input.index()] = own->second.sqnr_db();
  }
  std::vector<LayerError> errors;
  for (size_t n = 0; n < reference.nodes.size(); ++n) {
    const ir::Node& node = reference.nodes[n];
    if (node.outputs.empty() || !node.outputs.front().valid()) continue;
    double before = kExact;
    for (const ir::ValueId input : node.inputs) {
      if (input.valid()) before = std::min(before, similarity[input.index()]);
    }
    const ir::ValueId result = node.outputs.front();
    const auto own = values.find(reference[result].name);
    const bool is_compared = own != values.end() && own->second.elements > 0 && !fused[result.index()];
    const double after = is_compared ? own->second.sqnr_db() : before;
    similarity[result.index()] = after;
    if (is_compared)
      errors.push_back(
          {.node = ir::NodeId(n), .before_db = before, .after_db = after, .entered_db = entered(before, after)});
  }
  return errors;
}

std::vector<std::string> worst_layers(const ir::Graph& reference, const std::vector<LayerError>& errors, size_t count) {
  std::vector<LayerError> sorted = errors;
  std::ranges::stable_sort(sorted, std::ranges::greater(), &LayerError::entered_db);
  std::vector<std::string> names;
  for (const LayerError& error : sorted) {
    const std::string& name = reference[error.node].name;
    // A node of the model may have become several layers.
    if (names.size() < count && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace carina::quantize
