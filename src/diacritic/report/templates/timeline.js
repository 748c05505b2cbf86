// One time axis for everything of a task: phases, bits, machine, codes and film, under one playhead.
const EYE = "M-7,0Q0,-7 7,0Q0,7 -7,0ZM-2.2,0a2.2,2.2 0 1,0 4.4,0a2.2,2.2 0 1,0 -4.4,0";
const FLAG = "M-4,7V-7L5,-3.5L-4,0";
const THUMB = 16; // pixels, as in the style sheet

function timeline(article) {
  const task = data.tasks[Number(article.dataset.task)], slider = article.querySelector("input[type=range]");
  if (!slider) return;
  const said = article.querySelector("output"), video = article.querySelector("video"), panel = article.querySelector(".detail");
  const listeners = [];
  const axis = {
    task,
    t: Number(slider.value),
    scale(width) {
      const gutter = width < 560 ? 34 : 150, unit = (width - gutter - 12) / task.horizon;
      return { gutter, unit, narrow: width < 560, x: (t) => gutter + unit * t };
    },
    playhead(svg, width, top, bottom) {
      const { x, unit } = axis.scale(width);
      const band = svg.appendChild(shape("rect", { class: "playhead", y: top, height: bottom - top, width: Math.max(unit, 2), x: x(axis.t - 1) }));
      svg.dataset.unit = unit;
      band.dataset.from = x(0);
    },
    go(t, from) {
      axis.t = clamp(Math.round(t), 1, task.horizon);
      slider.value = axis.t;
      said.textContent = axis.t;
      all(".playhead", article).forEach((band) => band.setAttribute("x", Number(band.dataset.from) + Number(band.ownerSVGElement.dataset.unit) * (axis.t - 1)));
      if (panel) stepPanel(panel, task, axis.t);
      if (video && from !== video && task.times.length) video.currentTime = task.times[axis.t - 1] + 0.01;
      listeners.forEach((listener) => listener(axis.t));
    },
    listen: (listener) => listeners.push(listener),
  };
  slider.addEventListener("input", () => axis.go(Number(slider.value)));
  article.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || event.target.closest("input, select, video, [role=region]")) return;
    event.preventDefault();
    axis.go(axis.t + by);
  });
  const point = (event) => {
    const svg = event.target.closest(".timeline .plot svg, .timeline .strip svg");
    if (!svg || (event.type === "pointermove" && !event.buttons)) return;
    const box = svg.getBoundingClientRect(), { gutter, unit } = axis.scale(svg.viewBox.baseVal.width);
    const at = ((event.clientX - box.left) * svg.viewBox.baseVal.width) / box.width;
    if (at >= gutter) axis.go(Math.floor((at - gutter) / unit) + 1);
  };
  article.addEventListener("pointerdown", point);
  article.addEventListener("pointermove", point);
  if (video && task.times.length) video.addEventListener("timeupdate", () => axis.go(task.times.filter((time) => time <= video.currentTime).length, video));
  bitsLane(axis, article.querySelector("[data-lane=bits]"), slider);
  const machine = article.querySelector(".machine");
  if (machine) walker(axis, machine);
  strips(axis, article.querySelector("[data-strips]"));
  all(".swatch", article).forEach((node) => { node.style.background = `var(--class-${Number(node.dataset.class) % data.colours})`; });
  axis.go(axis.t);
}

const levels = (parts, x, y) => parts.map(([at, length, bits], k) => (bits === null ? "" : `${k && parts[k - 1][2] !== null ? "L" : "M"}${x(at).toFixed(1)},${y(bits).toFixed(1)}H${x(at + length).toFixed(1)}`)).join("");
const unrolled = (parts) => parts.flatMap(([, length, bits]) => new Array(length).fill(bits));

