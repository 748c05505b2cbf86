// The machine on the time axis: walk along an episode, or choose what is seen next.
function walker(axis, host) {
  const { machine } = axis.task, states = machine.states;
  const [choose, said, choices, plot] = ["select", ".state", ".choices", ".plot"].map((selector) => host.querySelector(selector));
  const button = (name) => host.querySelector(`[data-act="${name}"]`);
  let path = [], marks = () => {};
  const law = (state) => Object.entries(state.law).map(([a, p]) => (p === "1" ? a : `${a} ${p}`)).join(", ");
  const named = (state) => (state.number < 0 ? state.seen : `${state.seen} [${axis.task.classes[state.number]}]`);
  const options = (t) => {
    if (!t) return machine.begin.map(([said, seen, target]) => ({ said, seen, target }));
    if (t > machine.moves.length) return [];
    return machine.moves[t - 1].filter((move) => move[0] === path[t - 1]).map(([, action, seen, target, short]) => ({ said: `${action} → ${short}`, action, seen, target }));
  };
  function follow() {
    const { words } = machine.episodes[Number(choose.value)];
    path = [];
    for (let t = 0; t < states.length; t += 1) path.push(options(t).find((o) => o.seen === words[2 * t] && (!t || o.action === words[2 * t - 1])).target);
  }
  function show() {
    const planned = choose.value !== "", t = planned ? axis.t : path.length, open = planned ? [] : options(t);
    said.textContent = !t ? "Choose the first observation" : `Step ${t}: ${named(states[t - 1][path[t - 1]])}; the expert's action: ${law(states[t - 1][path[t - 1]])}${t === states.length ? ". The end." : ""}`;
    choices.replaceChildren(...open.map((option) => {
      const node = make("button", option.said);
      node.type = "button";
      node.addEventListener("click", () => { path.push(option.target); axis.go(path.length); });
      return node;
    }));
    button("back").disabled = planned ? t === 1 : !t;
    button("next").disabled = planned ? t === states.length : open.length !== 1;
    marks(path.slice(0, t));
  }
  button("back").addEventListener("click", () => { if (choose.value === "") path.pop(); axis.go(choose.value === "" ? Math.max(1, path.length) : axis.t - 1); });
  button("next").addEventListener("click", () => { if (choose.value === "") path.push(options(path.length)[0].target); axis.go(choose.value === "" ? path.length : axis.t + 1); });
  button("reset").addEventListener("click", () => { if (choose.value === "") path = []; axis.go(1); });
  choose.addEventListener("change", () => { path = []; if (choose.value !== "") follow(); axis.go(1); });
  axis.listen(show);
  const rows = () => [["step", "state", "observation", "class", "law", "probability"], ...states.flatMap((level, t) => level.map((state) => [t + 1, state.name, state.observation, state.number < 0 ? "" : axis.task.classes[state.number], law(state), state.probability]))];
  const draw = (width) => {
    const drawn = drawMachine(axis, width, named, law);
    marks = drawn.mark;
    marks(choose.value === "" ? path : path.slice(0, axis.t));
    return drawn.svg;
  };
  chart(plot, draw, rows, `${axis.task.name} machine`);
}

function drawMachine(axis, width, named, law) {
  const { machine } = axis.task, { unit, x } = axis.scale(width), most = Math.max(...machine.states.map((level) => level.length));
  const row = clamp(340 / most, 5, 20), r = clamp(Math.min(unit, row) * 0.38, 1.6, 7), high = row * most + 12;
  const at = (t, k) => [x(t + 0.5), 6 + (row * (most - machine.states[t].length)) / 2 + row * (k + 0.5)];
  const svg = canvas(width, high), arrows = new Map(), dots = new Map();
  axis.playhead(svg, width, 0, high);
  machine.moves.forEach((moves, t) => moves.forEach(([k, action, , j, short]) => {
    if (arrows.has(`${t} ${k} ${j}`)) return;
    const [x1, y1] = at(t, k), [x2, y2] = at(t + 1, j);
    arrows.set(`${t} ${k} ${j}`, svg.appendChild(hint(shape("line", { x1, y1, x2, y2, class: "move" }), `${action} → ${short}`)));
  }));
  machine.states.forEach((level, t) => level.forEach((state, k) => {
    const [cx, cy] = at(t, k);
    dots.set(`${t} ${k}`, svg.appendChild(hint(shape("circle", { cx, cy, r, class: "node", fill: fillOf(state.number, false) }), `Step ${t + 1}: ${named(state)}; ${law(state)}; probability ${state.probability}`)));
  }));
  const mark = (path) => {
    for (const node of [...dots.values(), ...arrows.values()]) node.classList.remove("on", "now");
    path.forEach((k, t) => {
      dots.get(`${t} ${k}`).classList.add(t === path.length - 1 ? "now" : "on");
      if (t) arrows.get(`${t - 1} ${path[t - 1]} ${k}`).classList.add("on");
    });
  };
  return { svg, mark };
}
