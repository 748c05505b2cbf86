// Put everything in its place.
function theme() {
  const button = document.getElementById("theme"), wish = matchMedia("(prefers-color-scheme: dark)");
  const set = (dark) => { root.dataset.theme = dark ? "dark" : "light"; button.setAttribute("aria-pressed", String(dark)); };
  button.addEventListener("click", () => set(root.dataset.theme !== "dark"));
  wish.addEventListener("change", () => set(wish.matches));
  set(wish.matches);
}

theme();
patterns();
all("[data-spark]").forEach(spark);
all("[data-task]").forEach(timeline);
all("[data-still]").forEach(still);
all("[data-dots]").forEach((host) => dotChart(host, () => data.charts[host.id]));
all("[data-sort]").forEach(sortable);
all("[data-search]").forEach(searchable);
studies();
if (document.getElementById("rates-chart")) rateChart(document.getElementById("rates-chart"));
runTable();
addEventListener("beforeprint", () => all("details").forEach((item) => { item.open = true; }));
root.dataset.ready = "yes";
