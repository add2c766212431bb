"use strict";
// The page of sweep.

// A color for each target: lines of products by hue, sizes by lightness.
const kLineHues = [[205, 62], [32, 78], [150, 45], [280, 40], [350, 60]];
function target_colors(rows) {
  const lines = new Map();
  for (const row of rows) {
    const line = row.target.slice(0, row.target.lastIndexOf("-"));
    if (!lines.has(line)) lines.set(line, []);
    if (!lines.get(line).includes(row.target)) lines.get(line).push(row.target);
  }
  const colors = {};
  [...lines.values()].forEach((targets, index) => targets.forEach((target, place) => {
    const [hue, strength] = kLineHues[index % kLineHues.length];
    colors[target] = `hsl(${hue}, ${strength}%, ${targets.length === 1 ? 48 : 68 - 34 * place / (targets.length - 1)}%)`;
  }));
  return colors;
}

const kShapes = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"];

// The scheme without what --quantize auto found for one target: "auto" of "auto: 3 layers in int16x8, the rest in int8".
function scheme_of(row) {
  return row.quantization.split(":")[0];
}

function row_tip(row) {
  return {title: row.target, ...(row.model ? {model: base_name(row.model)} : {}), "memory mode": row.memory_mode, quantization: row.quantization, cycles: number(row.cycles),
    ...(row.cycles_interval?.basis ? {"on hardware": `${number(row.cycles_interval.lowest)} to ${number(row.cycles_interval.highest)}`} : {}),
    time: duration(row.cycles, row.clock_hz), SRAM: number(row.sram_bytes) + " B", flash: number(row.program_bytes) + " B",
    "MAC use": percent(row.macs, row.cycles * row.macs_per_cycle)};
}

// Those that no other row beats in both.
function frontier(points) {
  let best = Infinity;
  return [...points].sort((a, b) => a.x - b.x || a.y - b.y).filter(point => point.y < best && ((best = point.y), true));
}

// `shapes`: {title, of(row), names}: what the shape of a point says.
function scatter(rows, measure, colors, shapes, width) {
  const points = rows.map(row => ({x: Math.max(1, row.sram_bytes), y: measure.of(row), target: row.target, shape: shapes.of(row), tip: row_tip(row)}));
  const ends = (values, room) => [Math.min(...values) / room, Math.max(...values) * room];
  const [left, right] = ends(points.map(point => point.x), 1.25), [bottom, top] = ends(points.map(point => point.y), 1.25);
  return {
    width: width - 100, height: 420, data: [{name: "points", values: points}, {name: "frontier", values: frontier(points)}],
    scales: [{name: "x", type: "log", domain: [left, right], range: "width"},
      {name: "y", type: "log", domain: [bottom, top], range: "height"},
      {name: "color", type: "ordinal", domain: Object.keys(colors), range: Object.values(colors)},
      {name: "shape", type: "ordinal", domain: shapes.names, range: kShapes}],
    axes: [{orient: "bottom", scale: "x", title: "SRAM, bytes", encode: tick_labels, values: log_ticks(left, right, ticks(width, 9)), grid: true},
      {orient: "left", scale: "y", title: measure.title, encode: tick_labels, values: log_ticks(bottom, top, 8), grid: true}],
    marks: [{type: "line", interactive: false, from: {data: "frontier"}, encode: {enter: {x: {scale: "x", field: "x"}, y: {scale: "y", field: "y"},
      stroke: {value: color_of("--soft")}, strokeDash: {value: [4, 4]}, strokeWidth: {value: 1.4}, interpolate: {value: "step-after"}}}},
    {type: "symbol", from: {data: "points"}, encode: {enter: {x: {scale: "x", field: "x"}, y: {scale: "y", field: "y"}, size: {value: 130},
      shape: {scale: "shape", field: "shape"}, fill: {scale: "color", field: "target"}, stroke: {value: color_of("--card")}, tooltip: {field: "tip"}},
      update: {fillOpacity: {value: .9}, size: {value: 130}}, hover: {fillOpacity: {value: 1}, size: {value: 210}}}}],
  };
}

// What the shapes of points can say, the one first that tells more points apart.
function shape_choices(rows) {
  const choice = (title, of) => ({title, of, names: [...new Set(rows.map(of))]});
  const choices = [choice("quantization", scheme_of), choice("memory mode", row => row.memory_mode)].filter(one => one.names.length > 1);
  return choices.length > 0 ? choices : [choice("memory mode", row => row.memory_mode)];
}

const kShapeSigns = {circle: "●", square: "■", "triangle-up": "▲", diamond: "◆", cross: "✚", "triangle-down": "▼"};

function shape_legend(shapes) {
  return shapes.names.map((name, index) => `${kShapeSigns[kShapes[index % kShapes.length]]} ${name}`).join("   ");
}

