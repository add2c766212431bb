"use strict";
// What the pages of compile, explain and run show alike of an NPU's part: {layers, cycles, macs, macs_per_cycle, bytes_per_cycle ...}.

const kShownLayers = 20;

function time_section(id, title, npu) {
  const layers = folded(npu.layers).filter(layer => layer.cycles > 0);
  const largest = new Set([...layers].sort((a, b) => b.cycles - a.cycles).slice(0, kShownLayers));
  let shown = layers.filter(layer => largest.has(layer));
  const bars = plot(id + "-layers", width => cause_bars(shown, npu.cycles, npu.saved_cycles || {}, width));
  const controls = layers.length <= kShownLayers ? [] : [choice([[`${kShownLayers} largest`, false], [`all ${layers.length}`, true]], all => {
    shown = all ? layers : layers.filter(layer => largest.has(layer));
    redraw(id + "-layers");
  })];
  section(id, title, "Cycles by what they go to. The parts of a layer do not overlap and add up to what the layer adds to the total; layers stand in " +
    "the order in which they compute. The line across a bar and the percentage behind it are what taking the layer out would save: more than the bar where others " +
    "wait for the layer's weights, less where others would wait without it. A layer that waits for a memory or a transfer gets faster by a better place for its data, one that multiplies only by " +
    "fewer multiplications.", plot(id + "-strip", width => cause_strip(layers, npu.cycles, width)), legend(cause_colors(layers)), ...controls, bars);
}

function roofline_section(id, npu) {
  const memories = Object.entries(npu.bytes_per_cycle);
  const colors = Object.fromEntries(memories.map(([memory], index) => [memory, ["#3f7fc4", "#c9453e", "#b07d2b"][index % 3]]));
  const points = folded(npu.layers).filter(layer => layer.macs > 0 && layer.cycles > 0).flatMap(layer => memories
    .filter(([memory]) => layer.traffic[memory]).map(([memory]) => ({group: memory, x: layer.macs / layer.traffic[memory], y: layer.macs / layer.cycles,
      size: 30 + 900 * layer.cycles / npu.cycles, tip: {title: layer.name, memory, "bytes moved": number(layer.traffic[memory]),
        MACs: number(layer.macs), cycles: number(layer.cycles), "MAC use": percent(layer.macs, layer.cycles * npu.macs_per_cycle)}})));
  if (points.length === 0) return;
  const roofs = memories.map(([name, rate]) => ({name, bytes_per_cycle: rate, macs_per_cycle: npu.macs_per_cycle}));
  section(
      id, 'Roofline',
      `Each layer against the max that the NPU (${
          number(npu.macs_per_cycle)} multiply-accumulates per cycle) and its memories ` +
          `(${
              memories.map(([name, rate]) => `${name} ${rate} B per cycle`)
                  .join(', ')}) can do. Points far below both dashed lines leave time unused; ` +
          'a point\'s area is its share of the cycles.',
      legend(colors), plot(id + '-plot', width => roofline(points, roofs, colors, width)));
}

function traffic_table(traffic) {
  const rows = Object.entries(traffic), max = Math.max(...rows.map(([, count]) => count));
  return table(
      'traffic',
      [
        {title: 'memory', cell: ([name]) => name, by: ([name]) => name}, {
          title: 'bytes per inference',
          number: true,
          cell: ([, count]) => bar(number(count), count / max),
          by: ([, count]) => count
        }
      ],
      rows);
}
