"use strict";
// The pages of accuracy: a program on samples, or a model layer by layer.

const decibels = value => value === null ? "exact" : fixed(value, 1) + " dB";

function accuracy_page(report) {
  head("accuracy", base_name(report.program), `${number(report.samples)} samples`);
  const share = (key, name) => key in report ? [{key, name, value: report[key], text: percent(report[key], report.samples, 2), more: `${number(report[key])} of ${number(report.samples)}`}] : [];
  const measure = (key, name, more) => report.task && key in report.task ? [{key: "task_" + key, name: `${report.task.metric} of the ${name}`, value: report.task[key],
    text: `${fixed(report.task[key], report.task.unit ? 2 : 4)} ${report.task.unit}`, more}] : [];
  const interval = report.task ? `95 %: ${report.task.npu_interval.map(value => fixed(value, report.task.unit ? 2 : 4)).join(" to ")}` : "";
  cards([...measure("float", "float model", ""), ...measure("integer", "integer graph", ""), ...measure("npu", "NPU", interval), ...share("float_right", "float model right"), ...share("integer_right", "integer graph right"), ...share("npu_right", `${report.device || "NPU"} right`),
    ...share("npu_answers_as_float", `${report.device || "NPU"} answers as the float model`), ...share("npu_equals_integer", "NPU bits = integer graph's"),
    {key: "sqnr_db", name: "SQNR to the float model", value: report.sqnr_db, text: decibels(report.sqnr_db), more: report.outputs?.length > 1 ? `the lowest of ${report.outputs.length} outputs` : "of the output"}]);
  if (report.outputs?.length > 1)
    section("outputs", "Each output", "How near each output is to the float model's.", table("outputs-table", [{title: "output", cell: one => one.name, by: one => one.name},
      {title: "SQNR", number: true, cell: one => decibels(one.sqnr_db), by: one => one.sqnr_db ?? 1e9}], report.outputs));
  right_section(report);
  task_section(report);
  classes_section(report);
}

// Bars of the right answers. The line across the NPU's bar is the interval of its share.
function right_section(report) {
  const names = {float_right: "float model", integer_right: "integer graph", npu_right: report.device || "NPU"};
  const ends = key => key === "npu_right" && report.npu_right_interval ? report.npu_right_interval.map(value => value / 100) : null;
  const rows = Object.keys(names).filter(key => key in report).map(key => ({name: names[key], share: report[key] / report.samples, low: ends(key)?.[0] ?? null, high: ends(key)?.[1] ?? null}));
  if (rows.length === 0) return;
  section("right", "Right answers", "The line across the last bar is the interval that holds the true share with a probability of 95 %.", plot("right-plot", width => ({width: width - 200, height: rows.length * 44,
    data: [{name: "rows", values: rows}, {name: "intervals", values: rows.filter(row => row.low !== null)}],
    scales: [{name: "y", type: "band", domain: rows.map(row => row.name), range: "height", padding: .35}, {name: "x", domain: [0, 1], range: "width"}],
    axes: [{orient: "left", scale: "y", ticks: false, domain: false, labelPadding: 8}, {orient: "bottom", scale: "x", format: ".0%", tickCount: ticks(width, 10), grid: true, domain: false}],
    marks: [{type: "rect", from: {data: "rows"}, encode: {enter: {y: {scale: "y", field: "name"}, height: {scale: "y", band: 1}, x: {value: 0},
      x2: {scale: "x", field: "share"}, fill: {value: "#3f7fc4"}}}}, {type: "text", from: {data: "rows"}, encode: {enter: {x: {value: 8},
      y: {scale: "y", field: "name", band: .5}, align: {value: "left"}, baseline: {value: "middle"}, fill: {value: "#fff"}, fontWeight: {value: 600},
      text: {signal: "format(datum.share, '.2%')"}}}},
    {type: "rule", from: {data: "intervals"}, encode: {enter: {x: {scale: "x", field: "low"}, x2: {scale: "x", field: "high"}, y: {scale: "y", field: "name", band: .5},
      stroke: {value: color_of("--ink")}, strokeWidth: {value: 3}}}}]})));
}

