#include "report/render.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>
#include <string_view>

#include "facts/npu_accuracy.h"
#include "report/report_parts_internal.h"
#include "report/tables/json.h"
#include "report/tables/text_table.h"

namespace carina::report {

namespace {

std::string layers_table(const results::NpuReport& npu, LayerRows rows) {
  using enum Align;
  Table table({{.title = "layer"},
               {.title = "operation"},
               {.title = "MACs", .align = kRight},
               {.title = "cycles", .align = kRight},
               {.title = "share", .align = kRight},
               {.title = "MAC use", .align = kRight},
               {.title = "bound by"}});
  for (const results::LayerReport& layer : rows_of(npu, rows)) {
    const double share =
        npu.cycles == 0 ? 0 : 100.0 * static_cast<double>(layer.cycles) / static_cast<double>(npu.cycles);
    table.add({layer.name, layer.operation, layer.macs == 0 ? "-" : grouped(layer.macs), grouped(layer.cycles),
               fmt::format("{:.1f} %", share), layer.macs == 0 ? "-" : fmt::format("{:.1f} %", 100 * layer.utilization),
               layer.bottleneck});
  }
  return table.text(2);
}

std::string npu_text(const results::NpuReport& npu, LayerRows rows) {
  std::string out = fmt::format("NPU {} ({}, {}), per inference:\n", npu.target, npu.system_config, npu.memory_mode) +
                    layers_table(npu, rows);
  const double time = npu.clock_hz == 0 ? 0 : 1e3 * static_cast<double>(npu.cycles) / static_cast<double>(npu.clock_hz);
  out += fmt::format("total: {} cycles = {:.3f} ms at {} MHz, {} MACs, MAC utilization {:.1f} %\n", grouped(npu.cycles),
                     time, npu.clock_hz / 1'000'000, grouped(npu.macs), 100 * npu.utilization);
  out += interval_text(carina::npu::cycle_interval(npu.target, npu.cycles, npu.memory_cycles));
  for (const auto& [name, bytes] : npu.traffic_bytes) out += fmt::format("traffic {}: {} B\n", name, grouped(bytes));
  for (const auto& [name, count] : npu.pmu) out += fmt::format("pmu {}: {}\n", name, grouped(count));
  return out;
}

std::string outputs_text(const std::vector<results::TensorReport>& outputs) {
  std::string out;
  for (const results::TensorReport& tensor : outputs) {
    out += fmt::format("{}: {} = {}{}\n", tensor.name, tensor.type, tensor.preview,
                       tensor.file.empty() ? "" : " -> " + tensor.file);
  }
  return out;
}

Json outputs_json(const std::vector<results::TensorReport>& outputs) {
  Json json = Json::array();
  for (const results::TensorReport& tensor : outputs) {
    json.push_back({{"name", tensor.name}, {"type", tensor.type}, {"file", tensor.file}, {"preview", tensor.preview}});
  }
  return json;
}

std::string checks_text(const results::TestCaseReport& test) {
  std::string out;
  for (size_t i = 0; i < test.outputs.size(); ++i) {
    const results::OutputCheck& check = test.outputs[i];
    out += fmt::format("  output {}: {}: ", i, check.type);
    out += check.wrong == 0
               ? fmt::format("as expected, largest difference {:.3g}\n", check.largest_difference)
               : fmt::format("{} of {} elements are wrong, largest difference {:.3g}; {}\n", grouped(check.wrong),
                             grouped(check.elements), check.largest_difference, check.first_wrong);
  }
  return out;
}

std::string findings_text(const std::vector<std::string>& findings) {
  std::string out = fmt::format(
      "check: {} found; the results above are those of the commands one after the other, which an NPU need not give\n",
      findings.size());
  for (const std::string& finding : findings) out += "  " + finding + "\n";
  return out;
}

int64_t npu_calls(const results::RunReport& report) {
  return report.delegate_calls - static_cast<int64_t>(report.vgf_times.size() + report.tosa_times.size());
}

bool has_npu_figures(const results::RunReport& report) {
  return report.timed && npu_calls(report) > 0;
}

// The calls of delegates that are graphs. Empty if there are none.
std::string graphs_text(std::string_view kind, const std::vector<int64_t>& times, std::string_view device,
                        const results::RunReport& report) {
  if (times.empty()) return {};
  std::string out = fmt::format("{} delegations: {} per inference\n", kind, times.size());
  if (!report.timed) return out;
  for (size_t i = 0; i < times.size(); ++i)
    out += fmt::format("  call {}: {:.3f} ms {}\n", i, static_cast<double>(times[i]) * 1e-6, device);
  return out;
}

// One line for each figure. A pool of known size is printed as ExecuTorch's runner for Arm prints it.
std::string memory_text(std::span<const std::pair<std::string, int64_t>> memory) {
  std::string out;
  for (const auto& [name, bytes] : memory) {
    if (name.ends_with("_total")) continue;
    const std::string pool = name.substr(0, name.ends_with("_used") ? name.size() - 5 : name.size()) + "_total";
    const auto total = std::ranges::find(memory, pool, &std::pair<std::string, int64_t>::first);
    if (total == memory.end()) {
      out += fmt::format("{}: {} bytes\n", name, bytes);
    } else {
      out += fmt::format("{}: {} / {}  free: {} ( used: {} % )\n", name, bytes, total->second, total->second - bytes,
                         total->second == 0 ? 0 : bytes * 100 / total->second);
    }
  }
  return out;
}

}  // namespace

std::string to_text(const results::TestsReport& tests) {
  const auto passed = std::ranges::count_if(tests.cases, &results::TestCaseReport::passed);
  std::string out =
      fmt::format("test cases: {} of {} pass (floats within {:g} relative + {:g} absolute, integers equal)\n", passed,
                  tests.cases.size(), tests.relative_tolerance, tests.absolute_tolerance);
  for (const results::TestCaseReport& test : tests.cases) {
    out += fmt::format("{} {}: {}\n", test.method, test.index,
                       !test.checked() ? "not checked, it has no expected outputs"
                       : test.passed() ? "pass"
                                       : "FAIL");
    out += checks_text(test);
  }
  return out;
}

Json tests_json(const results::TestsReport& tests) {
  Json cases = Json::array();
  for (const results::TestCaseReport& test : tests.cases) {
    Json outputs = Json::array();
    for (const results::OutputCheck& check : test.outputs) {
      outputs.push_back({{"type", check.type},
                         {"elements", check.elements},
                         {"wrong", check.wrong},
                         {"largest_difference", check.largest_difference},
                         {"first_wrong", check.first_wrong}});
    }
    cases.push_back({{"method", test.method},
                     {"index", test.index},
                     {"checked", test.checked()},
                     {"passed", test.passed()},
                     {"outputs", outputs}});
  }
  return {{"passed", tests.passed()},
          {"relative_tolerance", tests.relative_tolerance},
          {"absolute_tolerance", tests.absolute_tolerance},
          {"cases", cases}};
}

std::string to_text(const results::RunReport& report, LayerRows rows) {
  std::string out = report.tests ? to_text(*report.tests) : std::string();
  out += outputs_text(report.outputs);
  if (report.samples > 1) out += fmt::format("samples: {}\n", report.samples);
  if (report.methods.size() > 1)
    out += fmt::format("method: {} (of {})\n", report.method, fmt::join(report.methods, ", "));
  out += memory_text(report.memory);
  if (!report.cpu_kernels.empty()) {
    out += "CPU kernels:";
    for (const std::string& kernel : report.cpu_kernels) out += " " + kernel;
    out += '\n';
  }
  out += fmt::format("NPU delegations: {} per inference\n", npu_calls(report));
  out += graphs_text("VGF", report.vgf_times, report.vgf_device, report);
  out += graphs_text("TOSA", report.tosa_times, "in the interpreter", report);
  if (has_npu_figures(report)) out += npu_text(report.npu, rows);
  if (report.findings) out += report.findings->empty() ? "check: nothing found\n" : findings_text(*report.findings);
  return out;
}

std::string to_json(const results::RunReport& report) {
  Json json = {{"program", report.program},
               {"outputs", outputs_json(report.outputs)},
               {"memory", pairs(report.memory)},
               {"cpu_kernels", report.cpu_kernels},
               {"delegate_calls", report.delegate_calls}};
  if (has_npu_figures(report)) json["npu"] = npu_json(report.npu);
  if (!report.vgf_times.empty()) json["vgf_nanoseconds"] = report.vgf_times;
  if (!report.tosa_times.empty()) json["tosa_nanoseconds"] = report.tosa_times;
  if (report.findings) json["findings"] = *report.findings;
  if (report.methods.size() > 1) {
    json["method"] = report.method;
    json["methods"] = report.methods;
  }
  json["samples"] = report.samples;
  if (report.tests) json["tests"] = tests_json(*report.tests);
  return json_text(json);
}

namespace {

std::string microseconds(int64_t nanoseconds) {
  return fmt::format("{:.1f}", static_cast<double>(nanoseconds) * 1e-3);
}

std::string profile_text(std::span<const results::OperatorTime> profile) {
  Table table({{.title = "node"},
               {.title = "operators"},
               {.title = "time us", .align = Align::kRight},
               {.title = "share", .align = Align::kRight}});
  int64_t all = 0;
  for (const results::OperatorTime& time : profile) all += time.nested ? 0 : time.nanoseconds;
  for (const results::OperatorTime& time : profile) {
    std::vector<std::string> ops{time.op};
    ops.insert(ops.end(), time.with.begin(), time.with.end());
    for (std::string& op : ops) op = op.substr(op.find('.') + 1);
    const double share = all == 0 ? 0 : static_cast<double>(time.nanoseconds) / static_cast<double>(all);
    table.add({time.name, fmt::format("{}", fmt::join(ops, " + ")), microseconds(time.nanoseconds),
               fmt::format("{:.1f} %", 100 * share)});
  }
  return table.text(2) + fmt::format("  all nodes: {} us\n", microseconds(all));
}

}  // namespace

std::string to_text(const results::InterpretReport& report) {
  std::string out = outputs_text(report.outputs);
  out += fmt::format("interpreter memory: {} B\n", grouped(report.planned_bytes));
  if (!report.profile.empty()) out += profile_text(report.profile);
  return out;
}

std::string to_json(const results::InterpretReport& report) {
  Json profile = Json::array();
  for (const results::OperatorTime& time : report.profile)
    profile.push_back({{"name", time.name},
                       {"op", time.op},
                       {"with", time.with},
                       {"nanoseconds", time.nanoseconds},
                       {"nested", time.nested}});
  const Json json = {{"model", report.model},
                     {"outputs", outputs_json(report.outputs)},
                     {"planned_bytes", report.planned_bytes},
                     {"profile", profile}};
  return json_text(json);
}

}  // namespace carina::report
