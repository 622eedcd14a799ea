"use strict";
(function () {
  const table = document.getElementById("scores");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const form = document.getElementById("filters");
  const count = document.getElementById("count");

  function value(row, column) {
    const cell = row.cells[column];
    const given = cell.dataset.sort;
    return given === undefined ? cell.textContent.trim().toLowerCase() : given;
  }

  // Empty cells come last in both directions.
  function compare(a, b, numeric, sign) {
    if (a === b) return 0;
    if (a === "") return 1;
    if (b === "") return -1;
    if (numeric) return sign * (Number(a) - Number(b));
    return sign * a.localeCompare(b, "en", { numeric: true });
  }

  table.querySelectorAll("thead button").forEach(function (button) {
    const head = button.parentElement;
    button.addEventListener("click", function () {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      table.querySelectorAll("thead th").forEach((each) => each.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      const numeric = head.classList.contains("number");
      const keyed = rows.map((row) => [value(row, head.cellIndex), row]);
      keyed.sort((a, b) => compare(a[0], b[0], numeric, sign));
      body.append(...keyed.map((each) => each[1]));
    });
  });

  function filter() {
    const wanted = Array.from(form.querySelectorAll("select")).filter((each) => each.value !== "");
    const words = form.elements.words.value.trim().toLowerCase();
    let shown = 0;
    rows.forEach(function (row) {
      const fits =
        wanted.every((each) => row.dataset[each.name] === each.value) &&
        (words === "" || row.textContent.toLowerCase().includes(words));
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    });
    count.textContent = shown + " of " + rows.length + " rows";
  }

  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter, 0));
  form.hidden = false;
  filter();
  performance.mark("scorecard");
})();
