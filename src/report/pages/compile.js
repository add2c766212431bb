"use strict";
// The pages of compile and explain.

const kPlaces = {npu: "NPU", cpu: "CPU", "npu+cpu": "NPU and CPU", folded: "folded", nowhere: "nowhere", undecided: "undecided"};

const sram_of = report => report.sram_bytes;

// A memory mode whose constants lie in SRAM.
const kConstantsInSram = "A memory mode that reads constants from SRAM has them counted as SRAM: they lie there, or in an on-chip flash as fast as it.";

const of_budget = budget => budget ? ` of ${number(budget)}` : "";

function error_lines(errors) {
  return errors.map(error => el("p", {class: "bad"},
    [error.where, error.what, error.expected && "expected " + error.expected, error.got && "got " + error.got, error.hint].filter(Boolean).join("; ")));
}

// What a reader must know before the figures.
function notices_section(report) {
  if (report.random_ranges)
    section("random", "Ranges of random inputs", "The model was calibrated on random inputs. Cycles and memory are estimates; accuracy has no meaning, and a program of it is not for use.");
  if (report.over_budget?.length > 0) section("over-budget", "It does not fit", "", ...error_lines(report.over_budget));
  if (report.float_edges?.length > 0)
    section("float-edges", "Floats at the edges", `${number(sum(report.float_edges, one => one.bytes))} B of what the executor plans are the floats of ` +
      `${report.float_edges.map(one => one.name).join(", ")}. --io ${report.float_edges[0].io} saves them.`);
}

function compile_cards(report) {
  const on = place => report.nodes.filter(node => node.runs_on === place).length;
  const real = report.nodes.length - on("folded");
  const macs = sum(report.delegates, one => one.macs || 0), cpu = report.cpu_cycles;
  const rate = report.delegates.find(one => one.npu)?.npu.macs_per_cycle;
  const parts = report.delegates.length;
  const list = [{key: "npu_nodes", name: "nodes on the NPU", value: on("npu"), text: `${on("npu")} of ${real}`, more: `in ${parts} part${parts === 1 ? "" : "s"}`}];
  if (report.errors.length === 0 && report.clock_hz > 0) {
    list.unshift({key: "cycles", name: "NPU cycles", value: report.cycles, text: big(report.cycles ?? 0), more: number(report.cycles)},
      ...interval_cards(report.cycles_interval),
      {key: "time", name: "NPU time", value: report.cycles, text: duration(report.cycles, report.clock_hz), more: `at ${number(report.clock_hz / 1e6)} MHz`});
    list.push({key: "macs", name: "multiply-accumulates", value: macs, text: big(macs), more: rate ? percent(macs, report.cycles * rate) + " of the NPU's" : ""},
      {key: "sram_bytes", name: "SRAM", value: sram_of(report), text: bytes(sram_of(report)), more: number(sram_of(report)) + " B" + (report.constants_memory === "SRAM" ? ", constants included" : "") + of_budget(report.sram_budget_bytes)},
      {key: "program_bytes", name: "program (flash)", value: report.program_bytes, text: bytes(report.program_bytes), more: number(report.program_bytes) + " B" + of_budget(report.flash_budget_bytes)});
    const checks = report.delegates.filter(one => one.check), checked = sum(checks, one => one.check.operators), of = sum(report.delegates, one => one.tosa_operators);
    if (checks.length > 0) list.push({key: "checked", name: "checked operators", value: checked, text: checked === of ? `all ${number(of)}` : `${number(checked)} of ${number(of)}`,
      more: [...new Set(checks.map(one => one.check.left_out ? `planned without ${one.check.left_out}` : one.check.unchecked))].filter(text => text).join("; ") || "on the simulator, beside the model"});
    if (cpu > 0 && report.cycles !== null)
      list.push({key: "cpu_cycles", name: "CPU cycles", value: cpu, text: big(cpu), more: "of a Cortex-M55, estimate"},
        {key: "inference_cycles", name: "NPU and CPU time", value: report.inference_cycles, text: duration(report.inference_cycles, report.clock_hz),
          more: `${number(report.inference_cycles)} cycles at one clock`});
  }
  cards(list);
}

