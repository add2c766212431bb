#include <optional>
#include <string_view>

#include "carina/check.h"
#include "report/render.h"
#include "report/report_parts_internal.h"
#include "report/tables/json.h"

// The report of a compilation as JSON (docs/guide/reports.md lists the keys).
namespace carina::report {

namespace {

std::string_view json_name_of(results::RunsOn runs_on) {
  switch (runs_on) {
    case results::RunsOn::kNpu:
      return "npu";
    case results::RunsOn::kCpu:
      return "cpu";
    case results::RunsOn::kBoth:
      return "npu+cpu";
    case results::RunsOn::kFolded:
      return "folded";
    case results::RunsOn::kNowhere:
      return "nowhere";
    case results::RunsOn::kUndecided:
      return "undecided";
  }
  CARINA_UNREACHABLE("place", runs_on);
}

Json json_of(const std::optional<int64_t>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json memory_map_json(const std::vector<results::HeldBytes>& map) {
  Json json = Json::array();
  for (const results::HeldBytes& held : map)
    json.push_back({{"name", held.name},
                    {"layer", held.layer},
                    {"memory", held.memory},
                    {"address_bytes", held.address_bytes},
                    {"bytes", held.bytes},
                    {"first_operation", held.first_operation},
                    {"last_operation", held.last_operation}});
  return json;
}

Json legalized_json(const std::vector<results::LegalizedReport>& legalized) {
  Json list = Json::array();
  for (const results::LegalizedReport& entry : legalized)
    list.push_back({{"node", entry.node},
                    {"source", entry.source},
                    {"rule", entry.rule},
                    {"reason", entry.reason},
                    {"change", entry.change}});
  return list;
}

Json alternatives_json(const std::vector<results::Alternative>& alternatives) {
  Json json = Json::array();
  for (const results::Alternative& alternative : alternatives)
    json.push_back({{"what", alternative.what},
                    {"options", alternative.options},
                    {"failure", alternative.failure},
                    {"cycles", alternative.cycles},
                    {"cpu_cycles", alternative.cpu_cycles},
                    {"clock_hz", alternative.clock_hz},
                    {"sram_bytes", alternative.sram_bytes},
                    {"program_bytes", alternative.program_bytes}});
  return json;
}

Json compression_json(const results::Compression& compression) {
  Json layers = Json::array();
  for (const results::Compression::Layer& layer : compression.layers) {
    layers.push_back({{"layer", layer.name}, {"bytes", layer.now.bytes}, {"cycles", layer.now.cycles}});
    for (size_t i = 0; i < layer.compressed.size(); ++i)
      layers.back()["compressed"].push_back({{"options", compression.options[i]},
                                             {"bytes", layer.compressed[i].bytes},
                                             {"cycles", layer.compressed[i].cycles}});
  }
  return layers;
}

Json schemes_json(const std::vector<results::MeasuredScheme>& schemes) {
  Json json = Json::array();
  for (const results::MeasuredScheme& one : schemes)
    json.push_back({{"scheme", one.scheme},
                    {"wide", one.wide},
                    {"cycles", one.cycles},
                    {"cpu_cycles", one.cpu_cycles},
                    {"delegates", one.delegates},
                    {"sqnr_db", one.sqnr_db}});
  return json;
}

Json nodes_json(const results::CompileReport& report) {
  Json nodes = Json::array();
  for (const results::NodeReport& node : report.nodes) {
    nodes.push_back({{"name", node.name},
                     {"op", node.op},
                     {"source", node.source},
                     {"runs_on", json_name_of(node.runs_on)},
                     {"reason", node.reason},
                     {"hint", node.hint},
                     {"rule", node.rule},
                     {"cycles", node.cycles},
                     {"cpu_cycles", node.cpu_cycles},
                     {"inputs", node.inputs}});
  }
  return nodes;
}

Json check_json(const results::CheckReport& check) {
  return {{"operators", check.operators},
          {"samples", check.samples},
          {"unchecked", check.unchecked},
          {"left_out", check.left_out}};
}

Json delegates_json(const results::CompileReport& report) {
  Json delegates = Json::array();
  for (const results::DelegateReport& d : report.delegates) {
    delegates.push_back({{"tosa_operators", d.tosa_operators},
                         {"npu_operations", json_of(d.estimate ? std::optional(d.estimate->operations) : std::nullopt)},
                         {"macs", json_of(d.estimate ? std::optional(d.estimate->macs) : std::nullopt)},
                         {"cycles", json_of(d.estimate ? std::optional(d.estimate->cycles) : std::nullopt)},
                         {"command_stream_bytes", d.command_stream_bytes},
                         {"weight_bytes", d.weight_bytes},
                         {"scratch_bytes", d.scratch_bytes},
                         {"fast_scratch_bytes", d.fast_scratch_bytes},
                         {"sram_bound_bytes", d.sram_bound_bytes}});
    if (d.check) delegates.back()["check"] = check_json(*d.check);
    if (d.layers) delegates.back()["npu"] = npu_json(*d.layers);
    if (!d.memory_map.empty()) delegates.back()["memory_map"] = memory_map_json(d.memory_map);
    for (const auto& [what, content] : d.shown) delegates.back()["shown"][what] = content;
  }
  return delegates;
}

Json ports_json(const std::vector<results::PortReport>& ports) {
  Json json = Json::array();
  for (const results::PortReport& port : ports) {
    json.push_back({{"name", port.name}, {"dtype", port.dtype}, {"shape", port.shape}});
    if (!port.scale) continue;
    json.back()["scale"] = *port.scale;
    json.back()["zero_point"] = port.zero_point;
  }
  return json;
}

Json errors_json(const Diagnostics& list) {
  Json errors = Json::array();
  for (const Diagnostic& error : list) {
    errors.push_back({{"where", error.where},
                      {"what", error.what},
                      {"expected", error.expected},
                      {"got", error.got},
                      {"hint", error.hint}});
  }
  return errors;
}

Json float_edges_json(const results::CompileReport& report) {
  Json edges = Json::array();
  for (const results::FloatEdge& edge : report.float_edges)
    edges.push_back({{"name", edge.name}, {"bytes", edge.bytes}, {"io", report.integer_io}});
  return edges;
}

Json json_of(const results::CompileReport& report) {
  Json json = {
      {"model", report.model},
      {"target", report.target},
      {"system_config", report.system_config},
      {"memory_mode", report.memory_mode},
      {"optimize", report.optimize},
      {"dynamic_weights", report.dynamic_weights},
      {"sram_budget_bytes", report.sram_budget_bytes},
      {"flash_budget_bytes", report.flash_budget_bytes},
      {"arena_budget_bytes", report.arena_budget_bytes},
      {"arena_cache_bytes", report.cache_bytes},
      {"quantization", report.quantization},
      {"nodes", nodes_json(report)},
      {"delegates", delegates_json(report)},
      {"inputs", ports_json(report.inputs)},
      {"outputs", ports_json(report.outputs)},
      {"output", report.output},
      {"program_bytes", report.program_bytes},
      {"planned_bytes", report.planned_bytes},
      {"tables_bytes", report.tables_bytes},
      {"scratch_bytes", report.scratch_bytes},
      {"fast_scratch_bytes", report.fast_scratch_bytes},
      {"arena_memory", report.arena_memory},
      {"constants_memory", report.constants_memory},
      {"sram_bytes", sram_bytes_of(report)},
      {"clock_hz", report.clock_hz},
      {"cycles", json_of(report.cycles)},
      {"cycles_interval", report.cycles && report.clock_hz > 0
                              ? interval_json(npu::cycle_interval(report.target, *report.cycles, report.memory_cycles))
                              : Json(nullptr)},
      {"cpu_cycles", cpu_cycles_of(report)},
      {"conversion_cycles", report.conversion_cycles},
      {"inference_cycles", report.cycles ? Json(*report.cycles + cpu_cycles_of(report)) : Json(nullptr)},
      {"random_ranges", report.random_ranges},
      {"over_budget", errors_json(report.over_budget)},
      {"errors", errors_json(report.errors)}};
  if (!report.float_edges.empty()) json["float_edges"] = float_edges_json(report);
  if (!report.legalized.empty()) json["legalized"] = legalized_json(report.legalized);
  if (!report.schemes.empty()) json["schemes"] = schemes_json(report.schemes);
  if (!report.alternatives.empty()) json["alternatives"] = alternatives_json(report.alternatives);
  if (report.compression) json["compression"] = compression_json(*report.compression);
  if (!report.method.empty()) json["method"] = report.method;
  for (const results::CompileReport& method : report.methods) json["methods"].push_back(json_of(method));
  return json;
}

}  // namespace

std::string to_json(const results::CompileReport& report) {
  return json_text(json_of(report));
}

}  // namespace carina::report