// A metric of the task: the NPU with its interval, and the difference to the float model with its interval.
function task_section(report) {
  const task = report.task;
  if (!task) return;
  const text = value => `${fixed(value, task.unit ? 2 : 4)} ${task.unit}`.trim();
  const rows = [{name: "float model", value: task.float, interval: null}, ...("integer" in task ? [{name: "integer graph", value: task.integer, interval: null}] : []),
    {name: report.device || "NPU", value: task.npu, interval: task.npu_interval}, {name: "difference to the float model", value: task.npu - task.float, interval: task.difference_interval}];
  section("task", `${task.metric}, with intervals`, "An interval holds the true number with a probability of 95 %. A difference whose interval has 0 in it is no finding.",
    table("task-table", [{title: "of", cell: one => one.name}, {title: task.metric, number: true, cell: one => text(one.value)},
      {title: "95 %", number: true, cell: one => one.interval ? one.interval.map(text).join(" to ") : "–"}], rows));
}

// Rows are the labels, columns the answers: the diagonal is right.
function confusion_matrix(report, width) {
  const names = [...new Set([...report.classes.map(one => one.label), ...report.confusions.map(one => one.answer)])].sort((a, b) => a - b);
  const of_label = new Map(report.classes.map(one => [one.label, one]));
  const cells = [...report.classes.map(one => ({label: one.label, answer: one.label, samples: one.npu_right})), ...report.confusions].filter(cell => cell.samples > 0).map(cell => ({...cell,
    share: cell.samples / of_label.get(cell.label).samples, right: cell.label === cell.answer,
    tip: {title: `class ${cell.label}, answered ${cell.answer}`, samples: `${number(cell.samples)} of ${number(of_label.get(cell.label).samples)}`, share: percent(cell.samples, of_label.get(cell.label).samples)}}));
  const size = Math.min(width - 90, 36 * names.length, 620);
  return {
    width: size, height: size, data: [{name: "cells", values: cells}],
    scales: [{name: "x", type: "band", domain: names, range: "width", padding: .04}, {name: "y", type: "band", domain: names, range: "height", padding: .04}],
    axes: [{orient: "top", scale: "x", title: "answer", ticks: false, domain: false, labelOverlap: true}, {orient: "left", scale: "y", title: "class", ticks: false, domain: false, labelOverlap: true}],
    marks: [{type: "rect", from: {data: "cells"}, encode: {enter: {x: {scale: "x", field: "answer"}, width: {scale: "x", band: 1}, y: {scale: "y", field: "label"}, height: {scale: "y", band: 1},
      fill: [{test: "datum.right", value: "#3f7fc4"}, {value: "#c9453e"}], fillOpacity: {signal: "0.15 + 0.85 * sqrt(datum.share)"}, tooltip: {field: "tip"}}}},
    ...(size / names.length > 26 ? [{type: "text", interactive: false, from: {data: "cells"}, encode: {enter: {x: {scale: "x", field: "answer", band: .5}, y: {scale: "y", field: "label", band: .5},
      align: {value: "center"}, baseline: {value: "middle"}, fontSize: {value: 11}, fill: [{test: "datum.share > .3", value: "#fff"}, {value: color_of("--ink")}], text: {field: "samples"}}}}] : [])],
  };
}

function classes_section(report) {
  if (!report.classes || report.classes.length < 2) return;
  const device = report.device || "NPU";
  section("classes", "Each class", `Rows are the labels of the samples, columns the answers of the ${device}. Blue is right. An interval is that of the share of right answers, 95 %.`,
    plot("confusion-plot", width => confusion_matrix(report, width)), table("classes-table", [{title: "class", number: true, cell: one => String(one.label), by: one => one.label},
      {title: "samples", number: true, cell: one => number(one.samples), by: one => one.samples}, {title: "float model right", number: true, cell: one => percent(one.float_right, one.samples), by: one => one.float_right / one.samples},
      {title: `${device} right`, number: true, cell: one => percent(one.npu_right, one.samples), by: one => one.npu_right / one.samples},
      {title: "95 %", number: true, cell: one => one.npu_interval.map(value => fixed(value, 1)).join(" to ") + " %", by: one => one.npu_interval[0]}], report.classes));
}

