"use strict";
(() => {
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const search = document.getElementById("search");
  const selects = all("select[data-filter]");
  const rows = all(".cases tbody tr");
  const narrow = () => {
    const wanted = search.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const fits = selects.every((select) => !select.value ||
        row.dataset[select.dataset.filter].split("\n").includes(select.value));
      row.hidden = !fits || !row.textContent.toLowerCase().includes(wanted);
      shown += row.hidden ? 0 : 1;
    }
    document.getElementById("shown").textContent = shown === rows.length ? "" : `${shown} of ${rows.length} shown`;
  };
  search.addEventListener("input", narrow);
  for (const select of selects) select.addEventListener("change", narrow);
})();
