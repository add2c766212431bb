#include "report/tables/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace carina::report {

namespace {

using Counts = std::vector<std::pair<std::string, int64_t>>;

// The operations of a layer as text: "conv", "conv x80", "conv x80 + dma".
std::string operations_text(const std::vector<const results::LayerReport*>& operations) {
  std::vector<std::pair<std::string, int64_t>> counts;
  for (const results::LayerReport* operation : operations) {
    const auto same = std::ranges::find(counts, operation->operation, &std::pair<std::string, int64_t>::first);
    if (same == counts.end()) {
      counts.emplace_back(operation->operation, 1);
    } else {
      ++same->second;
    }
  }
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{}{}", text.empty() ? "" : " + ", name, count == 1 ? "" : fmt::format(" x{}", count));
  return text;
}

void add(Counts& sums, const Counts& more) {
  for (const auto& [name, count] : more) {
    const auto same = std::ranges::find(sums, name, &Counts::value_type::first);
    same == sums.end() ? static_cast<void>(sums.emplace_back(name, count)) : static_cast<void>(same->second += count);
  }
}

// Combines the operations of one layer.
results::LayerReport folded(const std::vector<const results::LayerReport*>& operations) {
  results::LayerReport sum{
      .name = operations.front()->name, .operation = operations_text(operations), .breakdown = {}, .bottleneck = {}};
  sum.start_cycle = operations.front()->start_cycle;
  std::map<std::string, int64_t> bound_cycles;
  double used = 0;
  for (const results::LayerReport* operation : operations) {
    sum.macs += operation->macs;
    sum.cycles += operation->cycles;
    sum.npu_cycles += operation->npu_cycles;
    add(sum.breakdown, operation->breakdown);
    add(sum.causes, operation->causes);
    add(sum.access_cycles, operation->access_cycles);
    add(sum.traffic_bytes, operation->traffic_bytes);
    sum.held_sram_bytes = std::max(sum.held_sram_bytes, operation->held_sram_bytes);
    if (sum.tosa_op.empty()) sum.tosa_op = operation->tosa_op;
    if (sum.source.empty()) sum.source = operation->source;
    used += operation->utilization * static_cast<double>(operation->cycles);
    bound_cycles[operation->bottleneck] += operation->cycles;
  }
  sum.utilization = sum.cycles == 0 ? 0 : used / static_cast<double>(sum.cycles);
  sum.bottleneck = std::ranges::max_element(bound_cycles, {}, &std::pair<const std::string, int64_t>::second)->first;
  sum.nodes = operations.front()->nodes;
  return sum;
}

// The layers in the order of their first operations.
std::vector<results::LayerReport> folded_layers(const std::vector<results::LayerReport>& layers) {
  std::vector<std::vector<const results::LayerReport*>> groups;
  std::map<std::string_view, size_t> group_of;
  for (const results::LayerReport& layer : layers) {
    const auto [group, is_new] = group_of.emplace(layer.name, groups.size());
    if (is_new) groups.emplace_back();
    groups[group->second].push_back(&layer);
  }
  std::vector<results::LayerReport> rows;
  for (const auto& group : groups) rows.push_back(folded(group));
  return rows;
}

}  // namespace

std::vector<results::LayerReport> rows_of(const results::NpuReport& npu, LayerRows rows) {
  return rows == LayerRows::kEach ? npu.layers : folded_layers(npu.layers);
}

}  // namespace carina::report
