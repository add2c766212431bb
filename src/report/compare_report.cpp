#include "report/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/report_parts_internal.h"
#include "report/tables/json.h"
#include "report/tables/text_table.h"

namespace carina::report {

namespace {

// The ratio a / b: "0.75", or "-" if b is 0.
std::string ratio(int64_t a, int64_t b) {
  return a == 0 || b == 0 ? "-" : fmt::format("{:.3f}", static_cast<double>(a) / static_cast<double>(b));
}

struct Total {
  std::string_view name;
  int64_t results::ComparedSide::* figure;
};
constexpr auto kTotals = std::to_array<Total>({
    {"cycles", &results::ComparedSide::cycles},
    {"MACs", &results::ComparedSide::macs},
    {"NPU operations", &results::ComparedSide::operations},
    {"SRAM held at most B", &results::ComparedSide::sram_bytes},
    {"arena B", &results::ComparedSide::arena_bytes},
    {"fast scratch B", &results::ComparedSide::fast_scratch_bytes},
    {"constants B", &results::ComparedSide::constants_bytes},
    {"commands B", &results::ComparedSide::commands_bytes},
});

std::string side_line(std::string_view which, const results::ComparedSide& side) {
  return fmt::format("{}: {} on {} ({}, {}, {} MHz)\n", which, side.label, side.target, side.system_config,
                     side.memory_mode, side.clock_hz / 1'000'000);
}

npu::CycleInterval interval_of(const results::ComparedSide& side) {
  return npu::cycle_interval(side.target, side.cycles, side.memory_cycles);
}
// "A, hardware: 5,839 to 9,408 cycles expected (..)", or nothing.
std::string interval_line(std::string_view which, const results::ComparedSide& side) {
  const std::string text = interval_text(interval_of(side));
  return text.empty() ? text : fmt::format("{}, {}", which, text);
}

std::string cell(const std::optional<results::LayerReport>& layer, int64_t results::LayerReport::* figure) {
  return layer ? grouped((*layer).*figure) : "-";
}
std::string held(const std::optional<results::LayerReport>& layer) {
  return layer && layer->held_sram_bytes ? grouped(*layer->held_sram_bytes) : "-";
}

std::string layers_table(const results::CompareReport& report) {
  using enum Align;
  Table table({{.title = "layer"},
               {.title = "A"},
               {.title = "B"},
               {.title = "A cycles", .align = kRight},
               {.title = "B cycles", .align = kRight},
               {.title = "A/B", .align = kRight},
               {.title = "A SRAM held", .align = kRight},
               {.title = "B SRAM held", .align = kRight}});
  for (const results::ComparedLayer& row : report.layers) {
    table.add({row.name, row.a ? row.a->operation : "-", row.b ? row.b->operation : "-",
               cell(row.a, &results::LayerReport::cycles), cell(row.b, &results::LayerReport::cycles),
               row.a && row.b ? ratio(row.a->cycles, row.b->cycles) : "-", held(row.a), held(row.b)});
  }
  return table.text(2);
}

std::vector<std::string> traffic_names(const results::CompareReport& report) {
  std::vector<std::string> names;
  for (const results::ComparedSide* side : {&report.a, &report.b}) {
    for (const auto& [name, bytes] : side->traffic_bytes) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

int64_t traffic_of(const results::ComparedSide& side, const std::string& name) {
  for (const auto& [known, bytes] : side.traffic_bytes) {
    if (known == name) return bytes;
  }
  return 0;
}

std::string totals_table(const results::CompareReport& report) {
  using enum Align;
  Table table({{.title = "in all"},
               {.title = "A", .align = kRight},
               {.title = "B", .align = kRight},
               {.title = "A/B", .align = kRight}});
  const auto add = [&](std::string name, int64_t a, int64_t b) {
    if (a != 0 || b != 0) table.add({std::move(name), grouped(a), grouped(b), ratio(a, b)});
  };
  for (const Total& total : kTotals) add(std::string(total.name), report.a.*total.figure, report.b.*total.figure);
  for (const std::string& name : traffic_names(report))
    add("traffic " + name + " B", traffic_of(report.a, name), traffic_of(report.b, name));
  return table.text(2);
}

Json side_json(const results::ComparedSide& side) {
  Json traffic = Json::object();
  for (const auto& [name, bytes] : side.traffic_bytes) traffic[name] = bytes;
  return {{"label", side.label},
          {"target", side.target},
          {"system_config", side.system_config},
          {"memory_mode", side.memory_mode},
          {"clock_hz", side.clock_hz},
          {"cycles", side.cycles},
          {"cycles_interval", interval_json(interval_of(side))},
          {"macs", side.macs},
          {"operations", side.operations},
          {"sram_bytes", side.sram_bytes},
          {"arena_bytes", side.arena_bytes},
          {"fast_scratch_bytes", side.fast_scratch_bytes},
          {"constants_bytes", side.constants_bytes},
          {"commands_bytes", side.commands_bytes},
          {"traffic_bytes", traffic}};
}

Json layer_json(const std::optional<results::LayerReport>& layer) {
  if (!layer) return nullptr;
  Json json = {{"operation", layer->operation},
               {"cycles", layer->cycles},
               {"macs", layer->macs},
               {"bottleneck", layer->bottleneck},
               {"utilization", layer->utilization}};
  json["held_sram_bytes"] = layer->held_sram_bytes ? Json(*layer->held_sram_bytes) : nullptr;
  return json;
}

}  // namespace

std::string to_text(const results::CompareReport& report) {
  return side_line("A", report.a) + side_line("B", report.b) +
         (report.by_name ? "layers by name:\n" : "layers by kind and order:\n") + layers_table(report) +
         totals_table(report) + interval_line("A", report.a) + interval_line("B", report.b);
}

std::string to_json(const results::CompareReport& report) {
  Json layers = Json::array();
  for (const results::ComparedLayer& row : report.layers)
    layers.push_back({{"name", row.name}, {"a", layer_json(row.a)}, {"b", layer_json(row.b)}});
  return json_text({{"a", side_json(report.a)},
                    {"b", side_json(report.b)},
                    {"matched_by", report.by_name ? "name" : "order"},
                    {"layers", layers}});
}

}  // namespace carina::report
