#include <fmt/format.h>

#include <iterator>

#include "simulate/interface/report.h"

// The simulator's report as JSON, and as a trace for Perfetto.
namespace carina::simulate {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string extent(const Extent& e) {
  return fmt::format("[{},{},{}]", e.height, e.width, e.depth);
}

std::string cycles_object(const Cycles& c) {
  std::string access;
  for (int m = 0; m < kMemoryKinds; ++m) {
    if (c.access[static_cast<size_t>(m)] == 0) continue;
    access += fmt::format("{}{}:{}", access.empty() ? "" : ",", quoted(name_of(static_cast<MemoryKind>(m))),
                          c.access[static_cast<size_t>(m)]);
  }
  return fmt::format(
      R"({{"total":{},"npu":{},"mac":{},"weight_decode":{},"output":{},"issue":{},"dma":{},"exposed_dma":{},"access":{{{}}}}})",
      c.total, c.npu, c.mac, c.weight_decode, c.output, c.issue, c.dma, c.exposed_dma, access);
}

std::string traffic_object(const TrafficByMemory& traffic) {
  std::string out;
  for (int m = 0; m < kMemoryKinds; ++m) {
    const Traffic& t = traffic[static_cast<size_t>(m)];
    if (t.bytes() == 0) continue;
    out += fmt::format(
        R"({}{}:{{"feature_map_read_bytes":{},"feature_map_write_bytes":{},"weight_read_bytes":{},"weight_write_bytes":{},"command_read_bytes":{}}})",
        out.empty() ? "" : ",", quoted(name_of(static_cast<MemoryKind>(m))), t.feature_map_read_bytes,
        t.feature_map_write_bytes, t.weight_read_bytes, t.weight_write_bytes, t.command_read_bytes);
  }
  return '{' + out + '}';
}

std::string operation_object(const OperationReport& op) {
  return fmt::format(
      R"({{"command":{},"word_offset":{},"name":{},"ifm":{},"ofm":{},"kernel":[{},{}],"block":{},"macs":{},"dma_bytes":{},"start_cycle":{},"cycles":{},"traffic":{}}})",
      op.command_index, op.word_offset, quoted(op.name), extent(op.ifm), extent(op.ofm), op.kernel.height,
      op.kernel.width, extent(op.block), op.macs, op.dma_bytes, op.start_cycle, cycles_object(op.cycles),
      traffic_object(op.traffic));
}

template <typename Range, typename Format>
std::string array(const Range& range, const Format& format) {
  std::string out;
  for (const auto& item : range) out += (out.empty() ? "" : ",\n  ") + format(item);
  return out.empty() ? "[]" : "[\n  " + out + "]";
}

// One complete event; times in microseconds.
std::string event(std::string_view name, int track, double start_us, double duration_us, std::string_view args) {
  return fmt::format(R"({{"name":{},"ph":"X","pid":1,"tid":{},"ts":{:.4f},"dur":{:.4f},"args":{}}})", quoted(name),
                     track, start_us, duration_us, args);
}

}  // namespace

std::string to_json(const Report& report) {
  const auto counter = [](const PmuCounter& c) {
    return fmt::format(R"({{"event":{},"name":{},"count":{}}})", c.event, quoted(c.name), c.count);
  };
  const auto finding = [](const Diagnostic& d) { return quoted(to_string(d)); };
  return fmt::format(
      "{{\"npu\":{},\n\"config_word\":{},\n\"commands\":{},\n\"irq_history\":{},\n\"macs\":{},\n\"cycles\":{},"
      "\n\"traffic\":{},\n\"pmu\":{},\n\"findings\":{},\n\"operations\":{}}}\n",
      quoted(report.npu), report.config_word, report.commands, report.irq_history, report.macs,
      cycles_object(report.cycles), traffic_object(report.traffic), array(report.pmu, counter),
      array(report.findings, finding), array(report.operations, operation_object));
}

std::string perfetto_trace(const Report& report, double clock_hz) {
  constexpr int kKernels = 1;
  constexpr int kTransfers = 2;
  constexpr int kMac = 3;
  constexpr int kOutput = 4;
  const double us_per_cycle = 1e6 / clock_hz;
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  const auto track = [&](int id, std::string_view name) {
    out +=
        fmt::format(R"({{"name":"thread_name","ph":"M","pid":1,"tid":{},"args":{{"name":{}}}}},)", id, quoted(name)) +
        '\n';
  };
  out += fmt::format(R"({{"name":"process_name","ph":"M","pid":1,"args":{{"name":{}}}}},)", quoted(report.npu)) + '\n';
  track(kKernels, "operations");
  track(kTransfers, "DMA");
  track(kMac, "MAC array");
  track(kOutput, "output unit");
  std::string events;
  const auto append = [&](std::string text) { events += (events.empty() ? "" : ",\n") + std::move(text); };
  for (const OperationReport& op : report.operations) {
    const double start = static_cast<double>(op.start_cycle) * us_per_cycle;
    const auto us = [us_per_cycle](uint64_t cycles) { return static_cast<double>(cycles) * us_per_cycle; };
    const std::string args =
        fmt::format(R"({{"command":{},"ifm":{},"ofm":{},"macs":{},"cycles":{}}})", op.command_index, extent(op.ifm),
                    extent(op.ofm), op.macs, cycles_object(op.cycles));
    if (op.kind == OperationKind::kDma) {
      append(event(op.name, kTransfers, start, us(op.cycles.dma), args));
      continue;
    }
    append(event(op.name, kKernels, start, us(op.cycles.total - op.cycles.exposed_dma), args));
    if (op.cycles.mac != 0) append(event(op.name, kMac, start, us(op.cycles.mac), "{}"));
    if (op.cycles.output != 0) append(event(op.name, kOutput, start, us(op.cycles.output), "{}"));
  }
  return out + events + "\n]}\n";
}

}  // namespace carina::simulate
