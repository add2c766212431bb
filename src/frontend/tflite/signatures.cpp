#include "frontend/tflite/signatures.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace carina::tflite {

std::vector<std::string> separate_signatures(const Model& model) {
  std::set<size_t> graphs;
  std::vector<std::string> keys;
  for (const Signature& signature : model.signatures) {
    graphs.insert(signature.subgraph);
    keys.push_back(signature.key);
  }
  return graphs.size() > 1 ? keys : std::vector<std::string>();
}

Result<void> choose_signature(Model& model, const std::string& key, const std::string& where) {
  const auto found = std::ranges::find(model.signatures, key, &Signature::key);
  if (found == model.signatures.end()) {
    std::vector<std::string> keys;
    for (const Signature& signature : model.signatures) keys.push_back(signature.key);
    return fail({.where = where,
                 .what = "no signature has this name",
                 .expected = fmt::format("{}", fmt::join(keys, ", ")),
                 .got = key,
                 .fault = Fault::kUsage});
  }
  model.signature = key;
  const size_t chosen = found->subgraph;
  const auto moved = [&](size_t graph) { return graph == chosen ? 0 : graph == 0 ? chosen : graph; };
  std::swap(model.subgraphs.front(), model.subgraphs[chosen]);
  for (Signature& signature : model.signatures) signature.subgraph = moved(signature.subgraph);
  for (Subgraph& graph : model.subgraphs) {
    for (Operator& op : graph.operators) {
      int32_t& run = op.options.init_subgraph;
      if (run >= 0) run = static_cast<int32_t>(moved(static_cast<size_t>(run)));
    }
  }
  return {};
}

std::vector<const Subgraph*> graphs_of_others(const Model& model) {
  std::vector<const Subgraph*> graphs;
  if (model.signature.empty()) return graphs;
  for (const Signature& signature : model.signatures) {
    const Subgraph* graph = &model.subgraphs[signature.subgraph];
    if (signature.subgraph != 0 && std::ranges::find(graphs, graph) == graphs.end()) graphs.push_back(graph);
  }
  return graphs;
}

}  // namespace carina::tflite
