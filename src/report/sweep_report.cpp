#include "report/render.h"

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

// "yes", "no": whether a program keeps to the budgets.
std::string fits_text(results::Fits fits) {
  return fits == results::Fits::kNotAsked ? "-" : fits == results::Fits::kYes ? "yes" : "no";
}

bool has_budgets(const results::SweepReport& report) {
  return std::ranges::any_of(report.rows,
                             [](const results::SweepRow& row) { return row.fits != results::Fits::kNotAsked; });
}

// The row whose accuracy names the columns; nullptr: no data.
const results::SweepRow* measured_row(const results::SweepReport& report) {
  const auto found =
      std::ranges::find_if(report.rows, [](const results::SweepRow& row) { return row.accuracy.has_value(); });
  return found == report.rows.end() ? nullptr : &*found;
}

// "top1 %", or "iou".
std::string metric_title(const results::SweepAccuracy& accuracy) {
  return accuracy.unit.empty() ? accuracy.metric : accuracy.metric + " " + accuracy.unit;
}

// Columns that only some sweeps have: of budgets and of data.
void add_optional_columns(const results::SweepReport& report, std::vector<Table::Column>& columns) {
  if (const results::SweepRow* row = measured_row(report)) {
    if (!row->accuracy->metric.empty())
      columns.push_back({.title = metric_title(*row->accuracy), .align = Align::kRight});
    columns.push_back({.title = "SQNR dB", .align = Align::kRight});
  }
  if (has_budgets(report)) columns.push_back({.title = "fits"});
}

void add_optional_cells(const results::SweepReport& report, const results::SweepRow& row,
                        std::vector<std::string>& cells) {
  if (const results::SweepRow* named = measured_row(report)) {
    const auto number = [&](double results::SweepAccuracy::* member, int digits) {
      return row.accuracy ? fmt::format("{:.{}f}", *row.accuracy.*member, digits) : std::string("-");
    };
    if (!named->accuracy->metric.empty()) cells.push_back(number(&results::SweepAccuracy::of_npu, 2));
    cells.push_back(number(&results::SweepAccuracy::sqnr_db, 1));
  }
  if (has_budgets(report)) cells.push_back(fits_text(row.fits));
}

Table compiled_table(const results::SweepReport& report) {
  using enum Align;
  std::vector<Table::Column> columns{{.title = "quantization"},
                                     {.title = "target"},
                                     {.title = "memory mode"},
                                     {.title = "cycles", .align = kRight},
                                     {.title = "expected on hardware", .align = kRight},
                                     {.title = "ms", .align = kRight},
                                     {.title = "MAC use", .align = kRight},
                                     {.title = "SRAM B", .align = kRight},
                                     {.title = "flash B", .align = kRight},
                                     {.title = "nodes on NPU", .align = kRight}};
  add_optional_columns(report, columns);
  Table table(with_model<Table::Column>(report, {.title = "model"}, std::move(columns)));
  for (const results::SweepRow& row : report.rows) {
    if (row.status != results::SweepStatus::kCompiled) continue;
    std::vector<std::string> cells{row.quantization,
                                   row.target,
                                   row.memory_mode,
                                   grouped(row.cycles),
                                   expected_text(row.expected),
                                   fmt::format("{:.3f}", milliseconds(row)),
                                   fmt::format("{:.1f} %", mac_use(row)),
                                   grouped(row.sram_bytes),
                                   grouped(row.program_bytes),
                                   nodes_text(row)};
    add_optional_cells(report, row, cells);
    table.add(with_model<std::string>(report, row.model, std::move(cells)));
  }
  return table;
}

// "Float model: 89.12 top1 %": what the column of the metric is to be compared with.
std::string float_line(const results::SweepReport& report) {
  const results::SweepRow* row = measured_row(report);
  if (row == nullptr || row->accuracy->metric.empty() || report.model.empty()) return {};
  return fmt::format("float model: {:.2f} {}\n", row->accuracy->of_float, metric_title(*row->accuracy));
}

// Combinations without a program for one reason.
struct Group {
  std::vector<std::string> models = {}, quantizations = {}, targets = {}, memory_modes = {};
  std::string reason;
};

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

// "a, b, c and 5 more"
std::string names_text(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < names.size() && (i < kShown || names.size() == kShown + 1); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kShown + 1 ? text + fmt::format(" and {} more", names.size() - kShown) : text;
}

// Reasons that differ only in the names of the combination are one.
std::string kind_of(const results::SweepRow& row) {
  std::string kind = row.reason;
  for (const std::string* name : {&row.memory_mode, &row.target}) {
    for (size_t at = name->empty() ? std::string::npos : kind.find(*name); at != std::string::npos;
         at = kind.find(*name, at))
      kind.erase(at, name->size());
  }
  return kind;
}

std::string others(const results::SweepReport& report, results::SweepStatus status, std::string_view title) {
  std::vector<std::pair<std::string, Group>> groups;
  int64_t count = 0;
  for (const results::SweepRow& row : report.rows) {
    if (row.status != status) continue;
    ++count;
    const std::string kind = kind_of(row);
    auto group = std::ranges::find(groups, kind, &std::pair<std::string, Group>::first);
    if (group == groups.end()) group = groups.insert(group, {kind, {.reason = row.reason}});
    add_once(group->second.models, row.model);
    add_once(group->second.quantizations, row.quantization);
    add_once(group->second.targets, row.target);
    add_once(group->second.memory_modes, row.memory_mode);
  }
  Table table(with_model<Table::Column>(
      report, {.title = "model"},
      {{.title = "quantization"}, {.title = "target"}, {.title = "memory mode"}, {.title = "why"}}));
  for (const auto& [kind, group] : groups)
    table.add(with_model<std::string>(
        report, names_text(group.models),
        {names_text(group.quantizations), names_text(group.targets), names_text(group.memory_modes), group.reason}));
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
  return status == results::SweepStatus::kCompiled   ? "compiled"
         : status == results::SweepStatus::kRejected ? "refused"
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
          row.accuracy ? row.accuracy->metric : "",
          row.accuracy && !row.accuracy->metric.empty() ? fmt::format("{:.4f}", row.accuracy->of_npu) : "",
          row.accuracy && !row.accuracy->metric.empty() ? fmt::format("{:.4f}", row.accuracy->of_float) : "",
          row.accuracy ? fmt::format("{:.2f}", row.accuracy->sqnr_db) : "",
          row.fits == results::Fits::kNotAsked ? "" : fits_text(row.fits),
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
         float_line(report) + compiled_table(report).text(2) + others(report, results::SweepStatus::kFailed, "failed") +
         others(report, results::SweepStatus::kRejected, "rejected by the target");
}

std::string to_csv(const results::SweepReport& report) {
  std::string csv = csv_line(with_model<std::string>(report, "model",
                                                     {"quantization",
                                                      "target",
                                                      "system config",
                                                      "memory mode",
                                                      "status",
                                                      "cycles",
                                                      "lowest cycles",
                                                      "highest cycles",
                                                      "milliseconds",
                                                      "MACs",
                                                      "MAC use %",
                                                      "SRAM bytes",
                                                      "program bytes",
                                                      "NPU nodes",
                                                      "CPU nodes",
                                                      "CPU cycles",
                                                      "metric",
                                                      "metric of the NPU",
                                                      "metric of the float model",
                                                      "SQNR dB",
                                                      "fits",
                                                      "program SHA-256",
                                                      "reason"}));
  for (const results::SweepRow& row : report.rows) csv += csv_line(with_model(report, row.model, csv_cells(row)));
  return csv;
}

}  // namespace carina::report