function alternatives_section(report) {
  if (!report.alternatives || report.alternatives.length === 0) return;
  const now = {cycles: report.cycles, sram: sram_of(report), flash: report.program_bytes, cpu: report.cpu_cycles};
  const seconds = one => one.cycles / one.clock_hz, before = now.cycles / report.clock_hz;
  const made = report.alternatives.filter(one => !one.failure);
  const change = (value, of, digits = 1) => of ? (value > of ? "+" : value < of ? "−" : "±") + fixed(Math.abs(100 * (value - of) / of), digits) + " %" : "–";
  const tone = (value, of) => value < of ? "good" : value > of ? "bad" : "fine";
  const figure = (value, of, text) => el("span", {}, text, " ", el("span", {class: tone(value, of)}, change(value, of)));
  const columns = [{title: "instead", cell: one => one.what, by: one => one.what},
    {title: "options", cell: one => el("code", {}, one.options), by: one => one.options},
    {title: "cycles", number: true, cell: one => figure(one.cycles, now.cycles, number(one.cycles)), by: one => one.cycles},
    {title: "time", number: true, cell: one => figure(seconds(one), before, duration(one.cycles, one.clock_hz)), by: seconds},
    {title: "SRAM B", number: true, cell: one => figure(one.sram_bytes, now.sram, number(one.sram_bytes)), by: one => one.sram_bytes},
    {title: "flash B", number: true, cell: one => figure(one.program_bytes, now.flash, number(one.program_bytes)), by: one => one.program_bytes}];
  const failed = report.alternatives.filter(one => one.failure);
  section("alternatives", "What other choices bring", "Each row was compiled again with this one change and run on the cycle model: measured there, not guessed. " +
    `Against this program: ${number(now.cycles)} cycles, ${number(now.sram)} B of SRAM, ${number(now.flash)} B of flash. ` + kConstantsInSram,
    table("alternatives-table", columns, made),
    ...failed.map(one => el("p", {class: "note"}, el("code", {}, one.options), ` (${one.what}) gives no program: ${one.failure}`)));
}

// "conv2d to relu, linear to linear" as "conv2d to relu, linear": each run once.
const wide_text = wide => [...new Set(wide.split(", ").map(run => { const [first, last] = run.split(" to "); return first === last ? first : run; }))].join(", ");

function schemes_section(report) {
  if (!report.schemes) return;
  const taken = report.quantization.replace("auto: ", "").replace(/, calibrated on .*/, "");
  const rows = report.schemes.map(one => ({...one, taken: one.scheme === taken, tip: {scheme: one.scheme, cycles: number(one.cycles), SQNR: fixed(one.sqnr_db, 1) + " dB"}}));
  section("schemes", "Cycles against accuracy", "The schemes that --quantize auto measured and that no other one beats in both. The cycles are those of the NPU and the CPU, the SQNR is that of the worst output.",
    plot("schemes-plot", width => ({width: width - 100, height: 260, data: [{name: "rows", values: rows}],
      scales: [{name: "x", domain: {data: "rows", field: "cycles"}, range: "width", zero: false, nice: true, padding: 12}, {name: "y", domain: {data: "rows", field: "sqnr_db"}, range: "height", zero: false, nice: true, padding: 12}],
      axes: [{orient: "bottom", scale: "x", encode: tick_labels, tickCount: ticks(width, 6), grid: true, domain: false, title: "cycles"}, {orient: "left", scale: "y", grid: true, domain: false, title: "SQNR, dB"}],
      marks: [{type: "line", from: {data: "rows"}, encode: {enter: {x: {scale: "x", field: "cycles"}, y: {scale: "y", field: "sqnr_db"}, stroke: {value: "#9db8d4"}}}},
        {type: "symbol", from: {data: "rows"}, encode: {enter: {x: {scale: "x", field: "cycles"}, y: {scale: "y", field: "sqnr_db"}, size: {value: 70},
          fill: [{test: "datum.taken", value: "#c9453e"}, {value: "#3f7fc4"}], tooltip: {field: "tip"}}}}]})),
    table("schemes-table", [{title: "scheme", cell: one => one.taken ? el("strong", {}, one.scheme) : one.scheme, by: one => one.scheme},
      {title: "cycles", number: true, cell: one => number(one.cycles), by: one => one.cycles}, {title: "on the CPU", number: true, cell: one => number(one.cpu_cycles), by: one => one.cpu_cycles},
      {title: "delegates", number: true, cell: one => number(one.delegates), by: one => one.delegates},
      {title: "SQNR", number: true, cell: one => fixed(one.sqnr_db, 1) + " dB", by: one => one.sqnr_db},
      {title: "16 bits in", cell: one => wide_text(one.wide), by: one => one.wide}], rows));
}

