const form = document.getElementById("which");
const body = document.querySelector("#ranking tbody");
function show() {
  const { rows, columns, groups } = Object.fromEntries(new FormData(form));
  const [least, most] = rows.split("-").map(Number);
  const [fewest, all] = columns.split("-").map(Number);
  const kept = ROWS.filter((row) => groups ? row.groups : !row.groups
    && row.rows >= least && row.rows <= most && row.columns >= fewest && row.columns <= all);
  const sets = new Set(kept.map((row) => row.dataset));
  const mean = (own, name) => own.reduce((sum, row) => sum + row[name], 0) / own.length;
  const ranked = [...new Set(kept.map((row) => row.method))].map((method) => {
    const own = kept.filter((row) => row.method === method);
    const worst = own.reduce((one, other) => (other.gap > one.gap ? other : one));
    return { method, fitted: own.length, rank: mean(own, "rank"), worst,
      seconds: Math.max(...own.map((row) => row.seconds)) };
  });
  ranked.sort((one, other) => other.fitted - one.fitted || one.rank - other.rank);
  body.replaceChildren(...ranked.map((each) => {
    const line = document.createElement("tr");
    const cells = [each.method, each.rank.toFixed(1), `${each.fitted} of ${sets.size}`,
      `${each.worst.gap.toFixed(2)} (${each.worst.dataset})`, each.seconds];
    for (const cell of cells) line.insertCell().textContent = cell;
    return line;
  }));
  document.getElementById("sets").textContent = sets.size
    ? `Data sets: ${[...sets].join(", ")}.` : "No data set is like that.";
  for (const name of ["rows", "columns"]) form.elements[name].disabled = Boolean(groups);
}
form.addEventListener("input", show);
show();
