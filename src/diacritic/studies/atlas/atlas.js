(() => {
  const root = document.getElementById("atlas-cards");
  const rows = [...root.querySelectorAll("tbody tr")];
  const colours = ["#4477aa", "#cc6677", "#117733", "#ddaa33", "#882255", "#44aa99", "#aa4499", "#888888", "#ee7733", "#66aa22"];
  const families = [...new Set(rows.map((row) => row.dataset.family))];
  const colour = Object.fromEntries(families.map((name, k) => [name, colours[k % colours.length]]));
  const make = (tag, given = {}, ...inside) => {
    const element = document.createElement(tag);
    Object.assign(element, given);
    element.append(...inside);
    return element;
  };
  const draw = (tag, given, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(given)) element.setAttribute(key, value);
    if (text) element.textContent = text;
    return element;
  };
  const name = (row) => row.querySelector("summary").textContent;

  const search = make("input", { type: "search", placeholder: "search tasks and witnesses" });
  search.setAttribute("aria-label", "search");
  const kinds = {
    "all tasks": () => true,
    "needs memory": (row) => row.dataset.bits > 0,
    "needs no memory with a clock": (row) => !(row.dataset.bits > 0),
    "needs none without a clock either": (row) => !(row.dataset.bits > 0) && !(row.dataset.free > 0),
    "called a memory task": (row) => row.dataset.called === "1",
    "called a memory task, needs none": (row) => row.dataset.called === "1" && !(row.dataset.bits > 0),
    "not called one, needs memory": (row) => row.dataset.called === "0" && row.dataset.bits > 0,
    "twins in full view": (row) => row.dataset.full === "1",
  };
  const kind = make("select", {}, ...Object.keys(kinds).map((label) => make("option", { value: label }, label)));
  kind.setAttribute("aria-label", "which tasks");
  const count = make("output");
  const legend = make("div", { className: "atlas-legend" });
  const shown = new Set(families);
  for (const family of families) {
    const dot = make("i");
    dot.style.background = colour[family];
    const button = make("button", { type: "button" }, dot, family);
    button.setAttribute("aria-pressed", "true");
    button.onclick = () => {
      shown.has(family) ? shown.delete(family) : shown.add(family);
      button.setAttribute("aria-pressed", String(shown.has(family)));
      filter();
    };
    legend.append(button);
  }
  root.querySelector(".atlas-tools").append(search, kind, count, legend);

  const picture = root.querySelector(".atlas-picture");
  const [width, height, left, right, top, bottom] = [760, 340, 46, 60, 14, 40];
  const most = Math.max(1, ...rows.map((row) => +row.dataset.bits));
  const last = Math.max(2, ...rows.map((row) => +row.dataset.steps));
  const x = (steps) => steps ? left + (width - left - right) * Math.log(steps) / Math.log(last) : width - right / 2;
  const y = (bits) => height - bottom - (height - top - bottom) * Math.sqrt(bits / most);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Peak bits against steps, one dot a task" });
  for (const bits of [0, 0.25, 1, 2, 4, 8, 12].filter((bits) => bits <= most)) {
    svg.append(draw("line", { x1: left, x2: width - right, y1: y(bits), y2: y(bits), class: "grid" }));
    svg.append(draw("text", { x: left - 8, y: y(bits) + 4, "text-anchor": "end" }, String(bits)));
  }
  for (const steps of [1, 2, 4, 8, 16, 32, 64, 128, 0].filter((steps) => steps <= last)) {
    svg.append(draw("text", { x: x(steps), y: height - bottom + 24, "text-anchor": "middle" }, steps ? String(steps) : "∞"));
  }
  svg.append(draw("text", { x: left, y: 8 }, "peak bits"), draw("text", { x: width - right - 10, y: height - 2, "text-anchor": "end" }, "steps"));
  const tip = make("div", { className: "atlas-tip", hidden: true });
  picture.append(svg, tip);
  const taken = {};
  for (const row of rows) {
    const place = [x(+row.dataset.steps), y(+row.dataset.bits)].map(Math.round);
    const turn = (taken[place] = (taken[place] ?? -1) + 1);
    const [reach, angle] = [2.6 * Math.sqrt(turn), 2.4 * turn];
    const dot = draw("circle", {
      cx: place[0] + reach * Math.cos(angle), cy: Math.min(height - 4, place[1] + 0.6 * reach * Math.sin(angle)), r: 4,
      fill: colour[row.dataset.family], tabindex: -1,
    });
    dot.append(draw("title", {}, `${name(row)} (${row.dataset.family})`));
    const tell = (event) => {
      tip.textContent = `${name(row)} (${row.dataset.family}): ${(+row.dataset.bits).toFixed(3)} bits, ${row.dataset.steps || "∞"} steps`;
      const box = picture.getBoundingClientRect();
      tip.style.left = `${Math.min(event.clientX - box.left + 12, box.width - 200)}px`;
      tip.style.top = `${event.clientY - box.top + 12}px`;
      tip.hidden = false;
    };
    dot.addEventListener("mouseenter", tell);
    dot.addEventListener("mouseleave", () => { tip.hidden = true; });
    dot.addEventListener("click", () => {
      row.querySelector("details").open = true;
      row.scrollIntoView({ block: "center" });
    });
    row.dot = dot;
    svg.append(dot);
  }

  const filter = () => {
    const wanted = search.value.toLowerCase();
    let left = 0;
    for (const row of rows) {
      const fits = shown.has(row.dataset.family) && kinds[kind.value](row) && row.textContent.toLowerCase().includes(wanted);
      row.hidden = !fits;
      row.dot.style.display = fits ? "" : "none";
      left += fits;
    }
    count.textContent = `${left} of ${rows.length}`;
  };
  search.oninput = kind.onchange = filter;
  const number = (text) => text === "∞" ? Infinity : text === "–" ? -1 : parseFloat(text);
  root.querySelectorAll("th").forEach((head, column) => {
    let down = 1;
    head.onclick = () => {
      const of = (row) => column === 1 ? name(row) : row.cells[column].textContent;
      const compare = (a, b) => column < 2 || column === 9 ? of(a).localeCompare(of(b)) : number(of(a)) - number(of(b));
      rows.sort((a, b) => down * compare(a, b));
      down = -down;
      root.querySelector("tbody").append(...rows);
    };
  });
  filter();
})();