function layer_bars(layers, width) {
  const rows = layers.filter(layer => layer.sqnr_db !== null).map((layer, index) => ({...layer, index, entered: Math.max(0, layer.entered_db ?? 0), tip: {title: layer.node, operator: layer.op,
    source: layer.source || "–", type: layer.type, SQNR: decibels(layer.sqnr_db), "entered here": decibels(layer.entered_db)}}));
  return {
    width: width - 80, height: 300, data: [{name: "rows", values: rows}],
    scales: [{name: "x", type: "band", domain: rows.map(row => row.index), range: "width", padding: .15},
      {name: "y", domain: {data: "rows", field: "sqnr_db"}, range: "height", zero: true, nice: true},
      {name: "color", type: "linear", domain: [0, 12], clamp: true, range: ["#7fb0dd", "#c9453e"]}],
    axes: [{orient: "bottom", scale: "x", ticks: false, labelAngle: -60, labelAlign: "right", labelLimit: 110, labelOverlap: true, labelFontSize: 10, title: "layers, in the order of the model",
        encode: {labels: {update: {text: {signal: `${JSON.stringify(rows.map(row => row.node))}[datum.value]`}}}}},
      {orient: "left", scale: "y", grid: true, title: "SQNR to the float model, dB", domain: false}],
    marks: [{type: "rect", from: {data: "rows"}, encode: {enter: {x: {scale: "x", field: "index"}, width: {scale: "x", band: 1}, y: {scale: "y", field: "sqnr_db"},
      y2: {scale: "y", value: 0}, fill: {scale: "color", field: "entered"}, tooltip: {field: "tip"}}, update: {opacity: {value: 1}}, hover: {opacity: {value: .75}}}}],
  };
}

const cost_change = (value, of) => (value > of ? "+" : value < of ? "−" : "±") + fixed(Math.abs(100 * (value - of) / of), 1) + " %";

function layer_accuracy_page(report) {
  head("accuracy by layer", base_name(report.model), `${report.scheme} · ${number(report.samples)} samples`);
  cards([{key: "sqnr_db", name: "SQNR of the outputs", value: report.sqnr_db, text: decibels(report.sqnr_db), more: report.scheme},
    ...(report.outputs || []).map(one => ({key: "output-" + one.name, name: one.name, value: one.sqnr_db, text: decibels(one.sqnr_db),
      more: "mean error " + one.mean_absolute_error.toPrecision(3)}))]);
  if (report.remedies?.length > 0)
    section("remedies", "What helps", "Other schemes, measured on the same samples." + (report.target ? ` The cycles are those of the NPU and the CPU on ${report.target}; as asked: ${number(report.cycles)}.` : ""), table("remedies-table", [
      {title: "instead", cell: one => one.what, by: one => one.what}, {title: "options", cell: one => one.options ? el("code", {}, one.options) : "", by: one => one.options},
      {title: "SQNR", number: true, cell: one => decibels(one.sqnr_db), by: one => one.sqnr_db},
      {title: "gain", number: true, cell: one => el("span", {class: one.gain_db >= .05 ? "good" : one.gain_db <= -.05 ? "bad" : "fine"}, decibels(one.gain_db)), by: one => one.gain_db},
      ...(report.target ? [{title: `cycles on ${report.target}`, number: true, cell: one => one.cycles ? number(one.cycles) : "–", by: one => one.cycles || 0},
        {title: "change", number: true, cell: one => one.cycles ? cost_change(one.cycles, report.cycles) : "–", by: one => one.cycles || 0}] : [])], report.remedies));
  section("layers", "Where the error enters", "How near each layer's result is to the float model's; the redder a bar, the more of the error enters there.",
    plot("layers-plot", width => layer_bars(report.layers || [], width)));
  section("table-section", "All layers", "", table("layers-table", [{title: "node", cell: one => el("span", {}, one.node, " ", el("span", {class: "fine"}, one.source)), by: one => one.node},
    {title: "operator", cell: one => one.op, by: one => one.op}, {title: "type", cell: one => one.type, by: one => one.type},
    {title: "SQNR", number: true, cell: one => decibels(one.sqnr_db), by: one => one.sqnr_db ?? 1e9},
    {title: "enters here", number: true, cell: one => decibels(one.entered_db), by: one => one.entered_db ?? -1e9}], report.layers || []));
}
