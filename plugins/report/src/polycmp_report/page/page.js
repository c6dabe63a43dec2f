"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));

  for (const button of all("button.toggle")) {
    const detail = document.getElementById(button.getAttribute("aria-controls"));
    const set = (open) => {
      button.setAttribute("aria-expanded", String(open));
      detail.classList.toggle("open", open);
    };
    button.addEventListener("click", () => set(button.getAttribute("aria-expanded") !== "true"));
    button.open = set;
  }
  const firstFailure = document.querySelector(["failed", "undecided", "blind", "error"].map((state) => `tr.output.${state} button.toggle`).join());
  if (firstFailure) firstFailure.open(true);

  for (const box of all(".around .chosen")) {
    const room = box.closest(".around"), place = box.getBoundingClientRect();
    room.scrollLeft += place.left + place.width / 2 - room.getBoundingClientRect().left - room.clientWidth / 2;
  }

  const key = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value.replace("inf", "Infinity"));
  };
  for (const heading of all("table.outputs th button")) {
    heading.addEventListener("click", () => {
      const cell = heading.parentElement;
      const body = cell.closest("table").tBodies[0];
      const down = cell.getAttribute("aria-sort") !== "descending";
      all("th", cell.parentElement).forEach((other) => other.removeAttribute("aria-sort"));
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = all("tr.output", body).map((row) => [row, row.nextElementSibling]);
      rows.sort(([a], [b]) => {
        const [x, y] = [key(a, cell.cellIndex), key(b, cell.cellIndex)];
        const order = typeof x === "number" ? x - y : x.localeCompare(y, undefined, { numeric: true });
        return down ? -order : order;
      });
      for (const [row, detail] of rows) {
        body.append(row);
        if (detail && detail.classList.contains("detail")) body.append(detail);
      }
    });
  }

  const search = document.getElementById("search");
  const only = document.getElementById("only-failed");
  const narrow = () => {
    const wanted = search.value.trim().toLowerCase();
    let shown = 0;
    const rows = all("tr.output");
    for (const row of rows) {
      const hidden = (only.checked && !row.matches(".failed, .undecided, .blind, .error")) ||
        !row.dataset.name.toLowerCase().includes(wanted);
      row.hidden = hidden;
      const detail = row.nextElementSibling;
      if (detail && detail.classList.contains("detail")) detail.hidden = hidden;
      shown += hidden ? 0 : 1;
    }
    document.getElementById("shown").textContent = shown === rows.length ? "" : `${shown} of ${rows.length} shown`;
  };
  if (search) {
    search.addEventListener("input", narrow);
    only.addEventListener("change", narrow);
  }

  for (const button of all("button.copy")) {
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(text);
        button.textContent = "Selected";
      }
    });
  }
})();
