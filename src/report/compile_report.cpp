#include "report/compile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/table.h"

namespace carina::report {

namespace {

std::string milliseconds(int64_t cycles, int64_t clock_hz) {
  return clock_hz == 0
             ? "-"
             : fmt::format("{:.3f} ms at {} MHz", 1e3 * static_cast<double>(cycles) / static_cast<double>(clock_hz),
                           clock_hz / 1'000'000);
}

std::string nodes_table(const CompileReport& report) {
  Table table({{.title = "node"},
               {.title = "operator"},
               {.title = "runs on"},
               {.title = "cycles", .align = Align::kRight},
               {.title = "why"}});
  for (const NodeReport& node : report.nodes) {
    const std::string place = node.source.empty() ? node.name : fmt::format("{} ({})", node.name, node.source);
    table.add({place, node.op, node.runs_on_npu ? "NPU" : "CPU", node.cycles == 0 ? "-" : grouped(node.cycles),
               node.hint.empty() ? node.reason : fmt::format("{}; {}", node.reason, node.hint)});
  }
  return table.text(2);
}

std::string delegates_table(const CompileReport& report) {
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
    const DelegateReport& d = report.delegates[i];
    table.add({std::to_string(i), grouped(d.tosa_operators), grouped(d.npu_operations), grouped(d.macs),
               grouped(d.cycles), grouped(d.command_stream_bytes), grouped(d.weight_bytes), grouped(d.scratch_bytes)});
  }
  return table.text(2);
}

}  // namespace

std::string to_text(const CompileReport& report, Detail detail) {
  const auto on_npu = std::ranges::count(report.nodes, true, &NodeReport::runs_on_npu);
  std::string out = fmt::format("{} for {} ({}, {}), quantization: {}\n", report.model, report.target,
                                report.system_config, report.memory_mode, report.quantization);
  out += fmt::format("nodes: {} of {} on the NPU in {} delegate{}\n", on_npu, report.nodes.size(),
                     report.delegates.size(), report.delegates.size() == 1 ? "" : "s");
  if (detail == Detail::kNodes) {
    out += nodes_table(report);
  } else if (on_npu < static_cast<std::ptrdiff_t>(report.nodes.size())) {
    CompileReport on_cpu = report;
    std::erase_if(on_cpu.nodes, [](const NodeReport& node) { return node.runs_on_npu; });
    out += "on the CPU:\n" + nodes_table(on_cpu);
  }
  if (!report.delegates.empty()) out += delegates_table(report);
  out += fmt::format("NPU: {} cycles per inference (estimate), {}\n", grouped(report.cycles),
                     milliseconds(report.cycles, report.clock_hz));
  out += fmt::format("memory: SRAM {} B (scratch {} + planned {}), flash {} B\n",
                     grouped(report.scratch_bytes + report.planned_bytes), grouped(report.scratch_bytes),
                     grouped(report.planned_bytes), grouped(report.program_bytes));
  if (!report.output.empty()) out += fmt::format("wrote {}\n", report.output);
  return out;
}

std::string to_json(const CompileReport& report) {
  using nlohmann::ordered_json;
  ordered_json nodes = ordered_json::array();
  for (const NodeReport& node : report.nodes) {
    nodes.push_back({{"name", node.name},
                     {"op", node.op},
                     {"source", node.source},
                     {"runs_on", node.runs_on_npu ? "npu" : "cpu"},
                     {"reason", node.reason},
                     {"hint", node.hint},
                     {"cycles", node.cycles}});
  }
  ordered_json delegates = ordered_json::array();
  for (const DelegateReport& d : report.delegates) {
    delegates.push_back({{"tosa_operators", d.tosa_operators},
                         {"npu_operations", d.npu_operations},
                         {"macs", d.macs},
                         {"cycles", d.cycles},
                         {"command_stream_bytes", d.command_stream_bytes},
                         {"weight_bytes", d.weight_bytes},
                         {"scratch_bytes", d.scratch_bytes}});
  }
  const ordered_json json = {{"model", report.model},
                             {"target", report.target},
                             {"system_config", report.system_config},
                             {"memory_mode", report.memory_mode},
                             {"quantization", report.quantization},
                             {"nodes", nodes},
                             {"delegates", delegates},
                             {"output", report.output},
                             {"program_bytes", report.program_bytes},
                             {"planned_bytes", report.planned_bytes},
                             {"scratch_bytes", report.scratch_bytes},
                             {"clock_hz", report.clock_hz},
                             {"cycles", report.cycles}};
  return json.dump(2) + "\n";
}

}  // namespace carina::report
