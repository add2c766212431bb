"use strict";
// What all pages share: the data, numbers as text, elements, tables, plots.
const data = JSON.parse(document.getElementById("data").textContent);

// A mistake of a script is shown, not hidden; tests look for it.
window.addEventListener("error", event => {
  document.body.dataset.error = event.message;
  document.getElementById("main").prepend(el("section", {class: "bad"}, "This page is broken: " + event.message));
});

const whole = new Intl.NumberFormat("en-US", {maximumFractionDigits: 0});
const number = value => value === null || value === undefined ? "–" : whole.format(value);
const fixed = (value, digits) => value.toLocaleString("en-US", {minimumFractionDigits: digits, maximumFractionDigits: digits});
const percent = (part, of, digits = 1) => of ? fixed(100 * part / of, digits) + " %" : "–";

function bytes(value) {
  if (value < 1024) return number(value) + " B";
  return value < 1 << 20 ? fixed(value / 1024, 1) + " KiB" : fixed(value / (1 << 20), 2) + " MiB";
}

function big(value) {
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]])
    if (Math.abs(value) >= size) return fixed(value / size, 2) + "\u00a0" + unit;
  return number(value);
}

function duration(cycles, clock_hz) {
  if (!clock_hz) return "–";
  const ms = 1e3 * cycles / clock_hz;
  return ms < 1 ? fixed(1e3 * ms, 1) + " µs" : fixed(ms, ms < 100 ? 2 : 0) + " ms";
}

// The card of an interval {lowest, highest, basis}, in a list of cards; empty if nothing is known about the hardware.
function interval_cards(interval) {
  if (!interval || !interval.basis || !interval.highest) return [];
  return [{key: "cycles_interval", name: "cycles expected on hardware", value: `${interval.lowest} ${interval.highest}`,
    text: `${big(interval.lowest)} – ${big(interval.highest)}`, more: interval.basis, long: true}];
}

const sum = (list, value) => list.reduce((total, one) => total + value(one), 0);
const base_name = path => path.split("/").pop();

// el("td", {class: "number"}, "1", child): attributes, then text and elements.
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== undefined) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function head(kind, title, subtitle) {
  document.getElementById("kind").textContent = kind;
  document.getElementById("title").textContent = title;
  document.getElementById("subtitle").textContent = subtitle;
}

function section(id, title, note, ...children) {
  const made = el("section", {id}, el("h2", {}, title), ...(note ? [el("p", {}, note)] : []), ...children);
  document.getElementById("main").append(made);
  return made;
}

// [{key, name, value, text, more, long}]: figures on top. `value` is what --json says. A `long` text gets two columns.
function cards(list) {
  const card = one => el("div", {class: one.long ? "card long" : "card", "data-key": one.key, "data-value": one.value},
    el("div", {class: "name"}, one.name), el("div", {class: "value"}, one.text), el("div", {class: "more"}, one.more || ""));
  document.getElementById("main").append(el("div", {class: "cards"}, ...list.map(card)));
}

// columns: [{title, number: bool, cell(row) -> text or element, by(row) -> what to sort by}]. A title with `by` is a button that sorts.
function table(id, columns, rows) {
  const body = el("tbody");
  let order = null, down = false;
  function fill() {
    const shown = order ? [...rows].sort((a, b) => {
      const [x, y] = [order.by(a), order.by(b)];
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    }) : rows;
    body.replaceChildren(...shown.map(row => el("tr", {}, ...columns.map(column =>
      el("td", {class: column.number ? "number" : undefined}, column.cell(row))))));
  }
  function sort_by(column) {
    down = order === column ? !down : Boolean(column.number);
    order = column;
    fill();
    titles.forEach((title, index) => columns[index] === column ? title.setAttribute("aria-sort", down ? "descending" : "ascending") : title.removeAttribute("aria-sort"));
  }
  const titles = columns.map(column => el("th", {class: column.number ? "number" : undefined, scope: "col"},
    column.by ? el("button", {type: "button", click: () => sort_by(column)}, column.title) : column.title));
  fill();
  const box = el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": id.replaceAll("-", " ")}, el("table", {id}, el("thead", {}, el("tr", {}, ...titles)), body));
  const rest = el("div", {class: "rest", hidden: ""});
  boxes.push({box, rest, rows: rows.length});
  return el("div", {}, box, rest);
}

