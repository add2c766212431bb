"use strict";
// The plots, as specifications of Vega.

// What the time of an operation goes to, in the order of the bars. What is not here is a memory's port.
const kCauses = {"mac": "#3f7fc4", "output": "#35a394", "weight decode": "#8d72c9", "issue": "#98a3b0", "dma": "#e8a33d",
  "Sram access": "#d97a5c", "Dram access": "#c9453e", "OffChipFlash access": "#c9453e", "OnChipFlash access": "#ad5f2c"};
const kCauseNames = {"mac": "multiplying", "output": "output unit", "weight decode": "decoding weights", "issue": "starting and ending",
  "dma": "waiting for transfers"};
const cause_name = cause => kCauseNames[cause] || "waiting for " + cause.replace(" access", "");

// Plots of at most so many pixels have fewer ticks and steeper labels.
const kNarrow = 560;
const ticks = (width, most) => width < kNarrow ? 3 : most;
// Labels of ticks: "0", "0.2", "40", "1.5k", "3M". The units are those of big().
const kTickText = "datum.value >= 1e9 ? format(datum.value / 1e9, '~r') + 'G' : datum.value >= 1e6 ? format(datum.value / 1e6, '~r') + 'M' : " +
  "datum.value >= 1e3 ? format(datum.value / 1e3, '~r') + 'k' : format(datum.value, '~r')";
const tick_labels = {labels: {update: {text: {signal: kTickText}}}};

// Ticks of an axis with a logarithmic scale: as many of 1, 2 and 5 times a power of ten as `most` allows, else powers of ten alone.
//   log_ticks(0.3, 40, 8) is [0.5, 1, 2, 5, 10, 20]
function log_ticks(low, high, most) {
  const powers = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) powers.push(power);
  const within = steps => powers.flatMap(power => steps.map(step => step * 10 ** power)).filter(tick => tick >= low * .999 && tick <= high * 1.001);
  for (const steps of [[1, 2, 5], [1, 3], [1]])
    if (within(steps).length <= most) return within(steps);
  const all = within([1]);
  return all.filter((tick, index) => index % Math.ceil(all.length / most) === 0);
}

// The operations of each layer together, in the order in which the layers compute. A transfer of weights may run long before its layer.
function folded(operations) {
  const layers = new Map();
  for (const one of operations) {
    const known = layers.get(one.name);
    const layer = known || {name: one.name, operations: [], source: one.source, cycles: 0, macs: 0, causes: {}, traffic: {}, start: Infinity};
    if (!known) layers.set(one.name, layer);
    if (one.operation.toLowerCase() !== "dma") layer.start = Math.min(layer.start, one.start_cycle);
    layer.operations.push(one.operation);
    layer.cycles += one.cycles;
    layer.macs += one.macs;
    for (const [cause, cycles] of Object.entries(one.causes)) layer.causes[cause] = (layer.causes[cause] || 0) + cycles;
    for (const [name, count] of Object.entries(one.traffic_bytes)) {
      const memory = name.split(" ")[0];
      layer.traffic[memory] = (layer.traffic[memory] || 0) + count;
    }
  }
  return [...layers.values()].sort((a, b) => a.start === b.start ? 0 : a.start - b.start);
}

const causes_of = layers => Object.keys(kCauses).filter(cause => layers.some(layer => layer.causes[cause]));
const cause_colors = layers => Object.fromEntries(causes_of(layers).map(cause => [cause_name(cause), kCauses[cause]]));

