"use strict";
// The drawing of a model's graph: a box for each node, colored by the device that runs it, an arrow for each result that is read.

const kBox = {width: 128, height: 34, gap: 14, step: 58, margin: 14, side: 90};
const kPlaceColors = {npu: "#3f7fc4", cpu: "#c9453e", "npu+cpu": "#8d72c9", nowhere: "#c9453e", undecided: "#98a3b0"};

const svg = (tag, attributes, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

// The row of each node: one below the lowest of the nodes that it reads. Nodes stand in the order of the model, in which a node reads only
// earlier ones; a read of a later one (a loop's) does not count.
function rank_nodes(nodes) {
  const ranks = new Map();
  for (const node of nodes) ranks.set(node.name, Math.max(-1, ...node.inputs.map(name => ranks.get(name) ?? -1)) + 1);
  return ranks;
}

// The places of the boxes: {name: {node, x, y}}. Each row is ordered by the mean place of what its nodes read (the barycenter heuristic of
// Sugiyama, Tagawa and Toda), twice.
function place_nodes(nodes) {
  const ranks = rank_nodes(nodes), rows = [];
  for (const node of nodes) (rows[ranks.get(node.name)] ||= []).push(node);
  const most = Math.max(...rows.map(row => row.length));
  const places = new Map();
  const spread = (row, index) => row.forEach((node, place) => places.set(node.name, {node, y: kBox.margin + index * kBox.step,
    x: kBox.margin + (place + (most - row.length) / 2) * (kBox.width + kBox.gap)}));
  rows.forEach(spread);
  const mean = node => {
    const read = node.inputs.map(name => places.get(name)).filter(Boolean);
    return read.length ? sum(read, one => one.x) / read.length : places.get(node.name).x;
  };
  for (let pass = 0; pass < 2; ++pass) rows.forEach((row, index) => spread(row.sort((a, b) => mean(a) - mean(b)), index));
  return {places, width: 2 * kBox.margin + most * (kBox.width + kBox.gap) - kBox.gap + kBox.side, height: 2 * kBox.margin + (rows.length - 1) * kBox.step + kBox.height};
}

function node_box({node, x, y}, report) {
  const color = kPlaceColors[node.runs_on], short = (text, letters) => text.length > letters ? text.slice(0, letters - 1) + "…" : text;
  const tip = {title: node.name, operator: node.op, "runs on": kPlaces[node.runs_on], ...(node.source ? {source: node.source} : {}),
    ...(node.cycles ? {"NPU cycles": `${number(node.cycles)}, ${percent(node.cycles, report.cycles)}`} : {}), ...(node.cpu_cycles ? {"CPU cycles": number(node.cpu_cycles)} : {}),
    ...(node.runs_on === "npu" ? {} : {why: node.reason})};
  const box = svg("g", {class: "node", "data-runs-on": node.runs_on},
    svg("rect", {x, y, width: kBox.width, height: kBox.height, rx: 6, fill: color, "fill-opacity": .9}),
    svg("text", {x: x + kBox.width / 2, y: y + 14, "text-anchor": "middle", "font-size": 11, "font-weight": 600, fill: "#fff"}, short(node.name, 19)),
    svg("text", {x: x + kBox.width / 2, y: y + 27, "text-anchor": "middle", "font-size": 10, fill: "#fff"}, short(node.op.replace(/^aten\./, ""), 22)));
  box.addEventListener("mousemove", event => show_tooltip(null, event, null, tip));
  box.addEventListener("mouseleave", event => show_tooltip(null, event, null, null));
  return box;
}

// A line to the next row goes from the bottom of a box to the top of the other. A line past other rows leaves and enters at the right side, so
// that it does not run through the boxes between.
function edge_line(from, to) {
  const crosses = from.node.runs_on !== to.node.runs_on, rows = (to.y - from.y) / kBox.step;
  const [x, y, end, down] = [from.x + kBox.width / 2, from.y + kBox.height, to.x + kBox.width / 2, to.y];
  const next = `M${x},${y}C${x},${y + 12} ${end},${down - 12} ${end},${down}`;
  const right = [from, to].map(one => one.x + kBox.width), middle = [from, to].map(one => one.y + kBox.height / 2), out = Math.max(...right) + Math.min(kBox.side, 16 + 10 * rows);
  const past = `M${right[0]},${middle[0]}C${out},${middle[0]} ${out},${middle[1]} ${right[1]},${middle[1]}`;
  return svg("path", {d: rows > 1 ? past : next, fill: "none", stroke: crosses ? "#e8a33d" : color_of("--soft"), "stroke-width": crosses ? 2 : 1.2, "stroke-opacity": .8});
}

const kMaxBoxes = 1500;

function graph_section(report) {
  const nodes = report.nodes.filter(node => node.runs_on !== "folded" && node.inputs && node.op !== "-");
  if (nodes.length < 2 || nodes.length > kMaxBoxes || nodes.every(node => node.inputs.length === 0)) return;
  const {places, width, height} = place_nodes(nodes), all = [...places.values()];
  const edges = all.flatMap(to => to.node.inputs.map(name => places.get(name)).filter(from => from && from.y < to.y).map(from => edge_line(from, to)));
  const drawing = svg("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "the graph of the model"}, ...edges, ...all.map(one => node_box(one, report)));
  const used = Object.keys(kPlaceColors).filter(place => nodes.some(node => node.runs_on === place));
  const box = el("div", {class: "scroll graph", tabindex: "0", role: "region", "aria-label": "graph"}, drawing), rest = el("div", {class: "rest", hidden: ""});
  boxes.push({box, rest, rows: nodes.length, what: "nodes"});
  section("graph", "The graph", "The nodes of the exported model, without those that were folded. A yellow line crosses between CPU and NPU: the data are handed over there.",
    legend(Object.fromEntries(used.map(place => [kPlaces[place], kPlaceColors[place]]))), box, rest);
}
