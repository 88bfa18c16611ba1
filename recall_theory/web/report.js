// Marks of figures say what their row in the table says; a selection hides other rows and fades other marks.
const form = element("selection");
const tip = element("tip");
const heads = [...element("cells").tHead.rows[0].cells];
const body = element("cells").tBodies[0];
const rows = new Map([...body.rows].map((row) => [row.dataset.of, row]));

/** Shows beside a mark what its row in the table says. */
function read(mark) {
  tip.hidden = !mark;
  if (!mark) return;
  const cells = [...rows.get(mark.dataset.of).querySelectorAll("td:not(:empty, .technical)")];
  const said = cells.map((cell) => `<dt>${heads[cell.cellIndex].textContent}</dt><dd>${cell.innerHTML}</dd>`);
  tip.innerHTML = said.join("");
  const at = mark.getBoundingClientRect();
  const most = document.documentElement.clientWidth - tip.offsetWidth - 4;
  const left = Math.min(at.x + (at.width - tip.offsetWidth) / 2, most);
  const above = at.top - tip.offsetHeight - 10;
  tip.style.left = `${Math.max(4, left) + scrollX}px`;
  tip.style.top = `${(above > 4 ? above : at.bottom + 10) + scrollY}px`;
}

for (const drawing of document.querySelectorAll(".drawing")) {
  for (const group of drawing.querySelectorAll("[id*=':marks:'], [id*=':intervals:']")) {
    const [, , kind, observable, cells] = group.id.split(":");
    const shapes = group.querySelectorAll(kind === "marks" ? "use" : "path");
    cells.split(",").forEach((cell, i) => { shapes[i].dataset.of = `${cell} ${observable}`; });
    if (kind === "marks") shapes.forEach((shape) => shape.classList.add("mark"));
  }
  const marks = [...drawing.querySelectorAll(".mark")];
  marks.sort((a, b) => a.getAttribute("x") - b.getAttribute("x"));
  readable(drawing, () => marks.filter((mark) => !mark.matches(".off")), 24);
}

function select() {
  const wanted = [...new FormData(form)].filter(([, value]) => value);
  for (const row of rows.values()) {
    const has = JSON.parse(row.dataset.selectors);
    row.hidden = wanted.some(([name, value]) => has[name] !== value);
  }
  for (const shape of document.querySelectorAll(".drawing [data-of]")) {
    shape.classList.toggle("off", rows.get(shape.dataset.of).hidden);
  }
  choose(null);
  const left = body.querySelectorAll("tr:not([hidden])").length;
  form.querySelector("output").textContent = `${left} of ${rows.size} comparisons`;
}

/** Sorts the table by the column of a heading, the other way round at the second time. */
function sort(head) {
  const sign = head.ariaSort === "ascending" ? -1 : 1;
  for (const other of heads) other.ariaSort = null;
  head.ariaSort = sign > 0 ? "ascending" : "descending";
  const of = ({ cells: { [head.cellIndex]: cell } }) => cell.dataset.v ?? cell.textContent;
  const compare = (a, b) => Number(of(a)) - Number(of(b)) || of(a).localeCompare(of(b));
  body.append(...[...rows.values()].sort((a, b) => sign * compare(a, b)));
}

for (const head of heads) head.firstChild.addEventListener("click", () => sort(head));
form.addEventListener("input", select);
form.addEventListener("reset", () => setTimeout(select));
form.hidden = false;
select();
