// Dot charts: a row for each label, marks with intervals on a common axis; on a phone the label stands above its row.
const LANE = 8.5; // pixels between dots that stand side by side
function dotChart(host, given) {
  const rows = () => [["row", "series", "value", "low", "high", "text"], ...given().rows.flatMap((row) => row.marks.map((m) => [row.name, given().series[m.series].name, m.x, ...(m.ends ?? ["", ""]), m.text]))];
  return chart(host, (width) => drawDots(given(), width), rows, host.getAttribute("aria-label"));
}

function symbol(style, x, y, r = 4) {
  if (style === "tick") return shape("line", { x1: x, x2: x, y1: y - 6, y2: y + 6 });
  if (style === "reference") return shape("path", { d: `M${x},${y - 6}l6,6l-6,6l-6,-6z` });
  if (style === "bad") return shape("path", { d: `M${x - r},${y - r}l${2 * r},${2 * r}m0,${-2 * r}l${-2 * r},${2 * r}`, class: "cross" });
  return shape("circle", { cx: x, cy: y, r });
}

function symbolSample(style, x, y) {
  const group = shape("g", { class: `mark ${style}` });
  group.append(symbol(style, x + 12, y));
  return group;
}

function drawDots(given, width) {
  const narrow = width < 560, longest = Math.max(0, ...given.rows.map((row) => row.name.length));
  const gutter = narrow ? 14 : clamp(6.4 * longest + 14, 90, 0.46 * width), room = width - gutter - 22;
  const x = (value) => gutter + room * value;
  const lanes = given.rows.map((row) => lanesOf(row.marks, room));
  const high = given.rows.map((_, k) => (narrow ? 20 : 8) + LANE * Math.max(1, lanes[k].count) + 6);
  const used = given.series.map((item, k) => [item.style, item.name, given.rows.some((row) => row.marks.some((m) => m.series === k))]).filter((item) => item[2]);
  const probe = canvas(width, 10), top = legend(probe, used, 4, 10, width, symbolSample) + 16;
  const svg = canvas(width, top + high.reduce((a, b) => a + b, 0) + 42), end = svg.viewBox.baseVal.height - 36;
  legend(svg, used, 4, 10, width, symbolSample);
  for (const value of [0, 0.25, 0.5, 0.75, 1]) {
    svg.append(shape("line", { x1: x(value), x2: x(value), y1: top, y2: end, class: "grid" }));
    svg.append(shape("text", { x: x(value), y: end + 15, "text-anchor": "middle" }, number(value)));
  }
  svg.append(shape("text", { x: x(0.5), y: end + 31, "text-anchor": "middle", class: "soft" }, given.axis));
  let y = top;
  given.rows.forEach((row, k) => {
    const middle = y + (narrow ? 20 : 8) + 5;
    svg.append(hint(narrow ? shape("text", { x: 4, y: y + 12 }, shorten(row.name, width - 8)) : shape("text", { x: gutter - 10, y: y + high[k] / 2 + 4, "text-anchor": "end" }, shorten(row.name, gutter - 12)), row.name));
    svg.append(shape("line", { x1: gutter, x2: width - 22, y1: y + high[k], y2: y + high[k], class: "grid" }));
    row.marks.forEach((mark, m) => {
      const style = given.series[mark.series].style, at = middle + LANE * lanes[k].lane[m];
      const group = svg.appendChild(hint(shape("g", { class: `mark ${style}` }), `${row.name}: ${mark.text}`));
      if (mark.run) group.dataset.runs = mark.run;
      if (mark.ends && (row.marks.length < 4 || style === "reference")) group.append(shape("line", { x1: x(mark.ends[0]), x2: x(mark.ends[1]), y1: at, y2: at }));
      group.append(symbol(style, x(mark.x), at));
    });
    y += high[k];
  });
  return svg;
}

// Dots of runs that would cover each other stand side by side.
function lanesOf(marks, room) {
  if (!marks.some((mark) => mark.run)) return { lane: marks.map(() => 0), count: 1 };
  const last = [], lane = new Array(marks.length);
  marks.map((mark, k) => [mark.x * room, k]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).forEach(([at, k]) => {
    let free = last.findIndex((before) => at - before >= 9);
    if (free < 0 && last.length < 10) free = last.push(-99) - 1;
    else if (free < 0) free = k % 10;
    last[free] = at;
    lane[k] = free;
  });
  return { lane, count: last.length };
}

// Learned against required bits; equal points once, larger where there are many.
function rateChart(host) {
  const { points } = data.rates, most = Math.max(1, ...points.flatMap(([need, rate]) => [need, rate]));
  const draw = (width) => {
    const side = clamp(width - 70, 200, 460), svg = canvas(width, side + 76);
    legend(svg, [["good", "sufficient"], ["bad", "failed"]], 4, 10, width, symbolSample);
    const x = (bits) => 46 + (side * bits) / most, y = (bits) => 26 + side - (side * bits) / most;
    for (let bits = 0; bits <= most; bits += most > 6 ? 2 : most > 3 ? 1 : 0.5) {
      svg.append(shape("line", { x1: x(0), x2: x(most), y1: y(bits), y2: y(bits), class: "grid" }), shape("text", { x: 38, y: y(bits) + 4, "text-anchor": "end" }, number(bits)));
      svg.append(shape("text", { x: x(bits), y: side + 42, "text-anchor": "middle" }, number(bits)));
    }
    svg.append(shape("text", { x: x(most / 2), y: side + 60, "text-anchor": "middle", class: "soft" }, "required bits"), shape("text", { x: 12, y: 26 + side / 2, transform: `rotate(-90 12 ${26 + side / 2})`, "text-anchor": "middle", class: "soft" }, "learned bits"));
    svg.append(shape("line", { x1: x(0), y1: y(0), x2: x(most), y2: y(most), class: "line need" }));
    for (const [need, rate, good, count, text] of points) {
      const r = clamp(2.5 + Math.sqrt(count), 3.5, 10), group = svg.appendChild(hint(shape("g", { class: `mark faint ${good ? "good" : "bad"}` }), `${text}${count > 1 ? ` and ${count - 1} more` : ""}: required ${need}, learned ${rate}`));
      group.append(symbol(good ? "good" : "bad", x(need), y(rate), r));
    }
    return svg;
  };
  chart(host, draw, () => [["required", "learned", "sufficient", "count", "first"], ...points.map((point) => [point[0], point[1], String(point[2]), point[3], point[4]])], "rate against requirement");
}