// Layers of the combinations with one memory mode and scheme, darker where more of the combination's time goes.
function heat(rows, width) {
  const column_of = row => (row.model ? base_name(row.model) + " " : "") + row.target;
  const names = [...new Set(rows.flatMap(row => row.layers.map(layer => layer.name)))];
  const cells = rows.flatMap(row => row.layers.map(layer => ({layer: layer.name, column: column_of(row), share: layer.cycles / row.cycles,
    tip: {title: layer.name, target: row.target, cycles: number(layer.cycles), share: percent(layer.cycles, row.cycles), "bound by": layer.bottleneck}})));
  return {
    width: width - 190, height: names.length * 15, data: [{name: "cells", values: cells}],
    scales: [{name: "x", type: "band", domain: rows.map(column_of), range: "width", padding: .03},
      {name: "y", type: "band", domain: names, range: "height", padding: .06},
      {name: "color", type: "sqrt", domain: [0, Math.max(0, ...cells.map(cell => cell.share))], range: [color_of("--ground"), "#d2553d"]}],
    axes: [{orient: "top", scale: "x", labelAngle: width < kNarrow ? -90 : -32, labelAlign: "left", ticks: false, domain: false, labelPadding: 4}, {orient: "left", scale: "y", ticks: false, domain: false, labelLimit: 160}],
    marks: [{type: "rect", from: {data: "cells"}, encode: {enter: {x: {scale: "x", field: "column"}, width: {scale: "x", band: 1}, y: {scale: "y", field: "layer"},
      height: {scale: "y", band: 1}, fill: {scale: "color", field: "share"}, tooltip: {field: "tip"}}}}],
  };
}

// What a row moves over the port that is busy longest.
function busiest(row) {
  const loads = Object.entries(row.bytes_per_cycle).map(([memory, rate]) => {
    const moved = sum(Object.entries(row.traffic_bytes).filter(([name]) => name.split(" ")[0] === memory), ([, count]) => count);
    return {memory, rate, moved, cycles: moved / rate};
  });
  return loads.reduce((max, one) => one.cycles > max.cycles ? one : max);
}

function roof_plot(rows, colors, width) {
  const roofs = new Map(), points = [];
  for (const row of rows.filter(one => one.macs > 0)) {
    const port = busiest(row);
    roofs.set(`${row.macs_per_cycle} ${port.rate}`, {name: `${row.macs_per_cycle} ${port.rate}`, macs_per_cycle: row.macs_per_cycle, bytes_per_cycle: port.rate});
    points.push({group: row.target, x: row.macs / port.moved, y: row.macs / row.cycles, size: 110,
      tip: {...row_tip(row), "busiest port": port.memory, "bytes over it": number(port.moved)}});
  }
  return roofline(points, [...roofs.values()], colors, width);
}

const kMeasures = {cycles: {title: "cycles per inference", of: row => row.cycles},
  time: {title: "milliseconds per inference", of: row => 1e3 * row.cycles / row.clock_hz}};

function sweep_cards(report, rows) {
  const min = by => rows.reduce((best, row) => by(row) < by(best) ? row : best);
  const fastest = min(row => row.cycles / row.clock_hz), fewest = min(row => row.cycles),
        smallest = min(row => row.sram_bytes);
  const named = row => (row.model ? base_name(row.model) + ", " : "") + `${row.target}, ${row.memory_mode}, ${row.quantization}`;
  cards([{key: "compiled", name: "combinations compiled", value: rows.length, text: `${rows.length} of ${report.rows.length}`,
    more: `${report.rows.filter(row => row.status === "refused").length} rejected, ${report.rows.filter(row => row.status === "failed").length} failed`},
  {key: "fastest", name: "fastest", value: fastest.cycles, text: duration(fastest.cycles, fastest.clock_hz), more: named(fastest)},
  {key: "fewest", name: "fewest cycles", value: fewest.cycles, text: big(fewest.cycles), more: named(fewest)},
  {key: "smallest", name: "least SRAM", value: smallest.sram_bytes, text: bytes(smallest.sram_bytes), more: named(smallest)}]);
}

// Of the report of several models.
function model_column(rows) {
  return rows.some(row => row.model) ? [{title: "model", cell: row => row.model, by: row => row.model}] : [];
}

// Of sweeps with data, and with budgets.
function data_columns(rows) {
  const measured = rows.find(row => row.accuracy)?.accuracy;
  const figure = (title, of, digits) => ({title, number: true, cell: row => row.accuracy ? fixed(of(row.accuracy), digits) : "–", by: row => row.accuracy ? of(row.accuracy) : -Infinity});
  return [...(measured?.metric ? [figure(`${measured.metric} ${measured.unit}`.trim(), one => one.of_npu, 2)] : []),
    ...(measured ? [figure("SQNR dB", one => one.sqnr_db, 1)] : []),
    ...(rows.some(row => "fits" in row) ? [{title: "fits", cell: row => el("span", {class: row.fits ? "good" : "bad"}, row.fits ? "yes" : "no"), by: row => row.fits ? 0 : 1}] : [])];
}