// Bars of cycles per layer, one part per cause. The line across each bar and the percentage are what taking the layer out would save. That is
// not the bar's length where others wait for the layer's weights, or would wait without it. saved: {layer: cycles}.
function cause_bars(layers, total, saved, width) {
  const saved_of = layer => Math.max(0, saved[layer.name] ?? layer.cycles);
  const causes = causes_of(layers);
  const rows = layers.flatMap(layer => causes.filter(cause => layer.causes[cause]).map(cause => ({
    layer: layer.name, cause, cycles: layer.causes[cause], order: causes.indexOf(cause), tip: {title: layer.name,
      operation: [...new Set(layer.operations)].join(" + "), source: layer.source || "–",
      [cause_name(cause)]: number(layer.causes[cause]) + " cycles", "all of it": `${number(layer.cycles)} cycles, ${percent(layer.cycles, total)}`, "taking it out saves": `${number(saved_of(layer))} cycles, ${percent(saved_of(layer), total)}`}})));
  const ends = layers.map(layer => ({layer: layer.name, saved: saved_of(layer), cycles: Math.max(layer.cycles, saved_of(layer)), text: percent(saved_of(layer), total)}));
  return {
    width: width - (width < kNarrow ? 180 : 250), height: layers.length * 19,
    data: [{name: "parts", values: rows, transform: [{type: "stack", groupby: ["layer"], field: "cycles", sort: {field: "order"}}]},
      {name: "ends", values: ends}],
    scales: [{name: "y", type: "band", domain: layers.map(layer => layer.name), range: "height", padding: .22},
      {name: "x", domain: {data: "ends", field: "cycles"}, range: "width", nice: true, zero: true},
      {name: "color", type: "ordinal", domain: causes, range: causes.map(cause => kCauses[cause])}],
    axes: [{orient: "left", scale: "y", labelLimit: width < kNarrow ? 100 : 160, ticks: false, domain: false, labelPadding: 8},
      {orient: "bottom", scale: "x", grid: true, tickCount: ticks(width, 6), encode: tick_labels, title: "cycles", domain: false}],
    marks: [{type: "rect", from: {data: "parts"}, encode: {
      enter: {y: {scale: "y", field: "layer"}, height: {scale: "y", band: 1}, x: {scale: "x", field: "y0"}, x2: {scale: "x", field: "y1"},
        fill: {scale: "color", field: "cause"}, tooltip: {field: "tip"}}, update: {opacity: {value: 1}}, hover: {opacity: {value: .75}}}},
    {type: "rule", interactive: false, from: {data: "ends"}, encode: {enter: {x: {scale: "x", field: "saved"}, y: {scale: "y", field: "layer", offset: -2},
      y2: {scale: "y", field: "layer", band: 1, offset: 2}, stroke: {value: color_of("--ink")}, strokeWidth: {value: 2}}}},
    {type: "text", from: {data: "ends"}, encode: {enter: {y: {scale: "y", field: "layer", band: .5}, x: {scale: "x", field: "cycles", offset: 5},
      baseline: {value: "middle"}, text: {field: "text"}, fill: {value: color_of("--soft")}, fontSize: {value: 11}}}}],
  };
}

// One bar: the whole time by cause.
function cause_strip(layers, total, width) {
  let at = 0;
  const parts = causes_of(layers).map(cause => {
    const cycles = sum(layers, layer => layer.causes[cause] || 0);
    const from = at;
    at += cycles;
    return {cause, from, to: at, text: percent(cycles, total, 0), wide: cycles / total > .045,
      tip: {title: cause_name(cause), cycles: number(cycles), share: percent(cycles, total)}};
  });
  return {
    width: width - 16, height: 30, data: [{name: "parts", values: parts}],
    scales: [{name: "x", domain: [0, total], range: "width"}],
    marks: [{type: "rect", from: {data: "parts"}, encode: {enter: {x: {scale: "x", field: "from"}, x2: {scale: "x", field: "to"}, y: {value: 0},
      height: {value: 30}, fill: {signal: `${JSON.stringify(kCauses)}[datum.cause]`}, tooltip: {field: "tip"}}}},
    {type: "text", interactive: false, from: {data: "parts"}, encode: {enter: {x: {signal: "(scale('x', datum.from) + scale('x', datum.to)) / 2"},
      y: {value: 15}, align: {value: "center"}, baseline: {value: "middle"}, fill: {value: "#fff"}, fontWeight: {value: 600},
      text: {signal: "datum.wide ? datum.text : ''"}}}}],
  };
}