function memory_section(delegate, index, count) {
  if (!delegate.memory_map || !delegate.npu) return;
  const memories = [...new Set(delegate.memory_map.map(one => one.memory))].filter(memory => memory !== "tables");
  const id = "memory-" + index;
  const made = memories.flatMap(memory => {
    const held = delegate.memory_map.filter(one => one.memory === memory);
    return [el("h3", {}, `${memory}: ${number(Math.max(...held.map(one => one.address_bytes + one.bytes)))} B`),
      plot(`${id}-${memory.replace(" ", "-")}`, width => memory_rectangles(held, delegate.npu.layers, delegate.cycles, width))];
  });
  section(id, count > 1 ? `Memory over time, part ${index}` : "Memory over time", "Each rectangle is what stands at these addresses from its first use to its last. Weights come in parts, each when its place is free: " +
    "where they cross another rectangle, that part comes later. " +
    `No placement could take less than what lives at one time: ${number(delegate.sram_bound_bytes)} B.`, legend(kHeldColors), ...made);
}

function nodes_section(report) {
  const max = Math.max(1, ...report.nodes.map(node => node.cycles));
  const columns = [
    {
      title: 'node',
      cell: node => el('span', {}, node.name, ' ', el('span', {class: 'fine'}, node.source)),
      by: node => node.name
    },
    {title: 'operator', cell: node => node.op, by: node => node.op}, {
      title: 'runs on',
      cell: node => el('span', {class: 'place ' + node.runs_on}, kPlaces[node.runs_on]),
      by: node => node.runs_on
    },
    {
      title: 'cycles',
      number: true,
      cell: node => node.cycles ? bar(number(node.cycles), node.cycles / max) : '–',
      by: node => node.cycles
    },
    {
      title: 'CPU cycles',
      number: true,
      cell: node => node.cpu_cycles ? number(node.cpu_cycles) : '–',
      by: node => node.cpu_cycles
    },
    {
      title: 'why',
      cell: node =>
          el('span', {}, node.reason, ...(node.hint ? [el('br'), el('span', {class: 'fine'}, node.hint)] : [])),
      by: node => node.reason
    }
  ];
  section("nodes", "What runs where, and why", "The nodes of the exported model. A node without cycles was fused into another one. A title sorts.",
    table("nodes-table", columns, report.nodes));
}

function compile_page(report, kind) {
  const memories = report.clock_hz > 0 ? ` · ${report.system_config} · ${report.memory_mode}` : "";
  head(kind, base_name(report.model), `${report.target}${memories} · quantization: ${report.quantization}`);
  compile_cards(report);
  if (report.errors.length > 0)
    section("errors", "It cannot be compiled", "", ...error_lines(report.errors));
  notices_section(report);
  const parts = report.delegates.filter(one => one.npu);
  parts.forEach((one, index) => time_section("time-" + index, parts.length > 1 ? `Where the time goes, part ${index}` : "Where the time goes", one.npu));
  schemes_section(report);
  alternatives_section(report);
  report.delegates.forEach((one, index) => memory_section(one, index, report.delegates.length));
  parts.forEach((one, index) => roofline_section("roofline-" + index, one.npu));
  graph_section(report);
  nodes_section(report);
}
