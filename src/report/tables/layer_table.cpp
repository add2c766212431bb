#include "report/tables/layer_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "carina/check.h"
#include "report/tables/csv.h"
#include "report/tables/json.h"
#include "report/tables/text_table.h"

namespace carina::report {

namespace {

// Data of the whole table that a cell may need in addition to its layer.
struct Whole {
  int64_t cycles = 0;
  int64_t macs = 0;
  int64_t peak_sram_bytes = 0;
};
struct Row {
  const results::LayerReport& layer;
  size_t part;  // index of the layer's part
  const Whole& whole;
};

int64_t count_of(const std::vector<std::pair<std::string, int64_t>>& counts, std::string_view name) {
  const auto found = std::ranges::find(counts, name, [](const auto& count) { return std::string_view(count.first); });
  return found == counts.end() ? 0 : found->second;
}

std::string number(int64_t value) {
  return std::to_string(value);
}
std::string percent(double part, double of) {
  return fmt::format("{:.2f}", of == 0 ? 0 : 100 * part / of);
}
std::string percent(int64_t part, int64_t of) {
  return percent(static_cast<double>(part), static_cast<double>(of));
}

// The operator without its dialect: "tosa.CONV2D" -> "CONV2D".
std::string operator_of(const results::LayerReport& layer) {
  const std::string& name = layer.tosa_op.empty() ? layer.operation : layer.tosa_op;
  return name.substr(name.find('.') + 1);
}

struct Column {
  std::string_view title;
  Align align;
  std::string (*cell)(const Row& row);
};

// Vela's columns in their order, then Carina's. Source: <network>_per-layer.csv of ethos-u-vela 5.2.0.
constexpr auto kColumns = std::to_array<Column>({
    {"Original Operator", Align::kLeft, [](const Row& r) { return operator_of(r.layer); }},
    {"NNG Operator", Align::kLeft, [](const Row& r) { return r.layer.operation; }},
    {"Target", Align::kLeft, [](const Row&) { return std::string("NPU"); }},
    {"Staging Usage", Align::kRight, [](const Row& r) { return number(r.layer.held_sram_bytes.value_or(0)); }},
    {"Peak% (Staging)", Align::kRight,
     [](const Row& r) { return percent(r.layer.held_sram_bytes.value_or(0), r.whole.peak_sram_bytes); }},
    {"Op Cycles", Align::kRight, [](const Row& r) { return number(r.layer.cycles); }},
    {"Network% (cycles)", Align::kRight, [](const Row& r) { return percent(r.layer.cycles, r.whole.cycles); }},
    {"NPU", Align::kRight, [](const Row& r) { return number(r.layer.npu_cycles); }},
    {"SRAM AC", Align::kRight, [](const Row& r) { return number(count_of(r.layer.access_cycles, "Sram")); }},
    {"DRAM AC", Align::kRight, [](const Row& r) { return number(count_of(r.layer.access_cycles, "Dram")); }},
    {"OnFlash AC", Align::kRight, [](const Row& r) { return number(count_of(r.layer.access_cycles, "OnChipFlash")); }},
    {"OffFlash AC", Align::kRight,
     [](const Row& r) { return number(count_of(r.layer.access_cycles, "OffChipFlash")); }},
    {"MAC Count", Align::kRight, [](const Row& r) { return number(r.layer.macs); }},
    {"Network% (MAC)", Align::kRight, [](const Row& r) { return percent(r.layer.macs, r.whole.macs); }},
    {"Util% (MAC)", Align::kRight, [](const Row& r) { return percent(r.layer.utilization, 1); }},
    {"Name", Align::kLeft, [](const Row& r) { return r.layer.name; }},
    {"Part", Align::kRight, [](const Row& r) { return std::to_string(r.part); }},
    {"Start Cycle", Align::kRight, [](const Row& r) { return number(r.layer.start_cycle); }},
    {"MAC Cycles", Align::kRight, [](const Row& r) { return number(count_of(r.layer.breakdown, "mac")); }},
    {"Weight Decode Cycles", Align::kRight,
     [](const Row& r) { return number(count_of(r.layer.breakdown, "weight decode")); }},
    {"Output Cycles", Align::kRight, [](const Row& r) { return number(count_of(r.layer.breakdown, "output")); }},
    {"Waiting for DMA", Align::kRight, [](const Row& r) { return number(count_of(r.layer.breakdown, "dma")); }},
    {"Issue Cycles", Align::kRight, [](const Row& r) { return number(count_of(r.layer.breakdown, "issue")); }},
    {"Bound By", Align::kLeft, [](const Row& r) { return r.layer.bottleneck; }},
    {"SRAM Read", Align::kRight, [](const Row& r) { return number(count_of(r.layer.traffic_bytes, "Sram read")); }},
    {"SRAM Write", Align::kRight, [](const Row& r) { return number(count_of(r.layer.traffic_bytes, "Sram write")); }},
    {"DRAM Read", Align::kRight, [](const Row& r) { return number(count_of(r.layer.traffic_bytes, "Dram read")); }},
    {"DRAM Write", Align::kRight, [](const Row& r) { return number(count_of(r.layer.traffic_bytes, "Dram write")); }},
    {"OnFlash Read", Align::kRight,
     [](const Row& r) { return number(count_of(r.layer.traffic_bytes, "OnChipFlash read")); }},
    {"OffFlash Read", Align::kRight,
     [](const Row& r) { return number(count_of(r.layer.traffic_bytes, "OffChipFlash read")); }},
    {"Source", Align::kLeft, [](const Row& r) { return r.layer.source; }},
});

using Cells = std::vector<std::vector<std::string>>;

Cells cells_of(const std::vector<results::NpuReport>& parts, LayerRows rows) {
  Whole whole;
  for (const results::NpuReport& part : parts) {
    whole.cycles += part.cycles;
    whole.macs += part.macs;
    for (const results::LayerReport& layer : part.layers)
      whole.peak_sram_bytes = std::max(whole.peak_sram_bytes, layer.held_sram_bytes.value_or(0));
  }
  Cells cells;
  for (size_t part = 0; part < parts.size(); ++part) {
    for (const results::LayerReport& layer : rows_of(parts[part], rows)) {
      std::vector<std::string>& line = cells.emplace_back();
      for (const Column& column : kColumns) line.push_back(column.cell({.layer = layer, .part = part, .whole = whole}));
    }
  }
  return cells;
}

std::string text_of(const Cells& cells) {
  std::vector<Table::Column> columns;
  for (const Column& column : kColumns) columns.push_back({.title = std::string(column.title), .align = column.align});
  Table table(std::move(columns));
  for (const auto& line : cells) table.add(line);
  return table.text(0);
}

std::string csv_of(const Cells& cells) {
  std::vector<std::string> titles;
  for (const Column& column : kColumns) titles.emplace_back(column.title);
  std::string text = csv_line(titles);
  for (const auto& line : cells) text += csv_line(line);
  return text;
}

// The JSON value of a cell. Numbers stay numbers.
Json value_of(const Column& column, const std::string& cell) {
  if (column.align == Align::kLeft) return cell;
  return Json::number(cell);
}

std::string json_of(const Cells& cells) {
  Json rows = Json::array();
  for (const auto& line : cells) {
    Json& row = rows.push_back(Json::object());
    for (size_t c = 0; c < kColumns.size(); ++c) row[std::string(kColumns[c].title)] = value_of(kColumns[c], line[c]);
  }
  return json_text({{"layers", rows}});
}

}  // namespace

std::string layer_table(const std::vector<results::NpuReport>& parts, LayerRows rows, TableForm form) {
  const Cells cells = cells_of(parts, rows);
  switch (form) {
    case TableForm::kText:
      return text_of(cells);
    case TableForm::kJson:
      return json_of(cells);
    case TableForm::kCsv:
      return csv_of(cells);
  }
  CARINA_UNREACHABLE("form", form);
}

TableForm form_of(std::string_view path) {
  if (path.ends_with(".csv")) return TableForm::kCsv;
  return path.ends_with(".json") ? TableForm::kJson : TableForm::kText;
}

}  // namespace carina::report