// What stands in a memory over time: a rectangle for each thing, from its first cycle to its last, from its address to its end.
// Operations do not start in their order: transfers run ahead.
function memory_rectangles(held, operations, total, width) {
  const first = index => index <= 0 ? 0 : index > operations.length ? total : operations[index - 1].start_cycle;
  const end = index => index <= 0 ? 0 : index > operations.length ? total : operations[index - 1].start_cycle + operations[index - 1].cycles;
  const rows = held.map(one => ({...one, from: first(one.first_operation), to: Math.max(first(one.first_operation), end(one.last_operation)),
    top: one.address_bytes + one.bytes, kind: one.layer ? "weights" : "tensor",
    label: one.layer ? "weights of " + one.layer : one.name,
    tip: {title: one.layer ? "weights of " + one.layer : one.name, bytes: number(one.bytes),
      address: `${number(one.address_bytes)} to ${number(one.address_bytes + one.bytes)}`,
      operations: `${one.first_operation} to ${one.last_operation}`}}));
  const frame = {x: {scale: "x", field: "from"}, x2: {scale: "x", field: "to"}, y: {scale: "y", field: "top"},
    y2: {scale: "y", field: "address_bytes"}};
  const extent = "abs(scale('x', datum.to) - scale('x', datum.from))";
  return {
    width: width - 90, height: 380, data: [{name: "held", values: rows}],
    scales: [{name: "x", domain: [0, total], range: "width"},
      {name: "y", domain: [0, Math.max(1, ...rows.map(row => row.top))], range: "height"},
      {name: "color", type: "ordinal", domain: ["tensor", "weights"], range: Object.values(kHeldColors)}],
    axes: [{orient: "bottom", scale: "x", title: "cycles", encode: tick_labels, grid: false, tickCount: ticks(width, 8)},
      {orient: "left", scale: "y", title: "address, bytes", encode: tick_labels, grid: true, tickCount: 6}],
    marks: [{type: "rect", from: {data: "held"}, encode: {enter: {...frame, fill: {scale: "color", field: "kind"}, stroke: {value: color_of("--card")},
      strokeWidth: {value: 1}, tooltip: {field: "tip"}}, update: {fillOpacity: {value: .85}}, hover: {fillOpacity: {value: 1}}}},
    {type: "text", interactive: false, from: {data: "held"}, encode: {enter: {
      x: {signal: "(scale('x', datum.from) + scale('x', datum.to)) / 2"}, y: {signal: "(scale('y', datum.top) + scale('y', datum.address_bytes)) / 2"},
      align: {value: "center"}, baseline: {value: "middle"}, fill: {value: "#fff"}, fontSize: {value: 11}, limit: {signal: extent + " - 8"},
      text: {signal: `${extent} > 46 && scale('y', datum.address_bytes) - scale('y', datum.top) > 13 ? datum.label : ''`}}}}],
  };
}
const kHeldColors = {tensors: "#3f7fc4", "weights on their way": "#b07d2b"};

// Points of work against what the NPU and its memories can do at most. roofs: [{name, macs_per_cycle, bytes_per_cycle}].
function roofline(points, roofs, colors, width) {
  const xs = points.map(point => point.x).filter(x => x > 0), ys = points.map(point => point.y).filter(y => y > 0);
  const low = Math.min(...xs) / 2, high = Math.max(...xs) * 2, top = Math.max(...roofs.map(roof => roof.macs_per_cycle)) * 1.6;
  const lines = roofs.flatMap(roof => {
    const knee = roof.macs_per_cycle / roof.bytes_per_cycle;
    return [low, Math.min(Math.max(knee, low), high), high].map(x => ({roof: roof.name, x, y: Math.min(roof.macs_per_cycle, x * roof.bytes_per_cycle)}));
  });
  const names = Object.keys(colors), bottom = Math.min(...ys, top / 10) / 2;
  return {
    width: width - 90, height: 360,
    data: [{name: "points", values: points.filter(point => point.x > 0 && point.y > 0)}, {name: "lines", values: lines}],
    scales: [{name: "x", type: "log", domain: [low, high], range: "width"},
      {name: "y", type: "log", domain: [bottom, top], range: "height"},
      {name: "color", type: "ordinal", domain: names, range: Object.values(colors)}],
    axes: [{orient: "bottom", scale: "x", title: "multiply-accumulates per byte moved", encode: tick_labels, values: log_ticks(low, high, ticks(width, 10))},
      {orient: "left", scale: "y", title: "multiply-accumulates per cycle", encode: tick_labels, grid: true, values: log_ticks(bottom, top, 9)}],
    marks: [{type: "group", from: {facet: {name: "roof", data: "lines", groupby: "roof"}}, marks: [{type: "line", clip: {path: {signal: "'M0,0h' + width + 'v' + height + 'h' + (-width) + 'z'"}}, interactive: false, from: {data: "roof"},
      encode: {enter: {x: {scale: "x", field: "x"}, y: {scale: "y", field: "y"}, stroke: {value: color_of("--soft")}, strokeDash: {value: [5, 4]},
        strokeWidth: {value: 1.3}, opacity: {value: .8}}}}]},
    {type: "symbol", from: {data: "points"}, encode: {enter: {x: {scale: "x", field: "x"}, y: {scale: "y", field: "y"},
      fill: {scale: "color", field: "group"}, size: {field: "size"}, tooltip: {field: "tip"}, stroke: {value: color_of("--card")}},
      update: {fillOpacity: {value: .8}}, hover: {fillOpacity: {value: 1}}}}],
  };
}
