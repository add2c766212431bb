"use strict";
// The page of compare: A beside B.

const kSides = {A: "#3f7fc4", B: "#e8a33d"};

function change_text(a, b) {
  return a ? (b > a ? "+" : b < a ? "−" : "±") + fixed(Math.abs(100 * (b - a) / a), 1) + " %" : "–";
}

function side_bars(rows, width) {
  const values = rows.flatMap(row => ["a", "b"].filter(side => row[side]).map(side => ({layer: row.name, side: side.toUpperCase(), cycles: row[side].cycles,
    tip: {title: row.name, side: side.toUpperCase(), operation: row[side].operation, cycles: number(row[side].cycles), "bound by": row[side].bottleneck,
      "MAC use": fixed(100 * row[side].utilization, 1) + " %"}})));
  return {
    width: width - 210, height: rows.length * 28, data: [{name: "bars", values}],
    scales: [{name: "y", type: "band", domain: rows.map(row => row.name), range: "height", padding: .25},
      {name: "x", domain: {data: "bars", field: "cycles"}, range: "width", nice: true, zero: true},
      {name: "color", type: "ordinal", domain: Object.keys(kSides), range: Object.values(kSides)}],
    axes: [{orient: "left", scale: "y", labelLimit: 170, ticks: false, domain: false, labelPadding: 8},
      {orient: "bottom", scale: "x", grid: true, encode: tick_labels, tickCount: ticks(width, 6), title: "cycles", domain: false}],
    marks: [{type: "rect", from: {data: "bars"}, encode: {enter: {
      y: {signal: "scale('y', datum.layer) + (datum.side === 'B' ? bandwidth('y') / 2 : 0)"}, height: {signal: "bandwidth('y') / 2 - 1"},
      x: {value: 0}, x2: {scale: "x", field: "cycles"}, fill: {scale: "color", field: "side"}, tooltip: {field: "tip"}}}}],
  };
}

function compare_page(report) {
  const {a, b} = report;
  head("compare", `${base_name(a.label)} and ${base_name(b.label)}`,
    `A: ${a.target} · ${a.system_config} · ${a.memory_mode}; B: ${b.target} · ${b.system_config} · ${b.memory_mode}`);
  const figure = (key, name, text) => ({key, name, value: b[key], text: text(b[key]), more: `A: ${text(a[key])}, ${change_text(a[key], b[key])}`});
  cards([figure("cycles", "cycles of B", big), figure("sram_bytes", "most SRAM held, B", bytes), figure("arena_bytes", "arena of B", bytes),
    figure("constants_bytes", "constants of B", bytes), figure("commands_bytes", "commands of B", bytes)]);
  const gap = row => Math.abs((row.a?.cycles ?? 0) - (row.b?.cycles ?? 0));
  const largest = new Set([...report.layers].sort((x, y) => gap(y) - gap(x)).slice(0, kShownLayers));
  const differing = report.layers.filter(row => largest.has(row));
  let shown = differing;
  section(
      'layers', 'Cycles layer by layer', `Layers are matched by ${report.matched_by}.`,
      legend({[`A: ${base_name(a.label)}`]: kSides.A, [`B: ${base_name(b.label)}`]: kSides.B}),
      ...(report.layers.length > kShownLayers ?
              [choice(
                  [[`${kShownLayers} that differ max`, differing], [`all ${report.layers.length}`, report.layers]],
                  rows => {
                    shown = rows;
                    redraw("layers-plot");
                  })] :
              []),
      plot('layers-plot', width => side_bars(shown, width)));
  const cycles = (row, side) => row[side] ? row[side].cycles : -1;
  section("table-section", "All layers", "", table("layers-table", [{title: "layer", cell: row => row.name, by: row => row.name},
    {title: "operation", cell: row => (row.a || row.b).operation, by: row => (row.a || row.b).operation},
    {title: "A cycles", number: true, cell: row => number(row.a?.cycles), by: row => cycles(row, "a")},
    {title: "B cycles", number: true, cell: row => number(row.b?.cycles), by: row => cycles(row, "b")},
    {title: "B − A", number: true, cell: row => row.a && row.b ? el("span", {class: row.b.cycles > row.a.cycles ? "bad" : row.b.cycles < row.a.cycles ? "good" : "fine"}, number(row.b.cycles - row.a.cycles)) : "–",
      by: row => row.a && row.b ? row.b.cycles - row.a.cycles : 0},
    {title: "A bound by", cell: row => row.a?.bottleneck ?? "–", by: row => row.a?.bottleneck ?? ""},
    {title: "B bound by", cell: row => row.b?.bottleneck ?? "–", by: row => row.b?.bottleneck ?? ""}], report.layers));
}