const boxes = [];  // {box, rest, rows, what}: tables and drawings, and the line below each that says what the box hides

// Says below a table that it has more rows or columns than its box shows.
function show_rest(one) {
  const {box, rest, rows, what = "rows"} = one;
  const all = box.classList.contains("all"), wide = box.scrollWidth > box.clientWidth + 1, high = box.scrollHeight > box.clientHeight + 1;
  rest.hidden = !(all || wide || high);
  const text = `${number(rows)} ${what}${high ? ": scroll for the others" : ""}${wide ? "; more on the right" : ""}`;
  const show = el("button", {type: "button", click: () => { box.classList.toggle("all"); show_rest(one); }}, all ? "show fewer" : "show all " + what);
  rest.replaceChildren(el("span", {}, text), ...(all || high ? [show] : []));
}

// A number with a bar behind it, `share` of the cell wide.
function bar(text, share) {
  const length = Math.max(0, Math.min(1, share || 0));
  const made = el("i");
  made.style.width = `calc(${(100 * length).toFixed(1)}% + 4px)`;
  return el("span", {class: "inline"}, made, el("b", {}, text));
}

function legend(colors) {
  return el("ul", {class: "legend"}, ...Object.entries(colors).map(([name, color]) => {
    const swatch = el("i");
    swatch.style.background = color;
    return el("li", {}, swatch, name);
  }));
}

// Buttons of which one is pressed: [[text, value]].
function choice(options, chosen) {
  const buttons = options.map(([text, value], index) => el("button", {type: "button", "aria-pressed": index === 0, click: event => {
    buttons.forEach(button => button.setAttribute("aria-pressed", button === event.target));
    chosen(value);
  }}, text));
  return el("span", {class: "controls"}, ...buttons);
}

function dropdown(name, options, chosen) {
  const select = el("select", {change: () => chosen(select.value)}, ...options.map(option => el("option", {}, option)));
  return el("label", {}, name + " ", select);
}

const color_of = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function theme() {
  const [ink, soft, line] = ["--ink", "--soft", "--line"].map(color_of);
  const font = "system-ui, 'DejaVu Sans', sans-serif";
  return {
    background: null, font,
    axis: {domainColor: line, tickColor: line, gridColor: line, labelColor: soft, titleColor: soft, labelFont: font, titleFont: font,
      labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500, titlePadding: 8},
    text: {fill: ink, font, fontSize: 12}, rule: {stroke: line},
  };
}

const plots = [];  // {place, make}; drawn again when the theme or the width changes

function draw({place, make}) {
  const spec = make(Math.max(360, place.clientWidth));
  place.replaceChildren();
  const view = new vega.View(vega.parse({$schema: "https://vega.github.io/schema/vega/v5.json", padding: 4, ...spec, config: theme()},
    null, {ast: true}), {expr: vega.expressionInterpreter, renderer: "svg", container: place, hover: true});
  view.tooltip(show_tooltip);
  view.run();
  place.dataset.drawn = "yes";
}

// make(width) -> a specification of Vega; `width` is the available width.
function plot(id, make) {
  const one = {place: el("div", {class: "plot", id}), make};
  plots.push(one);
  return one.place;
}

function redraw(id) {
  plots.filter(one => !id || one.place.id === id).forEach(draw);
}

// A mark's tooltip is an object: its `title`, and lines of names and values.
function show_tooltip(handler, event, item, value) {
  const box = document.getElementById("tooltip");
  box.hidden = !value;
  if (!value) return;
  const {title, ...lines} = value;
  box.replaceChildren(el("strong", {}, title || ""), el("table", {}, ...Object.entries(lines).map(([name, text]) =>
    el("tr", {}, el("td", {class: "fine"}, name), el("td", {}, String(text))))));
  box.style.left = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8) + "px";
  box.style.top = Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8) + "px";
}

function start() {
  redraw();
  boxes.forEach(show_rest);
  document.body.dataset.plots = plots.length;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw());
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw(); boxes.forEach(show_rest); } });
}
