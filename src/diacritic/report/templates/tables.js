// Tables: sort by a heading, filter by words, choose a run.
function sortable(table) {
  const body = table.tBodies[0];
  const value = (row, k) => { const text = row.cells[k].textContent.trim(), n = parseFloat(text); return Number.isNaN(n) ? (text === "—" ? "\uffff" : text) : n; };
  all("th", table).forEach((head, k) => {
    const button = make("button", head.textContent, "sort");
    button.type = "button";
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      all("th", table).forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down === 1 ? "ascending" : "descending");
      const rows = [...body.rows].map((row) => [value(row, k), row]);
      rows.sort(([a], [b]) => down * (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1));
      body.append(...rows.map(([, row]) => row));
    });
  });
}

function searchable(box) {
  const table = document.getElementById(box.dataset.search), count = document.querySelector(`[data-count="${box.dataset.search}"]`);
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = `${shown} ${shown === 1 ? "run" : "runs"}`;
  });
}

function pick(id) {
  chosen = id === chosen ? "" : id;
  all("[data-pick]").forEach((button) => {
    const on = button.dataset.pick === chosen;
    button.setAttribute("aria-pressed", String(on));
    button.closest("tr").classList.toggle("picked", on);
  });
  document.getElementById("unpick").hidden = chosen === "";
  history.replaceState(null, "", chosen ? `#${chosen}` : "#runs");
  picked();
}

function runTable() {
  const table = document.getElementById("run-table");
  if (!table) return;
  table.addEventListener("click", (event) => {
    const row = event.target.closest("tbody tr");
    if (row) pick(row.id);
  });
  document.getElementById("unpick").addEventListener("click", () => pick(chosen));
  const named = location.hash.slice(1);
  if (named.startsWith("run-") && document.getElementById(named)) pick(named);
}

// Cells of studies: filters, and the share of sufficient seeds of those that pass, beside a reference where there is one.
const MOST = 60;
function studies() {
  const place = document.getElementById("dumbbells");
  if (!place) return;
  const { reference } = place.dataset, boxes = all("[data-filter]"), rows = all("#cells tbody tr"), note = document.getElementById("dumbbell-note");
  let cells = data.cells;
  const both = (cell) => cell.ours && (!reference || cell.reference);
  const mark = (count, series, name, cell) => ({ x: count[0] / count[1], series, ends: count.slice(2), text: `${name} ${count[0]}/${count[1]}${cell.verdict ? `, ${cell.verdict}` : ""}` });
  const given = () => ({
    axis: "share of sufficient seeds",
    series: [{ name: "ours", style: "good" }, { name: reference, style: "reference" }],
    rows: cells.filter(both).slice(0, MOST).map((cell) => ({
      name: [cell.cell, cell.learner, cell.preset].filter((word) => word !== "—").join(" · "),
      marks: [...(reference ? [mark(cell.reference, 1, reference, cell)] : []), mark(cell.ours, 0, "ours", cell)],
    })),
  });
  const drawn = dotChart(place, given);
  const apply = () => {
    const kept = data.cells.map((cell) => boxes.every((box) => !box.value || cell[box.dataset.filter] === box.value));
    rows.forEach((row, k) => { row.hidden = !kept[k]; });
    cells = data.cells.filter((_, k) => kept[k]);
    document.getElementById("shown-cells").textContent = `${cells.length} ${cells.length === 1 ? "line" : "lines"}`;
    const left = cells.filter(both).length - MOST;
    note.textContent = `Share of sufficient seeds with 95 % Wilson intervals${left > 0 ? `; the first ${MOST}, filter to see ${left} more` : ""}`;
    drawn.redraw();
  };
  boxes.forEach((box) => box.addEventListener("change", apply));
  apply();
}
