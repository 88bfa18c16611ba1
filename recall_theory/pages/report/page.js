"use strict";
// Marks answer to pointer, finger and keyboard; a regime is chosen by fading all others; the table is sorted by its
// headings. What is shown of a comparison is its row in the table: one source for all numbers.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const table = document.getElementById("cells");
  if (!table) return; // the theory describes none of the cells
  const tip = document.getElementById("tip");
  const form = document.getElementById("regimes");
  const REACH = 24; // pixels: so near a finger has to come

  const rows = new Map([...table.tBodies[0].rows].map((row) => [row.dataset.of, row]));
  const told = [...table.tHead.rows[0].cells].flatMap((cell, i) => ("told" in cell.dataset ? [[i, cell.textContent]] : []));
  const keyOf = (mark) => `${mark.dataset.cell} ${mark.dataset.observable}`;

  // --- what a mark says ---------------------------------------------------------------------------

  let shown = null;

  function show(mark) {
    if (shown === mark) return;
    hide();
    shown = mark;
    const title = document.createElement("b");
    title.textContent = mark.getAttribute("aria-label").split(":")[0];
    const list = document.createElement("dl");
    for (const [i, head] of told) {
      const term = document.createElement("dt");
      const value = document.createElement("dd");
      term.textContent = head;
      value.append(...[...rows.get(keyOf(mark)).cells[i].childNodes].map((node) => node.cloneNode(true)));
      list.append(term, value);
    }
    tip.replaceChildren(title, list);
    tip.hidden = false;
    const at = mark.getBoundingClientRect();
    const box = tip.getBoundingClientRect();
    const wide = document.documentElement.clientWidth;
    const left = Math.min(Math.max(4, at.left + at.width / 2 - box.width / 2), wide - box.width - 4);
    const above = at.top - box.height - 10;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above > 4 ? above : at.bottom + 10) + scrollY}px`;
    const ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    for (const [name, value] of [["class", "ring"], ["cx", mark.getAttribute("x")], ["cy", mark.getAttribute("y")], ["r", 5]])
      ring.setAttribute(name, value);
    mark.closest("svg").append(ring);
  }

  function hide() {
    shown = null;
    tip.hidden = true;
    document.querySelectorAll(".ring").forEach((ring) => ring.remove());
  }

  function nearest(marks, x, y) {
    let best = null, least = REACH;
    for (const mark of marks) {
      if (mark.classList.contains("off")) continue;
      const box = mark.getBoundingClientRect();
      const far = Math.hypot(box.left + box.width / 2 - x, box.top + box.height / 2 - y);
      if (far < least) [best, least] = [mark, far];
    }
    return best;
  }

  for (const svg of document.querySelectorAll("svg.figure")) {
    const marks = [...svg.querySelectorAll(".mark")];
    if (marks.length === 0) continue;
    const point = (event) => {
      const mark = nearest(marks, event.clientX, event.clientY);
      if (mark) show(mark); else hide();
    };
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });

    // One stop of the tab key a figure; arrows go from mark to mark, from left to right.
    const order = marks.toSorted((a, b) => a.getAttribute("x") - b.getAttribute("x") || a.getAttribute("y") - b.getAttribute("y"));
    const focus = (mark) => {
      marks.forEach((m) => m.setAttribute("tabindex", m === mark ? "0" : "-1"));
      mark.focus();
    };
    svg.addEventListener("focusin", (event) => { if (event.target.matches(".mark")) show(event.target); });
    svg.addEventListener("focusout", hide);
    svg.addEventListener("keydown", (event) => {
      const open = order.filter((m) => !m.classList.contains("off"));
      const at = open.indexOf(document.activeElement);
      const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: open.length - 1 }[event.key];
      if (event.key === "Escape") hide();
      if (to === undefined || open.length === 0) return;
      event.preventDefault();
      focus(open[Math.min(Math.max(to, 0), open.length - 1)]);
    });
  }

  // --- regimes ------------------------------------------------------------------------------------

  function choose() {
    const wanted = Object.fromEntries(new FormData(form));
    const has = (name, cell, observable) =>
      name === "observable" ? observable : name === "verdict" ? cell.verdict[observable] : cell.regime[name];
    const fits = (cell, observable) =>
      Object.entries(wanted).every(([name, value]) => value === "" || value === has(name, cell, observable));
    let left = 0;
    for (const [key, row] of rows) {
      const [cell, observable] = key.split(" ");
      row.hidden = !fits(data.cells[cell], observable);
      left += !row.hidden;
    }
    for (const mark of document.querySelectorAll("[data-cell]")) {
      const row = rows.get(keyOf(mark));
      mark.classList.toggle("off", row !== undefined && row.hidden);
    }
    for (const svg of document.querySelectorAll("svg.figure")) { // the tab key must reach a mark that is chosen
      const open = [...svg.querySelectorAll(".mark:not(.off)")];
      svg.querySelectorAll(".mark").forEach((m) => m.setAttribute("tabindex", m === open[0] ? "0" : "-1"));
    }
    hide();
    form.querySelector("output").textContent = `${left} of ${rows.size} comparisons`;
  }
  form.addEventListener("input", choose);
  form.querySelector("button").addEventListener("click", () => {
    form.reset();
    choose();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  choose();

  // --- the table ----------------------------------------------------------------------------------

  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent;
      const number = (text) => (text.trim() === "" ? NaN : Number(text));
      const compare = (a, b) => {
        const [x, y] = [number(value(a)), number(value(b))];
        if (Number.isNaN(x) || Number.isNaN(y)) return value(a).localeCompare(value(b));
        return x - y;
      };
      const sorted = [...rows.values()].sort((a, b) => (down ? compare(b, a) : compare(a, b)));
      table.tBodies[0].append(...sorted);
    });
  });
})();