function sweep_table(rows) {
  const max = Math.max(...rows.map(row => row.cycles));
  return table(
      'rows-table',
      [
        ...model_column(rows),
        {title: 'target', cell: row => el('span', {class: 'whole'}, row.target), by: row => row.target},
        {title: 'memory mode', cell: row => row.memory_mode, by: row => row.memory_mode},
        {title: 'quantization', cell: row => row.quantization, by: row => row.quantization},
        {title: 'cycles', number: true, cell: row => bar(number(row.cycles), row.cycles / max), by: row => row.cycles},
        {
          title: 'time',
          number: true,
          cell: row => duration(row.cycles, row.clock_hz),
          by: row => row.cycles / row.clock_hz
        },
        {
          title: 'MAC use',
          number: true,
          cell: row => percent(row.macs, row.cycles * row.macs_per_cycle),
          by: row => row.macs / row.cycles / row.macs_per_cycle
        },
        {title: 'on hardware', number: true, cell: row => row.cycles_interval?.basis ? `${number(row.cycles_interval.lowest)} – ${number(row.cycles_interval.highest)}` : '–', by: row => row.cycles_interval?.highest ?? 0},
        ...data_columns(rows),
        {title: 'SRAM B', number: true, cell: row => number(row.sram_bytes), by: row => row.sram_bytes},
        {title: 'flash B', number: true, cell: row => number(row.program_bytes), by: row => row.program_bytes}, {
          title: 'nodes on NPU',
          number: true,
          cell: row => `${row.npu_nodes} of ${row.npu_nodes + row.cpu_nodes}`,
          by: row => row.npu_nodes
        }
      ],
      rows);
}

function sweep_plots(rows) {
  const colors = target_colors(rows), modes = [...new Set(rows.map(row => row.memory_mode))], schemes = [...new Set(rows.map(scheme_of))];
  const choices = shape_choices(rows);
  let measure = kMeasures.cycles, mode = modes[0], scheme = schemes[0], shapes = choices[0];
  const signs = el("p", {class: "note", id: "shapes"}, shape_legend(shapes));
  const by_name = title => {
    shapes = choices.find(one => one.title === title);
    signs.textContent = shape_legend(shapes);
    redraw("scatter-plot");
  };
  section("scatter", "Speed against SRAM", "Towards the lower left is better. The dashed line joins the combinations that no other beats in both. A color is an NPU; " +
    `a shape is a ${choices.length > 1 ? "quantization or a memory mode" : shapes.title}. ` + kConstantsInSram, legend(colors), signs,
    el("div", {class: "controls"}, choice([["cycles", kMeasures.cycles], ["time", kMeasures.time]], chosen => { measure = chosen; redraw("scatter-plot"); }),
      ...(choices.length > 1 ? [dropdown("shapes:", choices.map(one => one.title), by_name)] : [])),
    plot("scatter-plot", width => scatter(rows, measure, colors, shapes, width)));
  section("table-section", "All combinations", "A title sorts.", sweep_table(rows));
  section("roofline", "Roofline", "Each combination against the most that its NPU and its busiest memory port can do (dashed).", legend(colors),
    plot("roofline-plot", width => roof_plot(rows, colors, width)));
  if (rows.every(row => row.layers.length === 0)) return;  // the page of several models: each has one of its own
  section("heat", "Per layer", "The redder, the more of a combination's cycles go to the layer.",
    el("div", {class: "controls"}, dropdown("memory mode", modes, chosen => { mode = chosen; redraw("heat-plot"); }),
      ...(schemes.length > 1 ? [dropdown("quantization", schemes, chosen => { scheme = chosen; redraw("heat-plot"); })] : [])),
    plot("heat-plot", width => heat(rows.filter(row => row.memory_mode === mode && scheme_of(row) === scheme), width)));
}

function sweep_page(report) {
  const rows = report.rows.filter(row => row.status === "compiled"), others = report.rows.filter(row => row.status !== "compiled");
  const models = new Set(report.rows.map(row => row.model));
  head("sweep", report.model ? base_name(report.model) : `${models.size} models`, `${new Set(report.rows.map(row => row.target)).size} targets, ${report.rows.length} combinations`);
  if (rows.length > 0) {
    sweep_cards(report, rows);
    sweep_plots(rows);
  }
  if (others.length > 0)
    section("others", "Not compiled", "Combinations with one reason are one row.", table("others-table", [...model_column(others), {title: "target", cell: row => row.targets.join(", "), by: row => row.targets[0]},
      {title: "memory mode", cell: row => row.modes.join(", "), by: row => row.modes[0]}, {title: "quantization", cell: row => row.quantizations.join(", "), by: row => row.quantizations[0]},
      {title: "what", cell: row => el("span", {class: row.status === "failed" ? "bad" : "fine"}, row.status), by: row => row.status}, {title: "why", cell: row => row.reason, by: row => row.reason}], grouped(others)));
}

// Combinations without a program, those together whose reasons differ only in the names of the combination.
function grouped(rows) {
  const groups = new Map();
  for (const row of rows) {
    const kind = [row.model || "", row.status, row.reason.replaceAll(row.memory_mode || "\0", "").replaceAll(row.target, "")].join("\n");
    if (!groups.has(kind)) groups.set(kind, {...row, targets: [], modes: [], quantizations: []});
    const group = groups.get(kind);
    for (const [list, name] of [[group.targets, row.target], [group.modes, row.memory_mode], [group.quantizations, row.quantization]])
      if (!list.includes(name)) list.push(name);
  }
  return [...groups.values()];
}
