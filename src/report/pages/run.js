"use strict";
// The page of run.

function run_page(report) {
  const npu = report.npu;
  head("run", base_name(report.program), npu ? `${npu.target} · ${npu.system_config} · ${npu.memory_mode}` : "");
  const list = npu ? [
    {key: "cycles", name: "NPU cycles", value: npu.cycles, text: big(npu.cycles), more: number(npu.cycles)},
    ...interval_cards(npu.cycles_interval),
    {key: "time", name: "NPU time", value: npu.cycles, text: duration(npu.cycles, npu.clock_hz), more: `at ${number(npu.clock_hz / 1e6)} MHz`},
    {key: "macs", name: "multiply-accumulates", value: npu.macs, text: big(npu.macs), more: percent(npu.macs, npu.cycles * npu.macs_per_cycle) + " of the NPU's"}] : [];
  cards([...list, {key: "delegate_calls", name: "calls of the NPU", value: report.delegate_calls, text: number(report.delegate_calls), more: "per inference"},
    {key: "cpu_kernels", name: "CPU kernels", value: report.cpu_kernels.length, text: number(report.cpu_kernels.length), more: "calls per inference"}]);
  section("outputs", "Outputs", "Exact: the bits that the NPU gives.", table("outputs-table", [{title: "name", cell: one => one.name, by: one => one.name},
    {title: "type", cell: one => one.type, by: one => one.type}, {title: "first elements", cell: one => el("code", {}, one.preview)}], report.outputs));
  if (npu) {
    time_section("time-0", "Where the time goes", npu);
    roofline_section("roofline-0", npu);
    section("traffic-section", "Traffic", "Bytes that cross the NPU's ports.", traffic_table(npu.traffic_bytes));
    section("pmu", "Performance counters", "Under the names that the driver offers on a device.", table("pmu-table", [
      {title: "event", cell: ([name]) => name, by: ([name]) => name}, {title: "count", number: true, cell: ([, count]) => number(count), by: ([, count]) => count}],
      Object.entries(npu.pmu)));
  }
  section("memory", "Memory of the executor", "Under the names that ExecuTorch's runner prints.", table("memory-table", [
    {title: "figure", cell: ([name]) => el("code", {}, name), by: ([name]) => name}, {title: "bytes", number: true, cell: ([, count]) => number(count), by: ([, count]) => count}],
    Object.entries(report.memory)));
  if (report.cpu_kernels.length > 0)
    section("kernels", "CPU kernels", "In the order of their calls.", el("p", {}, ...report.cpu_kernels.flatMap(name => [el("code", {}, name), " "])));
}
