const told = document.getElementById("told");
for (const cell of document.querySelectorAll("[data-told]")) {
  const tell = () => { told.textContent = cell.dataset.told; told.hidden = false; };
  cell.addEventListener("mouseenter", tell);
  cell.addEventListener("focus", tell);
  for (const event of ["mouseleave", "blur"]) cell.addEventListener(event, () => { told.hidden = true; });
}
function unfold() {
  const aim = location.hash && document.getElementById(location.hash.slice(1));
  for (let node = aim; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  if (aim) aim.scrollIntoView();
}
addEventListener("hashchange", unfold);
unfold();
const filters = document.getElementById("filters");
if (filters) {
  filters.hidden = false;
  filters.addEventListener("input", () => {
    const wanted = Object.fromEntries([...new FormData(filters)].filter(([, value]) => value));
    for (const row of document.querySelectorAll(".numbers tbody tr"))
      row.hidden = Object.entries(wanted).some(([name, value]) => row.dataset[name] !== value);
  });
}
