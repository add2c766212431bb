#include "report/render.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/tables/json.h"
#include "report/tables/text_table.h"

namespace carina::report {

namespace {

std::string decibels(double number) {
  return number >= 300 ? std::string("exact") : fmt::format("{:.1f}", number);
}

std::string layer_rows(const results::LayerAccuracyReport& report) {
  Table table({{.title = "node"},
               {.title = "operator"},
               {.title = "type"},
               {.title = "SQNR dB", .align = Align::kRight},
               {.title = "enters dB", .align = Align::kRight},
               {.title = "source"}});
  for (const results::LayerAccuracy& layer : report.layers)
    table.add({layer.node, layer.op, layer.type, decibels(layer.sqnr_db),
               layer.entered_db > 0 ? fmt::format("{:.1f}", layer.entered_db) : "", layer.source});
  return table.text(2);
}

// "+12.3 %"
std::string change_text(int64_t cycles, int64_t of) {
  if (cycles == 0 || of == 0) return "-";
  return fmt::format("{:+.1f} %", 100 * static_cast<double>(cycles - of) / static_cast<double>(of));
}

std::string remedy_rows(const results::LayerAccuracyReport& report) {
  const bool costs = !report.target.empty();
  std::vector<Table::Column> columns{
      {.title = "instead"}, {.title = "SQNR dB", .align = Align::kRight}, {.title = "gain dB", .align = Align::kRight}};
  if (costs) columns.push_back({.title = "cycles", .align = Align::kRight});
  if (costs) columns.push_back({.title = "change", .align = Align::kRight});
  columns.push_back({.title = "options"});
  Table table(std::move(columns));
  for (const results::Remedy& remedy : report.remedies) {
    std::vector<std::string> cells{remedy.what, decibels(remedy.sqnr_db), fmt::format("{:+.1f}", remedy.gain_db)};
    if (costs) cells.push_back(remedy.cycles == 0 ? "-" : grouped(remedy.cycles));
    if (costs) cells.push_back(change_text(remedy.cycles, report.cycles));
    cells.push_back(remedy.options);
    table.add(std::move(cells));
  }
  return table.text(2);
}

}  // namespace

std::string to_text(const results::LayerAccuracyReport& report) {
  std::string out = fmt::format("{}, {}, on {} sample{}: SQNR of the outputs {} dB\n", report.model, report.scheme,
                                report.samples, report.samples == 1 ? "" : "s", decibels(report.sqnr_db));
  for (const results::OutputAccuracy& output : report.outputs)
    out += fmt::format("  output {}: SQNR {} dB, mean absolute error {:.6g}\n", output.name, decibels(output.sqnr_db),
                       output.mean_absolute_error);
  out += "layers: how near each result is to the float model's, and how much of the error enters there\n";
  out += layer_rows(report);
  out += report.target.empty()
             ? "other schemes, measured on the same samples (--target adds their cycles)\n"
             : fmt::format("other schemes, measured on the same samples; cycles of NPU and CPU on {}, as asked: {}\n",
                           report.target, grouped(report.cycles));
  return out + remedy_rows(report);
}

std::string to_json(const results::LayerAccuracyReport& report) {
  Json json = {{"model", report.model},     {"scheme", report.scheme}, {"samples", report.samples},
               {"sqnr_db", report.sqnr_db}, {"target", report.target}, {"cycles", report.cycles}};
  for (const results::OutputAccuracy& output : report.outputs)
    json["outputs"].push_back(
        {{"name", output.name}, {"sqnr_db", output.sqnr_db}, {"mean_absolute_error", output.mean_absolute_error}});
  for (const results::LayerAccuracy& layer : report.layers)
    json["layers"].push_back({{"node", layer.node},
                              {"op", layer.op},
                              {"source", layer.source},
                              {"type", layer.type},
                              {"sqnr_db", layer.sqnr_db},
                              {"entered_db", layer.entered_db}});
  for (const results::Remedy& remedy : report.remedies)
    json["remedies"].push_back({{"what", remedy.what},
                                {"options", remedy.options},
                                {"sqnr_db", remedy.sqnr_db},
                                {"gain_db", remedy.gain_db},
                                {"cycles", remedy.cycles}});
  return json_text(json);
}

}  // namespace carina::report
