"use strict";
// Marks of figures say what their row in the table says; a selection hides other rows and fades other marks.
const table = document.getElementById("cells"), tip = document.getElementById("tip");
const REACH = 24; // pixels from a mark within which a pointer finds it
const rows = new Map([...(table?.tBodies[0].rows ?? [])].map((row) => [row.dataset.of, row]));
const names = [...(table?.tHead.rows[0].cells ?? [])].map((cell) => cell.textContent);
let chosen = null;

function choose(mark) {
  if (mark === chosen) return;
  chosen?.classList.remove("chosen");
  chosen = mark;
  tip.hidden = !mark;
  if (!mark) return;
  mark.classList.add("chosen");
  const list = document.createElement("dl");
  [...rows.get(mark.dataset.of).cells].forEach((cell, i) => {
    if (!cell.textContent || cell.classList.contains("technical")) return;
    const term = document.createElement("dt"), value = document.createElement("dd");
    term.textContent = names[i];
    value.append(...[...cell.childNodes].map((node) => node.cloneNode(true)));
    list.append(term, value);
  });
  tip.replaceChildren(list);
  const at = mark.getBoundingClientRect(), box = tip.getBoundingClientRect();
  const most = document.documentElement.clientWidth - box.width - 4;
  const left = Math.max(4, Math.min(at.x + at.width / 2 - box.width / 2, most));
  const above = at.top - box.height - 10;
  tip.style.left = `${left + scrollX}px`;
  tip.style.top = `${(above > 4 ? above : at.bottom + 10) + scrollY}px`;
}

for (const drawing of document.querySelectorAll(".drawing")) {
  const marks = [];
  for (const group of drawing.querySelectorAll("[id*=':marks:'], [id*=':intervals:']")) {
    const [, , kind, observable, cells] = group.id.split(":");
    const shapes = group.querySelectorAll(kind === "marks" ? "use" : "path");
    cells.split(",").forEach((cell, i) => { shapes[i].dataset.of = `${cell} ${observable}`; });
    if (kind === "marks") marks.push(...shapes);
  }
  marks.forEach((mark) => mark.classList.add("mark"));
  marks.sort((a, b) => a.getAttribute("x") - b.getAttribute("x") || a.getAttribute("y") - b.getAttribute("y"));
  const open = () => marks.filter((mark) => !mark.classList.contains("off"));
  const point = (event) => {
    const far = (mark) => {
      const box = mark.getBoundingClientRect();
      return Math.hypot(box.x + box.width / 2 - event.clientX, box.y + box.height / 2 - event.clientY);
    };
    const nearest = open().reduce((best, mark) => (best && far(best) <= far(mark) ? best : mark), null);
    choose(nearest && far(nearest) < REACH ? nearest : null);
  };
  drawing.addEventListener("pointermove", point);
  drawing.addEventListener("pointerdown", point);
  drawing.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") choose(null); });
  drawing.addEventListener("blur", () => choose(null));
  drawing.addEventListener("keydown", (event) => {
    const all = open(), at = all.indexOf(chosen);
    const last = all.length - 1;
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
    if (event.key === "Escape") choose(null);
    if (to === undefined || last < 0) return;
    event.preventDefault();
    choose(all[Math.min(Math.max(to, 0), last)]);
  });
}

const form = document.getElementById("selection");
function select() {
  const wanted = [...new FormData(form)].filter(([, value]) => value);
  let left = 0;
  for (const row of rows.values()) {
    const has = JSON.parse(row.dataset.selectors);
    row.hidden = wanted.some(([name, value]) => has[name] !== value);
    left += !row.hidden;
  }
  for (const shape of document.querySelectorAll(".drawing [data-of]")) {
    shape.classList.toggle("off", rows.get(shape.dataset.of).hidden);
  }
  choose(null);
  form.querySelector("output").textContent = `${left} of ${rows.size} comparisons`;
}
if (form) {
  form.addEventListener("input", select);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.querySelector("button").addEventListener("click", () => { form.reset(); select(); });
  form.hidden = false;
  select();
}

[...(table?.tHead.rows[0].cells ?? [])].forEach((head, column) => head.firstChild.addEventListener("click", () => {
  const sign = head.ariaSort === "ascending" ? -1 : 1;
  for (const other of head.parentElement.cells) other.ariaSort = null;
  head.ariaSort = sign > 0 ? "ascending" : "descending";
  const of = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent;
  const compare = (a, b) => Number(of(a)) - Number(of(b)) || of(a).localeCompare(of(b));
  table.tBodies[0].append(...[...rows.values()].sort((a, b) => sign * compare(a, b)));
}));
