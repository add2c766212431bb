#include "explore/match_layers_internal.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>

#include "report/tables/layers.h"

namespace carina::explore {

namespace {

using Layers = std::vector<results::LayerReport>;

// Returns whether the layer has no note. Then its name is the number of its command.
bool is_unnamed(const results::LayerReport& layer) {
  return layer.name.starts_with("command ");
}
bool is_named(const Layers& layers) {
  return !layers.empty() && !std::ranges::all_of(layers, is_unnamed);
}

// Returns the layers. Unnamed transfers belong to the next operation. Layers are in the order of their computation,
// even if their weights are fetched earlier.
Layers with_transfers_joined(const results::NpuReport& npu) {
  results::NpuReport joined = npu;
  const auto is_transfer = [](const results::LayerReport& layer) { return layer.operation == "dma"; };
  for (size_t i = joined.layers.size(); i-- > 1;) {
    results::LayerReport& layer = joined.layers[i - 1];
    if (is_transfer(layer) && is_unnamed(layer)) layer.name = joined.layers[i].name;
  }
  std::ranges::stable_partition(joined.layers, std::not_fn(is_transfer));
  return report::rows_of(joined, report::LayerRows::kFolded);
}

// Returns the index of each layer by its name and the names of its nodes.
std::map<std::string, size_t> positions_of(const Layers& layers) {
  std::map<std::string, size_t> positions;
  for (size_t i = 0; i < layers.size(); ++i) {
    positions.emplace(layers[i].name, i);
    for (const std::string& node : layers[i].nodes) positions.emplace(node, i);
  }
  return positions;
}

// The sum of two layers, under the name of the first.
results::LayerReport merged(results::LayerReport first, const results::LayerReport& second) {
  results::NpuReport both;
  std::string operation =
      first.operation == second.operation ? first.operation : first.operation + " + " + second.operation;
  both.layers = {std::move(first), second};
  both.layers[1].name = both.layers[0].name;
  results::LayerReport sum = report::rows_of(both, report::LayerRows::kFolded).front();
  sum.operation = std::move(operation);
  return sum;
}

std::optional<size_t> index_of(const std::map<std::string, size_t>& positions, const results::LayerReport& layer) {
  if (const auto found = positions.find(layer.name); found != positions.end()) return found->second;
  for (const std::string& node : layer.nodes) {
    if (const auto found = positions.find(node); found != positions.end()) return found->second;
  }
  return std::nullopt;
}

std::vector<results::ComparedLayer> by_name(const Layers& a, const Layers& b) {
  const std::map<std::string, size_t> positions = positions_of(a);
  std::vector<std::vector<results::ComparedLayer>> groups(a.size() + 1);  // for each layer of `a`, and before the first
  for (size_t i = 0; i < a.size(); ++i) groups[i + 1].push_back({.name = a[i].name, .a = a[i]});
  size_t last = 0;
  for (const results::LayerReport& layer : b) {
    const auto layer_index = index_of(positions, layer);
    if (!layer_index) {
      groups[last].push_back({.name = layer.name, .b = layer});
      continue;
    }
    last = *layer_index + 1;
    std::optional<results::LayerReport>& beside = groups[last].front().b;
    beside = beside ? merged(*beside, layer) : layer;
  }
  std::vector<results::ComparedLayer> rows;
  for (const auto& group : groups) std::ranges::copy(group, std::back_inserter(rows));
  return rows;
}

// Returns "conv" for "conv x3 + dma x2".
std::string_view kind_of(const results::LayerReport& layer) {
  return std::string_view(layer.operation).substr(0, layer.operation.find(' '));
}

// Returns how similar two layers are; 0: they do not match.
int likeness(const results::LayerReport& a, const results::LayerReport& b) {
  if (kind_of(a) != kind_of(b)) return 0;
  if (a.macs == b.macs) return 3;
  const auto more = static_cast<double>(std::max(a.macs, b.macs));
  const auto less = static_cast<double>(std::min(a.macs, b.macs));
  return less >= 0.9 * more ? 2 : less >= 0.5 * more ? 1 : 0;
}

// Returns the pairs that keep the order of both and have the largest total similarity.
std::vector<results::ComparedLayer> by_order(const Layers& a, const Layers& b) {
  // by the number of remaining layers of both
  std::vector<std::vector<int>> best(a.size() + 1, std::vector<int>(b.size() + 1));
  const auto pair_of = [&](size_t i, size_t j) {
    const int like = likeness(a[i], b[j]);
    return like == 0 ? -1 : like + best[i + 1][j + 1];
  };
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) best[i][j] = std::max({best[i + 1][j], best[i][j + 1], pair_of(i, j)});
  }
  std::vector<results::ComparedLayer> rows;
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (i < a.size() && j < b.size() && best[i][j] == pair_of(i, j)) {
      rows.push_back({.name = a[i].name, .a = a[i], .b = b[j]});
      ++i, ++j;
    } else if (i < a.size() && best[i][j] == best[i + 1][j]) {
      rows.push_back({.name = a[i].name, .a = a[i]});
      ++i;
    } else {
      rows.push_back({.name = b[j].name, .b = b[j]});
      ++j;
    }
  }
  return rows;
}

}  // namespace

MatchedLayers match_layers(const results::NpuReport& a, const results::NpuReport& b) {
  const Layers rows_a = with_transfers_joined(a), rows_b = with_transfers_joined(b);
  if (is_named(rows_a) && is_named(rows_b)) return {.by_name = true, .layers = by_name(rows_a, rows_b)};
  return {.by_name = false, .layers = by_order(rows_a, rows_b)};
}

}  // namespace carina::explore
