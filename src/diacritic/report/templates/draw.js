// Drawing: small helpers for HTML and SVG, saving of charts, and the playhead's scale.
const data = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

function make(tag, text, kind) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (kind) node.className = kind;
  return node;
}

function shape(tag, attributes = {}, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, typeof value === "number" ? Math.round(value * 100) / 100 : value);
  if (text !== undefined) node.textContent = text;
  return node;
}

const hint = (node, text) => { node.append(shape("title", {}, text)); return node; };
const shorten = (text, room) => (text.length * 6.3 <= room ? text : `${text.slice(0, Math.max(1, Math.floor(room / 6.3) - 1))}…`);
const number = (value) => Number(value.toFixed(2)).toString();

// A chart is drawn at the width of its place, and again when that changes; it knows its numbers for the CSV.
const charts = [];
function chart(place, draw, rows, name) {
  const figure = place.closest("figure");
  const known = { place, width: 0, redraw: () => {
    known.width = place.clientWidth;
    if (!known.width) return;
    const svg = draw(known.width);
    svg.setAttribute("aria-hidden", "true");
    place.replaceChildren(svg);
    picked();
  } };
  charts.push(known);
  new ResizeObserver(() => { if (place.clientWidth !== known.width) known.redraw(); }).observe(place);
  const bar = make("div", undefined, "save");
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", `Save: ${name}`);
  for (const [word, act] of [["PNG", savePng], ["SVG", saveSvg], ["CSV", () => saveCsv(rows(), name)]]) {
    const button = bar.appendChild(make("button", word));
    button.type = "button";
    button.addEventListener("click", () => act(place.querySelector("svg"), name));
  }
  (figure ?? place).append(bar);
  known.redraw();
  return known;
}

function canvas(width, height) {
  return shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif", "font-size": 12 });
}

// Saved pictures carry the colours that the style sheet gives them.
const COPIED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "paint-order", "opacity", "font-size", "font-weight", "text-anchor"];
function standalone(svg) {
  const copy = svg.cloneNode(true), from = all("*", svg), to = all("*", copy);
  from.forEach((node, k) => { const style = getComputedStyle(node); COPIED.forEach((key) => to[k].setAttribute(key, style.getPropertyValue(key))); });
  const patterns = document.getElementById("patterns").cloneNode(true);
  const originals = all("*", document.getElementById("patterns"));
  all("*", patterns).forEach((node, k) => { for (const key of ["fill", "stroke"]) node.setAttribute(key, getComputedStyle(originals[k]).getPropertyValue(key)); });
  copy.prepend(shape("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor }), ...patterns.childNodes);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.removeAttribute("aria-hidden");
  return new XMLSerializer().serializeToString(copy);
}

function download(blob, name) {
  const link = make("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\w=.-]+/g, "-").slice(0, 80);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const saveSvg = (svg, name) => download(new Blob([standalone(svg)], { type: "image/svg+xml" }), `${name}.svg`);

function savePng(svg, name) {
  const picture = new Image(), box = svg.viewBox.baseVal;
  picture.onload = () => {
    const sheet = make("canvas");
    [sheet.width, sheet.height] = [2 * box.width, 2 * box.height];
    sheet.getContext("2d").drawImage(picture, 0, 0, sheet.width, sheet.height);
    URL.revokeObjectURL(picture.src);
    sheet.toBlob((blob) => download(blob, `${name}.png`));
  };
  picture.src = URL.createObjectURL(new Blob([standalone(svg)], { type: "image/svg+xml" }));
}

// A text that a spreadsheet would take for a formula is quoted.
function saveCsv(rows, name) {
  const cell = (value) => (typeof value === "string" ? `"${(/^[=+\-@\t]/.test(value) ? "'" : "") + value.replaceAll('"', '""')}"` : value ?? "");
  download(new Blob([rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n"], { type: "text/csv" }), `${name}.csv`);
}

// Codes and classes: one colour for each meaning, hatched for a second code, dotted where several classes share one.
const fillOf = (k, second) => (k === -2 ? "url(#mixed)" : k < 0 ? "var(--nothing)" : second ? `url(#hatch-${k % data.colours})` : `var(--class-${k % data.colours})`);
const inkOf = (k) => (k < 0 ? "var(--ink)" : `var(--on-${k % data.colours})`);

function patterns() {
  const place = document.getElementById("patterns"), box = { width: 7, height: 7, patternUnits: "userSpaceOnUse" };
  for (let k = 0; k < data.colours; k += 1) {
    const hatch = place.appendChild(shape("pattern", { id: `hatch-${k}`, ...box, patternTransform: "rotate(45)" }));
    hatch.append(shape("rect", { width: 7, height: 7, fill: "#ffffff" }), shape("rect", { width: 3, height: 7, fill: `var(--class-${k})` }));
  }
  const mixed = place.appendChild(shape("pattern", { id: "mixed", ...box }));
  mixed.append(shape("rect", { width: 7, height: 7, fill: "var(--nothing)" }), shape("circle", { cx: 3.5, cy: 3.5, r: 1.4, fill: "var(--bad)" }));
}

// A run that was chosen stands out in every chart and table.
let chosen = "";
function picked() {
  root.classList.toggle("picking", chosen !== "");
  all("[data-runs]").forEach((node) => node.classList.toggle("hit", node.dataset.runs.split(" ").includes(chosen)));
}

const lineSample = (style, x, y) => shape("line", { x1: x, x2: x + 20, y1: y, y2: y, class: `line ${style}` });
function legend(svg, items, x, y, room, sample = lineSample) {
  let [left, top] = [x, y];
  for (const [style, text] of items) {
    const wide = 34 + 6.6 * text.length;
    if (left > x && left + wide > room) [left, top] = [x, top + 18];
    svg.append(sample(style, left, top));
    svg.append(shape("text", { x: left + 25, y: top + 4 }, text));
    left += wide;
  }
  return top;
}
