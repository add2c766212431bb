#include "report/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "report/tables/csv.h"
#include "report/tables/text_table.h"

namespace carina::report {

namespace {

double milliseconds(const results::SweepRow& row) {
  return row.clock_hz == 0 ? 0 : 1e3 * static_cast<double>(row.cycles) / static_cast<double>(row.clock_hz);
}

// "5,369 to 6,490", or "-" if nothing is known about the target's hardware.
std::string expected_text(const results::ExpectedCycles& expected) {
  if (expected.basis.empty() || expected.highest == 0) return "-";
  return fmt::format("{} to {}", grouped(expected.lowest), grouped(expected.highest));
}

// MAC utilization: the MACs of the network as a percentage of the MACs that the NPU can do in the same cycles.
double mac_use(const results::SweepRow& row) {
  const double possible = static_cast<double>(row.cycles) * static_cast<double>(row.macs_per_cycle);
  return possible == 0 ? 0 : 100 * static_cast<double>(row.macs) / possible;
}

std::string nodes_text(const results::SweepRow& row) {
  return fmt::format("{} of {}", row.npu_nodes, row.npu_nodes + row.cpu_nodes);
}

// Inserts the model as the first cell in the report of several models.
template <typename Cell>
std::vector<Cell> with_model(const results::SweepReport& report, Cell model, std::vector<Cell> cells) {
  if (report.model.empty()) cells.insert(cells.begin(), std::move(model));
  return cells;
}

Table compiled_table(const results::SweepReport& report) {
  using enum Align;
  Table table(with_model<Table::Column>(report, {.title = "model"},
                                        {{.title = "quantization"},
                                         {.title = "target"},
                                         {.title = "memory mode"},
                                         {.title = "cycles", .align = kRight},
                                         {.title = "expected on hardware", .align = kRight},
                                         {.title = "ms", .align = kRight},
                                         {.title = "MAC use", .align = kRight},
                                         {.title = "SRAM B", .align = kRight},
                                         {.title = "flash B", .align = kRight},
                                         {.title = "nodes on NPU", .align = kRight}}));
  for (const results::SweepRow& row : report.rows) {
    if (row.status != results::SweepStatus::kCompiled) continue;
    table.add(with_model<std::string>(
        report, row.model,
        {row.quantization, row.target, row.memory_mode, grouped(row.cycles), expected_text(row.expected),
         fmt::format("{:.3f}", milliseconds(row)), fmt::format("{:.1f} %", mac_use(row)), grouped(row.sram_bytes),
         grouped(row.program_bytes), nodes_text(row)}));
  }
  return table;
}

std::string others(const results::SweepReport& report, results::SweepStatus status, std::string_view title) {
  Table table(with_model<Table::Column>(
      report, {.title = "model"},
      {{.title = "quantization"}, {.title = "target"}, {.title = "memory mode"}, {.title = "why"}}));
  int64_t count = 0;
  for (const results::SweepRow& row : report.rows) {
    if (row.status != status) continue;
    ++count;
    table.add(with_model<std::string>(report, row.model, {row.quantization, row.target, row.memory_mode, row.reason}));
  }
  return count == 0 ? "" : fmt::format("{}: {}\n{}", title, count, table.text(2));
}

// "model.pt2", or "3 models".
std::string name_of(const results::SweepReport& report) {
  if (!report.model.empty()) return report.model;
  std::set<std::string_view> models;
  for (const results::SweepRow& row : report.rows) models.insert(row.model);
  return fmt::format("{} models", models.size());
}

std::string_view name_of(results::SweepStatus status) {
  return status == results::SweepStatus::kCompiled  ? "compiled"
         : status == results::SweepStatus::kRefused ? "refused"
                                                    : "failed";
}

std::vector<std::string> csv_cells(const results::SweepRow& row) {
  return {row.quantization,
          row.target,
          row.system_config,
          row.memory_mode,
          std::string(name_of(row.status)),
          std::to_string(row.cycles),
          std::to_string(row.expected.lowest),
          std::to_string(row.expected.highest),
          fmt::format("{:.6f}", milliseconds(row)),
          std::to_string(row.macs),
          fmt::format("{:.2f}", mac_use(row)),
          std::to_string(row.sram_bytes),
          std::to_string(row.program_bytes),
          std::to_string(row.npu_nodes),
          std::to_string(row.cpu_nodes),
          std::to_string(row.cpu_cycles),
          row.program_sha256,
          row.reason};
}

}  // namespace

std::string to_text(const results::SweepReport& report) {
  const int64_t compiled = std::ranges::count(report.rows, results::SweepStatus::kCompiled, &results::SweepRow::status);
  return fmt::format(
             "{}: {} of {} combinations compiled; cycles per inference are estimates; SRAM includes constants that lie "
             "there\n",
             name_of(report), compiled, report.rows.size()) +
         compiled_table(report).text(2) + others(report, results::SweepStatus::kFailed, "failed") +
         others(report, results::SweepStatus::kRefused, "refused by the target");
}

std::string to_csv(const results::SweepReport& report) {
  std::string csv = csv_line(
      with_model<std::string>(report, "model",
                              {"quantization", "target", "system config", "memory mode", "status", "cycles",
                               "lowest cycles", "highest cycles", "milliseconds", "MACs", "MAC use %", "SRAM bytes",
                               "program bytes", "NPU nodes", "CPU nodes", "CPU cycles", "program SHA-256", "reason"}));
  for (const results::SweepRow& row : report.rows) csv += csv_line(with_model(report, row.model, csv_cells(row)));
  return csv;
}

}  // namespace carina::report
