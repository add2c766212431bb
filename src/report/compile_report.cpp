#include "report/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "carina/check.h"
#include "facts/npu_accuracy.h"
#include "report/report_parts_internal.h"
#include "report/tables/text_table.h"

namespace carina::report {

namespace {

std::string milliseconds(int64_t cycles, int64_t clock_hz) {
  return clock_hz == 0
             ? "-"
             : fmt::format("{:.3f} ms at {} MHz", 1e3 * static_cast<double>(cycles) / static_cast<double>(clock_hz),
                           clock_hz / 1'000'000);
}

std::string_view name_of(results::RunsOn runs_on) {
  switch (runs_on) {
    case results::RunsOn::kNpu:
      return "NPU";
    case results::RunsOn::kCpu:
      return "CPU";
    case results::RunsOn::kBoth:
      return "NPU+CPU";
    case results::RunsOn::kFolded:
      return "-";
    case results::RunsOn::kNowhere:
      return "nowhere";
    case results::RunsOn::kUndecided:
      return "?";
  }
  CARINA_UNREACHABLE("place", runs_on);
}

// "NPU", "NPU+CPU", or another accelerator's name.
std::string runs_on_text(const results::CompileReport& report, results::RunsOn runs_on) {
  if (runs_on == results::RunsOn::kNpu) return report.accelerator;
  return runs_on == results::RunsOn::kBoth ? report.accelerator + "+CPU" : std::string(name_of(runs_on));
}

// The number with separators, or "-" if there is no estimate.
std::string grouped_or_dash(const std::optional<int64_t>& number) {
  return number ? grouped(*number) : "-";
}

std::optional<int64_t> cycles_of(const results::DelegateReport& delegate) {
  return delegate.estimate ? std::optional(delegate.estimate->cycles) : std::nullopt;
}
std::optional<int64_t> macs_of(const results::DelegateReport& delegate) {
  return delegate.estimate ? std::optional(delegate.estimate->macs) : std::nullopt;
}
std::optional<int64_t> operations_of(const results::DelegateReport& delegate) {
  return delegate.estimate ? std::optional(delegate.estimate->operations) : std::nullopt;
}

// "conv2d (model.py:41)"
std::string with_source(const std::string& node, const std::string& source) {
  return source.empty() ? node : fmt::format("{} ({})", node, source);
}

std::string nodes_table(const results::CompileReport& report) {
  Table table({{.title = "node"},
               {.title = "operator"},
               {.title = "runs on"},
               {.title = "cycles", .align = Align::kRight},
               {.title = "CPU cycles", .align = Align::kRight},
               {.title = "why"}});
  for (const results::NodeReport& node : report.nodes) {
    table.add({with_source(node.name, node.source), node.op, runs_on_text(report, node.runs_on),
               node.cycles == 0 ? "-" : grouped(node.cycles), node.cpu_cycles == 0 ? "-" : grouped(node.cpu_cycles),
               node.hint.empty() ? node.reason : fmt::format("{}; {}", node.reason, node.hint)});
  }
  return table.text(2);
}

bool has_costs(const results::CompileReport& report) {
  return report.clock_hz > 0;
}

// The table of delegates for a target without a cycle model.
std::string plain_delegates_table(const results::CompileReport& report) {
  using enum Align;
  Table table(
      {{.title = "delegate"}, {.title = "TOSA operators", .align = kRight}, {.title = "constants B", .align = kRight}});
  for (size_t i = 0; i < report.delegates.size(); ++i)
    table.add(
        {std::to_string(i), grouped(report.delegates[i].tosa_operators), grouped(report.delegates[i].weight_bytes)});
  return table.text(2);
}

std::string delegates_table(const results::CompileReport& report) {
  using enum Align;
  Table table({{.title = "delegate"},
               {.title = "TOSA operators", .align = kRight},
               {.title = "NPU operations", .align = kRight},
               {.title = "MACs", .align = kRight},
               {.title = "cycles", .align = kRight},
               {.title = "commands B", .align = kRight},
               {.title = "read-only B", .align = kRight},
               {.title = "scratch B", .align = kRight}});
  for (size_t i = 0; i < report.delegates.size(); ++i) {
    const results::DelegateReport& d = report.delegates[i];
    table.add({std::to_string(i), grouped(d.tosa_operators), grouped_or_dash(operations_of(d)),
               grouped_or_dash(macs_of(d)), grouped_or_dash(cycles_of(d)), grouped(d.command_stream_bytes),
               grouped(d.weight_bytes), grouped(d.scratch_bytes)});
  }
  return table.text(2);
}

int64_t count_of(const results::CompileReport& report, results::RunsOn runs_on) {
  return std::ranges::count(report.nodes, runs_on, &results::NodeReport::runs_on);
}

// "nodes: 12 of 14 on the NPU in 1 delegate, 1 on the CPU, 1 on both; 3 more folded away"
std::string nodes_line(const results::CompileReport& report) {
  const int64_t folded = count_of(report, results::RunsOn::kFolded);
  std::string line = fmt::format("nodes: {} of {} on the {} in {} delegate{}", count_of(report, results::RunsOn::kNpu),
                                 static_cast<int64_t>(report.nodes.size()) - folded, report.accelerator,
                                 report.delegates.size(), report.delegates.size() == 1 ? "" : "s");
  if (const int64_t both = count_of(report, results::RunsOn::kBoth)) line += fmt::format(", {} on both sides", both);
  if (folded > 0) line += fmt::format("; {} more folded away", folded);
  return line + "\n";
}

// The reason why nothing was compiled. The table has the details.
std::string blocked_line(const results::CompileReport& report) {
  const int64_t nowhere = count_of(report, results::RunsOn::kNowhere);
  if (nowhere == 0) return "cannot be compiled: the errors below say why\n";
  return fmt::format("cannot be compiled: {} of {} nodes can run nowhere\n", nowhere, report.nodes.size());
}

// The line about memory: "memory: SRAM 6,400 B (scratch 6,080 + planned 320), flash 8,496 B". If the arena is in slow
// memory, the line names that memory, and the fast memory that the network uses in addition. Constants that the memory
// mode reads from SRAM count there.
std::string memory_line(const results::CompileReport& report) {
  const bool is_sram = report.arena_memory == "SRAM";
  const int64_t constants = sram_constant_bytes_of(report);
  const int64_t arena = report.scratch_bytes + report.planned_bytes + report.tables_bytes + (is_sram ? constants : 0);
  std::string line = fmt::format("memory: {} {} B (scratch {} + planned {}{}{})", report.arena_memory, grouped(arena),
                                 grouped(report.scratch_bytes), grouped(report.planned_bytes),
                                 report.tables_bytes > 0 ? " + tables " + grouped(report.tables_bytes) : "",
                                 is_sram && constants > 0 ? " + constants " + grouped(constants) : "");
  if (!is_sram) line += fmt::format(", SRAM {} B (fast scratch)", grouped(report.fast_scratch_bytes));
  return line + fmt::format(", flash {} B\n", grouped(report.program_bytes));
}

// "planned: 196,608 B are the float input x; --io int8 saves them". Empty if integers would not take much less.
std::string float_edges_line(const results::CompileReport& report) {
  if (report.float_edges.empty()) return {};
  std::string names;
  int64_t bytes = 0;
  for (const results::FloatEdge& edge : report.float_edges) {
    names += (names.empty() ? "" : ", ") + edge.name;
    bytes += edge.bytes;
  }
  return fmt::format("planned: {} B are the floats of {}; --io {} saves them\n", grouped(bytes), names,
                     report.integer_io);
}

// The time of an inference on both devices, if the CPU takes part: "CPU: 5,100 cycles ...".
std::string inference_text(const results::CompileReport& report) {
  const int64_t cpu = cpu_cycles_of(report);
  if (cpu == 0 || !report.cycles) return {};
  const int64_t both = *report.cycles + cpu;
  const std::string conversion =
      report.conversion_cycles == 0
          ? std::string()
          : fmt::format(", {} of them to convert inputs and outputs", grouped(report.conversion_cycles));
  return fmt::format(
      "CPU: {} cycles per inference (estimate for a Cortex-M55{})\n"
      "inference: {} cycles on NPU and CPU, {}\n",
      grouped(cpu), conversion, grouped(both), milliseconds(both, report.clock_hz));
}

std::string costs_text(const results::CompileReport& report) {
  if (!has_costs(report))
    return (report.delegates.empty() ? "" : plain_delegates_table(report)) +
           fmt::format("memory: planned {} B, file {} B\n", grouped(report.planned_bytes),
                       grouped(report.program_bytes));
  std::string out = report.delegates.empty() ? "" : delegates_table(report);
  out += report.cycles ? fmt::format("NPU: {} cycles per inference (estimate), {}\n", grouped(*report.cycles),
                                     milliseconds(*report.cycles, report.clock_hz))
                       : "NPU: cycles per inference could not be estimated\n";
  if (report.cycles) out += interval_text(npu::cycle_interval(report.target, *report.cycles, report.memory_cycles));
  return out + inference_text(report) + memory_line(report) + float_edges_line(report);
}

std::string samples_text(int64_t samples) {
  if (samples > 2) return fmt::format("{} samples", samples);
  return samples == 1 ? "one sample" : "two samples";
}

// What was checked before the program was written. One line if all delegates were checked alike.
std::string checks_text(const results::CompileReport& report) {
  std::string text, all;
  size_t alike = 0;
  for (size_t i = 0; i < report.delegates.size(); ++i) {
    const results::DelegateReport& d = report.delegates[i];
    if (!d.check) continue;
    const std::string left_out =
        d.check->left_out.empty() ? "" : fmt::format(", planned without {}", d.check->left_out);
    const std::string checked =
        d.check->samples == 0 ? fmt::format("not checked: {}\n", d.check->unchecked)
        : d.check->operators == d.tosa_operators
            ? fmt::format("checked: all operators, on {}{}\n", samples_text(d.check->samples), left_out)
            : fmt::format("checked: the first {} of {} operators{}; {}\n", grouped(d.check->operators),
                          grouped(d.tosa_operators), left_out, d.check->unchecked);
    alike += all.empty() || all == checked ? 1 : 0;
    all = checked;
    text += fmt::format("delegate {}: {}", i, checked);
  }
  return alike == report.delegates.size() ? all : text;
}

// The details of each delegate that --show requested.
std::string shown_text(const results::CompileReport& report) {
  std::string text;
  for (size_t i = 0; i < report.delegates.size(); ++i) {
    for (const auto& [what, content] : report.delegates[i].shown)
      text += fmt::format("--- {} of delegate {}\n{}", what, i, content);
  }
  return text;
}

// What compressed weights bring, a row for each layer and one for all.
std::string compression_text(const results::CompileReport& report) {
  if (!report.compression) return {};
  const results::Compression& compression = *report.compression;
  std::vector<Table::Column> columns{
      {.title = "layer"}, {.title = "weights B", .align = Align::kRight}, {.title = "cycles", .align = Align::kRight}};
  for (const std::string& option : compression.options) {
    columns.push_back({.title = option + " B", .align = Align::kRight});
    columns.push_back({.title = "cycles", .align = Align::kRight});
  }
  Table table(std::move(columns));
  std::vector<results::LayerCost> sums(1 + compression.options.size());
  const auto add = [&](const std::string& name, const std::vector<results::LayerCost>& costs) {
    std::vector<std::string> row{name};
    for (const results::LayerCost& cost : costs) {
      row.push_back(grouped(cost.bytes));
      row.push_back(grouped(cost.cycles));
    }
    table.add(std::move(row));
  };
  for (const results::Compression::Layer& layer : compression.layers) {
    std::vector<results::LayerCost> costs{layer.now};
    costs.insert(costs.end(), layer.compressed.begin(), layer.compressed.end());
    for (size_t i = 0; i < costs.size(); ++i) {
      sums[i].bytes += costs[i].bytes;
      sums[i].cycles += costs[i].cycles;
    }
    add(layer.name, costs);
  }
  add("all", sums);
  return "--- layers with compressed weights (carina accuracy measures what they lose)\n" + table.text(0);
}

// The options that differ from the defaults: "optimized for size, at most 65,536 B of arena". Empty if none does.
std::string choices_line(const results::CompileReport& report) {
  std::string line;
  const auto add = [&](const std::string& text) { line += (line.empty() ? "" : ", ") + text; };
  if (report.optimize != "speed" && !report.optimize.empty()) add("optimized for " + report.optimize);
  if (report.sram_budget_bytes > 0) add(fmt::format("at most {} B of SRAM", grouped(report.sram_budget_bytes)));
  if (report.flash_budget_bytes > 0) add(fmt::format("at most {} B of flash", grouped(report.flash_budget_bytes)));
  if (report.arena_budget_bytes > 0) add(fmt::format("at most {} B of arena", grouped(report.arena_budget_bytes)));
  if (report.cache_bytes > 0) add(fmt::format("at most {} B of fast memory", grouped(report.cache_bytes)));
  if (report.dynamic_weights) add("with weight streams that the NPU writes, where that helps");
  return line.empty() ? line : line + "\n";
}

// The rewrites of --legalize, one line per node.
std::string fixes_text(const results::CompileReport& report) {
  std::string text;
  for (const results::LegalizedReport& entry : report.legalized)
    text += fmt::format("  {}: {}: {}; no number changes\n", with_source(entry.node, entry.source), entry.reason,
                        entry.change);
  return text.empty() ? text : "rewritten:\n" + text;
}

bool is_on_cpu(const results::NodeReport& node) {
  return node.runs_on == results::RunsOn::kCpu || node.runs_on == results::RunsOn::kBoth;
}

}  // namespace

std::string to_text(const results::CompileReport& report, Detail detail) {
  const std::string memories =
      has_costs(report) ? fmt::format(" ({}, {})", report.system_config, report.memory_mode) : std::string();
  std::string out =
      fmt::format("{} for {}{}, quantization: {}\n", report.model, report.target, memories, report.quantization);
  if (!report.methods.empty()) out = fmt::format("method {}: {}", report.method, out);
  out += choices_line(report);
  out += report.errors.empty() ? nodes_line(report) : blocked_line(report);
  out += fixes_text(report);
  if (detail == Detail::kNodes) {
    out += nodes_table(report);
  } else if (std::ranges::any_of(report.nodes, is_on_cpu)) {
    results::CompileReport on_cpu = report;
    std::erase_if(on_cpu.nodes, [](const results::NodeReport& node) { return !is_on_cpu(node); });
    out += "on the CPU:\n" + nodes_table(on_cpu);
  }
  if (report.errors.empty()) out += costs_text(report) + checks_text(report);
  out += shown_text(report);
  out += compression_text(report);
  for (const results::CompileReport& method : report.methods)
    out += fmt::format("method {}: {}", method.method, to_text(method, detail));
  if (!report.output.empty()) out += fmt::format("wrote {}\n", report.output);
  return out;
}

}  // namespace carina::report
