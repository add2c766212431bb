#include "report/tables/sweep_json.h"

#include <nlohmann/json.hpp>

#include "report/tables/json.h"

// The conversions are in the namespace of the type, because the JSON library finds them by argument-dependent lookup.
namespace carina::results {

NLOHMANN_JSON_SERIALIZE_ENUM(Fits, {{Fits::kNotAsked, nullptr}, {Fits::kYes, true}, {Fits::kNo, false}})
NLOHMANN_JSON_SERIALIZE_ENUM(SweepStatus, {{SweepStatus::kCompiled, "compiled"},
                                           {SweepStatus::kRejected, "refused"},
                                           {SweepStatus::kFailed, "failed"}})

}  // namespace carina::results

namespace carina::report {

namespace {

using nlohmann::ordered_json;

// An object {"name": value ...} in the order of the list.
template <typename Number>
ordered_json members(const std::vector<std::pair<std::string, Number>>& list) {
  ordered_json json = ordered_json::object();
  for (const auto& [name, value] : list) json[name] = value;
  return json;
}

template <typename Number>
void read(const ordered_json& json, std::vector<std::pair<std::string, Number>>& list) {
  for (const auto& [name, value] : json.items()) list.emplace_back(name, value.template get<Number>());
}

ordered_json json_of(const results::SweepLayer& layer) {
  return {{"name", layer.name},
          {"macs", layer.macs},
          {"cycles", layer.cycles},
          {"traffic_bytes", layer.traffic_bytes},
          {"bottleneck", layer.bottleneck}};
}

results::SweepLayer layer_of(const ordered_json& json) {
  return {.name = json.at("name"),
          .macs = json.at("macs"),
          .cycles = json.at("cycles"),
          .traffic_bytes = json.at("traffic_bytes"),
          .bottleneck = json.at("bottleneck")};
}

ordered_json json_of(const results::ExpectedCycles& expected) {
  return {{"lowest", expected.lowest},
          {"highest", expected.highest},
          {"waits_for_memory", expected.waits_for_memory},
          {"basis", expected.basis}};
}

results::ExpectedCycles expected_of(const ordered_json& json) {
  return {.lowest = json.at("lowest"),
          .highest = json.at("highest"),
          .waits_for_memory = json.at("waits_for_memory"),
          .basis = json.at("basis")};
}

ordered_json json_of(const results::SweepAccuracy& accuracy) {
  return {{"sqnr_db", accuracy.sqnr_db},
          {"metric", accuracy.metric},
          {"unit", accuracy.unit},
          {"of_float", accuracy.of_float},
          {"of_npu", accuracy.of_npu}};
}

results::SweepAccuracy accuracy_of(const ordered_json& json) {
  return {.sqnr_db = json.at("sqnr_db"),
          .metric = json.at("metric"),
          .unit = json.at("unit"),
          .of_float = json.at("of_float"),
          .of_npu = json.at("of_npu")};
}

ordered_json json_of(const results::SweepRow& row) {
  ordered_json json = ordered_json::object();
  if (!row.model.empty()) json["model"] = row.model;
  json.update({{"quantization", row.quantization},
               {"target", row.target},
               {"system_config", row.system_config},
               {"memory_mode", row.memory_mode},
               {"status", row.status},
               {"reason", row.reason},
               {"notes", row.notes}});
  if (row.status != results::SweepStatus::kCompiled) return json;
  json.update({{"macs_per_cycle", row.macs_per_cycle},
               {"clock_hz", row.clock_hz},
               {"cycles", row.cycles},
               {"cycles_interval", json_of(row.expected)},
               {"macs", row.macs},
               {"npu_nodes", row.npu_nodes},
               {"cpu_nodes", row.cpu_nodes},
               {"cpu_cycles", row.cpu_cycles},
               {"sram_bytes", row.sram_bytes},
               {"program_bytes", row.program_bytes},
               {"program_sha256", row.program_sha256},
               {"traffic_bytes", members(row.traffic_bytes)},
               {"bytes_per_cycle", members(row.bytes_per_cycle)}});
  if (row.fits != results::Fits::kNotAsked) json["fits"] = row.fits;
  if (row.accuracy) json["accuracy"] = json_of(*row.accuracy);
  json["layers"] = ordered_json::array();
  for (const results::SweepLayer& layer : row.layers) json["layers"].push_back(json_of(layer));
  return json;
}

void read_figures(const ordered_json& json, results::SweepRow& row) {
  row.macs_per_cycle = json.at("macs_per_cycle");
  row.clock_hz = json.at("clock_hz");
  row.cycles = json.at("cycles");
  // Rows of older sweeps have no interval.
  if (json.contains("cycles_interval")) row.expected = expected_of(json.at("cycles_interval"));
  row.macs = json.at("macs");
  row.npu_nodes = json.at("npu_nodes");
  row.cpu_nodes = json.at("cpu_nodes");
  row.cpu_cycles = json.at("cpu_cycles");
  row.sram_bytes = json.at("sram_bytes");
  row.program_bytes = json.at("program_bytes");
  if (json.contains("fits")) row.fits = json.at("fits").get<results::Fits>();
  if (json.contains("accuracy")) row.accuracy = accuracy_of(json.at("accuracy"));
  row.program_sha256 = json.at("program_sha256");
  read(json.at("traffic_bytes"), row.traffic_bytes);
  read(json.at("bytes_per_cycle"), row.bytes_per_cycle);
  for (const ordered_json& layer : json.at("layers")) row.layers.push_back(layer_of(layer));
}

results::SweepRow row_of(const ordered_json& json) {
  results::SweepRow row{.quantization = json.at("quantization"),
                        .target = json.at("target"),
                        .system_config = json.at("system_config"),
                        .memory_mode = json.at("memory_mode"),
                        .status = json.at("status").get<results::SweepStatus>(),
                        .reason = json.at("reason"),
                        .notes = json.at("notes").get<std::vector<std::string>>()};
  row.model = json.value("model", "");
  if (row.status == results::SweepStatus::kCompiled) read_figures(json, row);
  return row;
}

}  // namespace

std::string to_json(const results::SweepReport& report) {
  ordered_json json{{"model", report.model}, {"rows", ordered_json::array()}};
  for (const results::SweepRow& row : report.rows) json["rows"].push_back(json_of(row));
  return json_tree_text(json);
}

std::string json_row(const results::SweepRow& row) {
  constexpr std::string_view kIndent = "    ";
  std::string text(kIndent);
  for (const char c : json_of(row).dump(2, ' ', false, ordered_json::error_handler_t::replace)) {
    text += c;
    if (c == '\n') text += kIndent;
  }
  return text;
}

Result<results::SweepReport> read_sweep(std::string_view text, const std::string& name) {
  try {
    const ordered_json json = ordered_json::parse(text);
    results::SweepReport report{.model = json.at("model"), .rows = {}};
    for (const ordered_json& row : json.at("rows")) report.rows.push_back(row_of(row));
    return report;
  } catch (const ordered_json::exception& error) {
    return fail({.where = name,
                 .what = "this is not the JSON of a sweep",
                 .expected = "what `carina sweep --json` prints",
                 .got = error.what()});
  }
}

std::string to_json_line(const results::SweepLine& line) {
  ordered_json json{{"scheme", line.scheme}, {"target", line.target}, {"memory_mode", line.memory_mode}};
  if (!line.program.empty()) json["program"] = line.program;
  if (line.machine) json["machine"] = true;
  if (line.unprepared) json["unprepared"] = true;
  json["row"] = json_of(line.row);
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Result<results::SweepLine> read_sweep_line(std::string_view text, const std::string& name) {
  try {
    const ordered_json json = ordered_json::parse(text);
    return results::SweepLine{.scheme = json.at("scheme"),
                              .target = json.at("target"),
                              .memory_mode = json.at("memory_mode"),
                              .program = json.value("program", ""),
                              .machine = json.value("machine", false),
                              .unprepared = json.value("unprepared", false),
                              .row = row_of(json.at("row"))};
  } catch (const ordered_json::exception& error) {
    return fail({.where = name,
                 .what = "this is not a line of a sweep",
                 .expected = "what `carina sweep --state` keeps",
                 .got = error.what()});
  }
}

}  // namespace carina::report
