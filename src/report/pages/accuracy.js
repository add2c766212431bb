"use strict";
// The pages of accuracy: a program on samples, or a model layer by layer.

const decibels = value => value === null ? "exact" : fixed(value, 1) + " dB";

function accuracy_page(report) {
  head("accuracy", base_name(report.program), `${number(report.samples)} samples`);
  const share = (key, name) => key in report ? [{key, name, value: report[key], text: percent(report[key], report.samples, 2), more: `${number(report[key])} of ${number(report.samples)}`}] : [];
  const measure = (key, name, more) => report.task && key in report.task ? [{key: "task_" + key, name: `${report.task.metric} of the ${name}`, value: report.task[key],
    text: `${fixed(report.task[key], report.task.unit ? 2 : 4)} ${report.task.unit}`, more}] : [];
  const interval = report.task ? `95 %: ${report.task.npu_interval.map(value => fixed(value, report.task.unit ? 2 : 4)).join(" to ")}` : "";
  cards([...measure("float", "float model", ""), ...measure("integer", "integer graph", ""), ...measure("npu", "NPU", interval), ...share("float_right", "float model right"), ...share("integer_right", "integer graph right"), ...share("npu_right", "NPU right"),
    ...share("npu_answers_as_float", "NPU answers as the float model"), ...share("npu_equals_integer", "NPU bits = integer graph's"),
    {key: "sqnr_db", name: "SQNR to the float model", value: report.sqnr_db, text: decibels(report.sqnr_db), more: report.outputs?.length > 1 ? `the lowest of ${report.outputs.length} outputs` : "of the output"}]);
  if (report.outputs?.length > 1)
    section("outputs", "Each output", "How near each output is to the float model's.", table("outputs-table", [{title: "output", cell: one => one.name, by: one => one.name},
      {title: "SQNR", number: true, cell: one => decibels(one.sqnr_db), by: one => one.sqnr_db ?? 1e9}], report.outputs));
  const rows = ["float_right", "integer_right", "npu_right"].filter(key => key in report).map(key => ({name: {float_right: "float model", integer_right: "integer graph",
    npu_right: "NPU"}[key], share: report[key] / report.samples, right: report[key]}));
  if (rows.length > 0)
    section("right", "Right answers", "", plot("right-plot", width => ({width: width - 200, height: rows.length * 44, data: [{name: "rows", values: rows}],
      scales: [{name: "y", type: "band", domain: rows.map(row => row.name), range: "height", padding: .35}, {name: "x", domain: [0, 1], range: "width"}],
      axes: [{orient: "left", scale: "y", ticks: false, domain: false, labelPadding: 8}, {orient: "bottom", scale: "x", format: ".0%", grid: true, domain: false}],
      marks: [{type: "rect", from: {data: "rows"}, encode: {enter: {y: {scale: "y", field: "name"}, height: {scale: "y", band: 1}, x: {value: 0},
        x2: {scale: "x", field: "share"}, fill: {value: "#3f7fc4"}}}}, {type: "text", from: {data: "rows"}, encode: {enter: {x: {scale: "x", field: "share", offset: -8},
        y: {scale: "y", field: "name", band: .5}, align: {value: "right"}, baseline: {value: "middle"}, fill: {value: "#fff"}, fontWeight: {value: 600},
        text: {signal: "format(datum.share, '.2%')"}}}}]})));
}

function layer_bars(layers, width) {
  const rows = layers.filter(layer => layer.sqnr_db !== null).map((layer, index) => ({...layer, index, entered: Math.max(0, layer.entered_db ?? 0), tip: {title: layer.node, operator: layer.op,
    source: layer.source || "–", type: layer.type, SQNR: decibels(layer.sqnr_db), "entered here": decibels(layer.entered_db)}}));
  return {
    width: width - 80, height: 300, data: [{name: "rows", values: rows}],
    scales: [{name: "x", type: "band", domain: rows.map(row => row.index), range: "width", padding: .15},
      {name: "y", domain: {data: "rows", field: "sqnr_db"}, range: "height", zero: true, nice: true},
      {name: "color", type: "linear", domain: [0, 12], clamp: true, range: ["#7fb0dd", "#c9453e"]}],
    axes: [{orient: "bottom", scale: "x", labels: false, ticks: false, title: "layers, in the order of the model"},
      {orient: "left", scale: "y", grid: true, title: "SQNR to the float model, dB", domain: false}],
    marks: [{type: "rect", from: {data: "rows"}, encode: {enter: {x: {scale: "x", field: "index"}, width: {scale: "x", band: 1}, y: {scale: "y", field: "sqnr_db"},
      y2: {scale: "y", value: 0}, fill: {scale: "color", field: "entered"}, tooltip: {field: "tip"}}, update: {opacity: {value: 1}}, hover: {opacity: {value: .75}}}}],
  };
}

function layer_accuracy_page(report) {
  head("accuracy by layer", base_name(report.model), `${report.scheme} · ${number(report.samples)} samples`);
  cards([{key: "sqnr_db", name: "SQNR of the outputs", value: report.sqnr_db, text: decibels(report.sqnr_db), more: report.scheme},
    ...(report.outputs || []).map(one => ({key: "output-" + one.name, name: one.name, value: one.sqnr_db, text: decibels(one.sqnr_db),
      more: "mean error " + one.mean_absolute_error.toPrecision(3)}))]);
  if (report.remedies?.length > 0)
    section("remedies", "What helps", "Other schemes, measured on the same samples.", table("remedies-table", [
      {title: "instead", cell: one => one.what, by: one => one.what}, {title: "options", cell: one => el("code", {}, one.options), by: one => one.options},
      {title: "SQNR", number: true, cell: one => decibels(one.sqnr_db), by: one => one.sqnr_db},
      {title: "gain", number: true, cell: one => el("span", {class: one.gain_db > 0 ? "good" : "bad"}, decibels(one.gain_db)), by: one => one.gain_db}], report.remedies));
  section("layers", "Where the error enters", "How near each layer's result is to the float model's; the redder a bar, the more of the error enters there.",
    plot("layers-plot", width => layer_bars(report.layers || [], width)));
  section("table-section", "All layers", "", table("layers-table", [{title: "node", cell: one => el("span", {}, one.node, " ", el("span", {class: "fine"}, one.source)), by: one => one.node},
    {title: "operator", cell: one => one.op, by: one => one.op}, {title: "type", cell: one => one.type, by: one => one.type},
    {title: "SQNR", number: true, cell: one => decibels(one.sqnr_db), by: one => one.sqnr_db ?? 1e9},
    {title: "enters here", number: true, cell: one => decibels(one.entered_db), by: one => one.entered_db ?? -1e9}], report.layers || []));
}