function bitsLane(axis, host, slider) {
  const { task } = axis, most = Math.max(1, ...[...task.curves, ...task.rates].flatMap((curve) => curve.parts.map((part) => part[2] ?? 0)));
  const styles = { good: "learned, sufficient", bad: "learned, failed", open: "learned, not judged" };
  const draw = (width) => {
    const { gutter, unit, x } = axis.scale(width), items = task.curves.map((curve) => [curve.style, curve.name]);
    for (const style of new Set(task.rates.map((rate) => rate.style))) items.push([style, `${styles[style]} (${task.rates.filter((r) => r.style === style).reduce((n, r) => n + r.runs.length, 0)})`]);
    const from = legend(canvas(width, 10), items, gutter, 10, width), band = from + 18, top = band + 44, bottom = top + 170;
    const svg = canvas(width, bottom + 40), y = (bits) => bottom - (170 * bits) / most;
    legend(svg, items, gutter, 10, width);
    phases(svg, axis.scale(width), task, band);
    const step = most > 8 ? 4 : most > 4 ? 2 : most > 2 ? 1 : 0.5;
    for (let bits = 0; bits <= most + 1e-6; bits += step) svg.append(shape("line", { x1: gutter, x2: x(task.horizon), y1: y(bits), y2: y(bits), class: "grid" }), shape("text", { x: gutter - 6, y: y(bits) + 4, "text-anchor": "end" }, number(bits)));
    svg.append(shape("text", { x: Math.max(4, gutter - 60), y: top - 8, class: "soft" }, "bits"));
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((n) => n * unit >= 28) ?? task.horizon;
    for (let t = 1; t <= task.horizon; t += 1) if (t === 1 || t % every === 0) svg.append(shape("text", { x: x(t - 0.5), y: bottom + 16, "text-anchor": "middle" }, t));
    svg.append(shape("text", { x: x(task.horizon / 2), y: bottom + 33, "text-anchor": "middle", class: "soft" }, "step"));
    axis.playhead(svg, width, band, bottom);
    for (const curve of task.curves) {
      if (curve.style === "need") svg.append(shape("path", { d: `${levels(curve.parts, x, y)}V${y(0)}H${x(0)}Z`, class: "area" }));
      svg.append(hint(shape("path", { d: levels(curve.parts, x, y), class: `line ${curve.style}` }), curve.name));
    }
    for (const rate of task.rates) {
      const path = svg.appendChild(hint(shape("path", { d: levels(rate.parts, x, y), class: `line rate ${rate.style}` }), rate.name));
      path.dataset.runs = rate.runs.join(" ");
    }
    const left = x(0.5) - THUMB / 2;
    Object.assign(slider.style, { marginLeft: `${left}px`, width: `${Math.max(THUMB, unit * (task.horizon - 1) + THUMB)}px` });
    return svg;
  };
  const rows = () => {
    const columns = [...task.curves, ...task.rates].map((curve) => [curve.name, unrolled(curve.parts)]);
    return [["step", ...columns.map(([name]) => name)], ...Array.from({ length: task.horizon }, (_, t) => [t + 1, ...columns.map(([, values]) => values[t])])];
  };
  chart(host, draw, rows, `${task.name} bits`);
}

// The band of phases, with an eye where something must be remembered from and a flag where memory decides.
function phases(svg, { x, unit, gutter }, task, top) {
  for (const [at, length, name] of task.phases) {
    svg.append(hint(shape("rect", { x: x(at) + 0.5, y: top + 18, width: Math.max(1, unit * length - 1), height: 18, class: "phase" }), `${name}: steps ${at + 1} to ${at + length}`));
    if (unit * length > 7 * name.length) svg.append(shape("text", { x: x(at + length / 2), y: top + 31, "text-anchor": "middle" }, name));
  }
  if (gutter > 100) svg.append(shape("text", { x: gutter - 6, y: top + 12, "text-anchor": "end", class: "soft" }, "cue, decision"));
  for (const t of task.cues) svg.append(hint(shape("path", { d: EYE, transform: `translate(${x(t + 0.5)} ${top + 8})`, class: "icon eye" }), `Cue at step ${t + 1}: more must be kept from here on`));
  for (const [at, length] of task.decisions) {
    if (length > 1) svg.append(shape("line", { x1: x(at), x2: x(at + length), y1: top + 15, y2: top + 15, class: "icon" }));
    svg.append(hint(shape("path", { d: FLAG, transform: `translate(${x(at + 0.5)} ${top + 8})`, class: "icon flag" }), `Decision at step ${at + 1}: the observation alone is not enough`));
  }
}

function strips(axis, host) {
  if (!host) return;
  const { task } = axis, folded = task.strips.length > 8 ? make("details") : null;
  if (folded) folded.append(make("summary", `${task.strips.length - 8} more runs`));
  task.strips.forEach((item, k) => {
    const figure = (k < 8 ? host : folded).appendChild(make("figure", undefined, `strip ${item.mood}`));
    figure.dataset.runs = item.run;
    const word = { good: "sufficient", bad: "failed", open: "not judged" }[item.mood];
    figure.append(make("figcaption", `${item.title}, ${word}; ${item.source}`));
    const inner = figure.appendChild(make("div", undefined, "plot"));
    inner.setAttribute("role", "img");
    inner.setAttribute("aria-label", `Codes of ${item.title} on ${task.name} over ${task.horizon} steps, ${item.rows.length} rows`);
    const rows = () => [["row", "from", "to", "code", "class", "second code"], ...item.rows.flatMap((row) => row.parts.map(([at, length, code, k2, second]) => [row.title, at + 1, at + length, code, k2 === -2 ? "several" : k2 < 0 ? "" : task.classes[k2], second ? "yes" : "no"]))];
    chart(inner, (width) => drawStrip(axis, item, width), rows, `${task.name} codes ${item.title}`);
  });
  if (folded) host.after(folded);
}

