"use strict";
(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const make = (tag, text, kind) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (kind) node.className = kind;
    return node;
  };

  // Plotly takes some tags for markup; names are shown letter by letter.
  const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

  // Colours are named by role, "--good" say, and looked up in the style sheet whenever the theme changes.
  function coloured(value) {
    if (typeof value === "string" && value.startsWith("--")) return getComputedStyle(root).getPropertyValue(value).trim();
    if (Array.isArray(value)) return value.map(coloured);
    if (value && typeof value === "object")
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, coloured(item)]));
    return value;
  }

  function layout(given) {
    const axis = (own) => ({ gridcolor: "--rule", zerolinecolor: "--rule", linecolor: "--grey", automargin: true, ...own });
    const look = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: "--ink", size: 13 },
      margin: { l: 50, r: 12, t: 12, b: 44 }, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      hoverlabel: { bgcolor: "--panel", font: { color: "--ink" }, namelength: -1 }, dragmode: false,
    };
    return coloured({ ...look, ...given, title: undefined, xaxis: axis(given.xaxis), yaxis: axis(given.yaxis) });
  }

  const charts = { ...data.charts };
  const settings = { responsive: true, displayModeBar: false, doubleClick: false };
  const draw = (id) => window.Plotly.react(id, coloured(charts[id].data), layout(charts[id].layout), settings);

  async function library() {
    const packed = Uint8Array.from(atob(document.getElementById("library").textContent.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  }

  function theme() {
    const button = document.getElementById("theme");
    const set = (dark) => {
      root.dataset.theme = dark ? "dark" : "light";
      button.setAttribute("aria-pressed", String(dark));
      if (window.Plotly) Object.keys(charts).forEach(draw);
    };
    button.addEventListener("click", () => set(root.dataset.theme !== "dark"));
    const wish = matchMedia("(prefers-color-scheme: dark)");
    wish.addEventListener("change", () => set(wish.matches));
    set(wish.matches);
  }

  // What a step tells apart: its classes, their histories, and the witness that keeps two of them apart.
  function stepPanel(place) {
    const steps = data.steps[Number(place.dataset.steps)];
    const [slider, said, panel] = ["input", "output", ".detail"].map((selector) => place.querySelector(selector));
    const show = (t) => {
      const step = steps[t - 1];
      if (!step) return;
      slider.value = t;
      said.textContent = t;
      const many = step.classes.length + step.more;
      panel.replaceChildren(make("h5", `Step ${t}: ${many} ${many === 1 ? "class" : "classes"} of ${step.histories} histories`));
      for (const item of step.witnesses) {
        const row = panel.appendChild(make("p", undefined, "witness"));
        row.append("Witness: ", make("code", item.first), " and ", make("code", item.second));
        row.append(item.after ? " must not be confused: both may go on with " : " must not be confused: now");
        if (item.after) row.append(make("code", item.after), ", and then");
        row.append(` the expert acts differently: ${item.one} or ${item.two}, respectively.`);
      }
      if (!step.witnesses.length) panel.append(make("p", "No two classes share an observation here: the observation alone is enough.", "small"));
      const list = panel.appendChild(make("ul"));
      for (const item of step.classes) {
        const row = list.appendChild(make("li", `${item.name} → ${item.action}, probability ${item.probability}`));
        const inner = row.appendChild(make("ul"));
        item.histories.forEach((text) => inner.appendChild(make("li")).append(make("code", text)));
        if (item.count > item.histories.length) inner.append(make("li", `and ${item.count - item.histories.length} more`));
      }
      if (step.more) list.append(make("li", `and ${step.more} more classes`));
    };
    slider.addEventListener("input", () => show(Number(slider.value)));
    show(Number(slider.value));
    return show;
  }

  // The machine: walk along an episode, or choose what is seen next.
  function walker(place) {
    const machine = data.machines[Number(place.dataset.machine)];
    const [choose, said, choices, canvas] = ["select", ".state", ".choices", ".canvas"].map((s) => place.querySelector(s));
    const button = (name) => place.querySelector(`[data-act="${name}"]`);
    const picture = machinePicture(machine);
    canvas.append(picture.svg);
    let path = [];
    const law = (state) => Object.entries(state.law).map(([a, p]) => (p === "1" ? a : `${a} ${p}`)).join(", ");
    const state = (t) => machine.states[t][path[t]];
    const options = () => {
      const t = path.length;
      if (!t) return Object.entries(machine.start).map(([seen, target]) => ({ said: seen, seen, target }));
      if (t > machine.moves.length) return [];
      return machine.moves[t - 1].filter((move) => move[0] === path[t - 1])
        .map(([, action, seen, target]) => ({ said: `${action} → ${seen}`, action, seen, target }));
    };
    const planned = () => {
      if (choose.value === "") return undefined;
      const words = machine.episodes[Number(choose.value)].words, t = path.length;
      return options().find((o) => o.seen === words[2 * t] && (!t || o.action === words[2 * t - 1]));
    };
    function show() {
      const t = path.length, open = options();
      said.textContent = !t ? "Choose the first observation" :
        `Step ${t}: ${state(t - 1).name}; the expert's action: ${law(state(t - 1))}${open.length ? "" : ". The end."}`;
      choices.replaceChildren(...open.map((option) => {
        const node = make("button", option.said);
        node.type = "button";
        node.addEventListener("click", () => { choose.value = ""; path.push(option.target); show(); });
        return node;
      }));
      button("back").disabled = !t;
      button("next").disabled = choose.value === "" ? open.length !== 1 : !planned();
      const x = picture.mark(path);
      canvas.scrollTo({ left: Math.max(0, x - canvas.clientWidth / 2) });
    }
    button("back").addEventListener("click", () => { path.pop(); show(); });
    button("reset").addEventListener("click", () => { path = []; show(); });
    button("next").addEventListener("click", () => { path.push((planned() ?? options()[0]).target); show(); });
    choose.addEventListener("change", () => { path = []; show(); });
    show();
  }

  function machinePicture(machine) {
    const longest = Math.min(40, Math.max(21, ...machine.states.flat().map((state) => state.name.length)));
    const [row, wide, high] = [54, 7.1 * longest + 10, 40], column = wide + 42;
    const most = Math.max(...machine.states.map((level) => level.length));
    const node = (tag, attributes, text) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
      if (text !== undefined) made.textContent = text;
      return made;
    };
    const short = (text) => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text);
    const at = (t, k) => [20 + column * t, 30 + (row * (most - machine.states[t].length)) / 2 + row * k];
    const svg = node("svg", { width: 40 + column * (machine.states.length - 1) + wide, height: 40 + row * most, "aria-hidden": "true" });
    const arrows = new Map(), boxes = new Map();
    machine.moves.forEach((moves, t) => moves.forEach(([k, action, seen, j]) => {
      if (arrows.has(`${t} ${k} ${j}`)) return;
      const [x, y] = at(t, k), [x2, y2] = at(t + 1, j), bend = x + wide + (column - wide) / 2;
      const curve = `M${x + wide},${y + high / 2} C${bend},${y + high / 2} ${bend},${y2 + high / 2} ${x2},${y2 + high / 2}`;
      const arrow = svg.appendChild(node("path", { d: curve }));
      arrow.append(node("title", {}, `${action} → ${seen}`));
      arrows.set(`${t} ${k} ${j}`, arrow);
    }));
    machine.states.forEach((level, t) => {
      svg.append(node("text", { x: at(t, 0)[0], y: 18, class: "head" }, `step ${t + 1}`));
      level.forEach((state, k) => {
        const [x, y] = at(t, k), group = svg.appendChild(node("g", {}));
        group.append(node("title", {}, `${state.name}, probability ${state.probability}`));
        group.append(node("rect", { x, y, width: wide, height: high, rx: 6 }));
        group.append(node("text", { x: x + 7, y: y + 17 }, short(state.name)));
        group.append(node("text", { x: x + 7, y: y + 33, class: "law" }, short(Object.keys(state.law).join(", "))));
        boxes.set(`${t} ${k}`, group);
      });
    });
    const mark = (path) => {
      boxes.forEach((box) => box.removeAttribute("class"));
      arrows.forEach((arrow) => arrow.removeAttribute("class"));
      path.forEach((k, t) => {
        boxes.get(`${t} ${k}`).setAttribute("class", t === path.length - 1 ? "on now" : "on");
        if (t) arrows.get(`${t - 1} ${path[t - 1]} ${k}`).setAttribute("class", "on");
      });
      return path.length ? at(path.length - 1, path[path.length - 1])[0] + wide / 2 : 0;
    };
    return { svg, mark };
  }

  // Shares of sufficient seeds, beside those of a reference where there is one, for the cells that pass the filters.
  const MOST = 60;
  function dumbbells(cells) {
    const reference = document.getElementById("dumbbells").dataset.reference;
    const both = (cell) => cell.ours && (!reference || cell.reference);
    const compared = cells.filter(both).slice(0, MOST).reverse();
    const names = compared.map((cell) => plain([cell.cell, cell.learner, cell.preset].filter((word) => word !== "—").join(" · ")));
    const trace = (key, name, colour, symbol) => ({
      type: "scatter", mode: "markers", name, y: names.map((_, k) => k), x: compared.map((cell) => cell[key][0] / cell[key][1]),
      text: compared.map((cell, k) => `${names[k]}<br>${name} ${cell[key][0]}/${cell[key][1]}${cell.verdict ? `, ${cell.verdict}` : ""}`),
      hovertemplate: "%{text}<extra></extra>", marker: { color: colour, symbol, size: 10 },
      error_x: {
        type: "data", symmetric: false, color: colour, thickness: 1,
        array: compared.map((cell) => cell[key][3] - cell[key][0] / cell[key][1]),
        arrayminus: compared.map((cell) => cell[key][0] / cell[key][1] - cell[key][2]),
      },
    });
    const bars = {
      type: "scatter", mode: "lines", hoverinfo: "skip", showlegend: false, line: { color: "--grey", width: 3 },
      x: compared.flatMap((cell) => [cell.ours, cell.reference, null].map((count) => count && count[0] / count[1])),
      y: names.flatMap((_, k) => [k, k, null]),
    };
    const narrow = matchMedia("(max-width: 40rem)").matches;
    const shape = {
      height: 120 + 24 * compared.length, xaxis: { title: { text: "share of sufficient seeds" }, range: [-0.04, 1.04] },
      yaxis: { tickvals: names.map((_, k) => k), ticktext: names, tickfont: { size: 11 }, showticklabels: !narrow, range: [-0.7, names.length - 0.3] },
    };
    const ours = trace("ours", "ours", "--good", "circle");
    charts.dumbbells = { data: reference ? [bars, trace("reference", reference, "--amber", "diamond"), ours] : [ours], layout: shape };
    const left = cells.filter(both).length - compared.length;
    const caption = document.getElementById("dumbbell-note"), note = caption.dataset.note;
    caption.textContent = left > 0 ? `${note}; the first ${MOST}, filter to see ${left} more` : note;
    if (window.Plotly) draw("dumbbells");
  }

  function filters() {
    if (!document.getElementById("cells")) return;
    const chosen = all("[data-filter]"), rows = all("#cells tbody tr");
    const apply = () => {
      const kept = data.cells.map((cell) => chosen.every((box) => !box.value || cell[box.dataset.filter] === box.value));
      rows.forEach((row, k) => { row.hidden = !kept[k]; });
      const cells = data.cells.filter((_, k) => kept[k]);
      document.getElementById("shown-cells").textContent = `${cells.length} ${cells.length === 1 ? "line" : "lines"}`;
      dumbbells(cells);
    };
    chosen.forEach((box) => box.addEventListener("change", apply));
    apply();
  }

  theme();
  const panels = all("[data-steps]").map(stepPanel);
  all("[data-machine]").forEach(walker);
  filters();
  addEventListener("beforeprint", () => all("details").forEach((item) => { item.open = true; }));
  try {
    await library();
  } catch {
    document.getElementById("no-charts").hidden = false;
    return;
  }
  for (const id of Object.keys(charts)) {
    const place = document.getElementById(id);
    await draw(id);
    const model = /^staircase-(\d+)$/.exec(place.dataset.kind ?? "");
    if (model) place.on("plotly_hover", (event) => panels[Number(model[1])](Math.round(event.points[0].x)));
  }
  all("details").forEach((item) => item.addEventListener("toggle", () => all(".plot", item).forEach((plot) => window.Plotly.Plots.resize(plot))));
  root.dataset.ready = "yes";
})();