function drawStrip(axis, item, width) {
  const { gutter, unit, narrow, x } = axis.scale(width), high = narrow ? 30 : 18, above = narrow ? 13 : 0;
  const svg = canvas(width, high * item.rows.length + 2), names = []; // names stand above the playhead
  item.rows.forEach((row, k) => {
    const y = high * k + above, name = shorten(row.title, narrow ? width - 8 : gutter - 10);
    names.push(hint(shape("text", { x: narrow ? 2 : gutter - 6, y: narrow ? y - 2 : y + 12, "text-anchor": narrow ? "start" : "end", class: "row-name" }, name), row.told || row.title));
    for (const [at, length, code, number, second] of row.parts) {
      const what = number === -2 ? "stands for several classes" : number < 0 ? "nothing need be kept" : `${second ? "second code for " : ""}${axis.task.classes[number]}`;
      const group = svg.appendChild(hint(shape("g"), `${row.title}, steps ${at + 1} to ${at + length}: code ${code}, ${what}`));
      group.append(shape("rect", { x: x(at), y, width: Math.max(0.6, unit * length - 0.8), height: 16, class: "cell", fill: fillOf(number, second) }));
      if (unit * length >= 8 * String(code).length + 3) {
        if (second || number === -2) group.append(shape("rect", { x: x(at) + 2, y: y + 2, width: 7 * String(code).length + 3, height: 12, rx: 2, class: "plate" }));
        group.append(shape("text", { x: x(at) + 3.5, y: y + 12, class: "number", style: `fill: ${second || number === -2 ? "var(--ink)" : inkOf(number)}` }, code));
      }
    }
  });
  axis.playhead(svg, width, 0, high * item.rows.length);
  svg.append(...names);
  return svg;
}

// What a step distinguishes: its classes, their histories, and the witness that separates two of them.
function stepPanel(panel, task, t) {
  const step = task.steps[t - 1];
  if (!step) return;
  const per = step.alike === 1 ? "the observation alone is enough" : `up to ${step.alike} classes per observation`;
  panel.replaceChildren(make("h3", `Step ${t}: ${per} → ${number(step.bits)} ${step.bits === 1 ? "bit" : "bits"}; ${step.histories} ${step.histories === "1" ? "history" : "histories"}`));
  for (const item of step.witnesses) {
    const row = panel.appendChild(make("p", undefined, "witness"));
    row.append("Witness: after ", make("code", item.histories[0]), " and after ", make("code", item.histories[1]));
    row.append(item.until > t ? ` everything may look the same until step ${item.until}` : " everything looks the same now");
    if (item.after) row.append(" (", make("code", item.after), ")");
    row.append(`; then the expert acts differently: ${item.actions[0]} or ${item.actions[1]}, respectively.`);
  }
  const list = panel.appendChild(make("ul", undefined, "plain"));
  for (const item of step.classes) {
    const row = list.appendChild(make("li"));
    if (item.number >= 0) row.append(swatch(item.number), make("strong", task.classes[item.number]), " ");
    row.append(make("code", item.seen), ` → ${item.action}, probability ${item.probability}`);
    const inner = row.appendChild(make("ul", undefined, "small"));
    item.histories.forEach((text) => inner.appendChild(make("li")).append(make("code", text)));
    const more = item.count - item.histories.length;
    if (more) inner.append(make("li", `and ${more} more ${more === 1 ? "history" : "histories"}`));
  }
  if (step.more) list.append(make("li", `and ${step.more} more states`));
}

function swatch(number) {
  const node = make("span", undefined, "swatch");
  node.style.background = `var(--class-${number % data.colours})`;
  return node;
}

// A picture of the film on a card: where the playhead stands.
function still(canvas) {
  const video = document.querySelector(`[data-task="${canvas.dataset.still}"] video`);
  const draw = () => canvas.getContext("2d").drawImage(video, 0, 0, canvas.width, canvas.height);
  if (video.readyState >= 2) draw();
  else video.addEventListener("loadeddata", draw, { once: true });
  video.addEventListener("seeked", draw);
}

// The small staircase on a card.
function spark(host) {
  const task = data.tasks[Number(host.dataset.spark)], need = task.curves.find((curve) => curve.style === "need");
  const most = Math.max(1, ...need.parts.map((part) => part[2] ?? 0)), [width, height] = [300, 120];
  const svg = canvas(width, height), x = (t) => 20 + (270 * t) / task.horizon, y = (bits) => 100 - (70 * bits) / most;
  svg.setAttribute("aria-hidden", "true");
  svg.append(shape("path", { d: `${levels(need.parts, x, y)}V${y(0)}H${x(0)}Z`, class: "area" }), shape("path", { d: levels(need.parts, x, y), class: "line need" }));
  for (const bits of new Set(need.parts.map((part) => part[2] ?? 0))) svg.append(shape("text", { x: 14, y: y(bits) + 4, "text-anchor": "end" }, number(bits)));
  for (const t of task.cues.slice(0, 8)) svg.append(shape("path", { d: EYE, transform: `translate(${x(t + 0.5)} 14)`, class: "icon eye" }));
  for (const [at] of task.decisions.slice(0, 8)) svg.append(shape("path", { d: FLAG, transform: `translate(${x(at + 0.5)} 14)`, class: "icon flag" }));
  svg.append(shape("text", { x: 20, y: 116, class: "soft" }, "bits over the steps"));
  host.append(svg);
}
