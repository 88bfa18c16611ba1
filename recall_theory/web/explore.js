// The page of `recall-theory explore`: it sends what its form holds and shows the records that come back.
"use strict";

const element = (id) => document.getElementById(id);
const form = element("controls");
const SIZES = ["V", "L", "d", "N", "m"];
const CONTROLS = [...SIZES, "activation", "embedding"];
const OBSERVABLES = ["attention", "recall", "accuracy"];
const PAUSE = 300; // ms of rest before the address is rewritten
const page = crypto.randomUUID();
const timers = {};

let number = 0; // of the newest request
let running = new AbortController(); // of the newest request
let ratio = null; // N/V of the newest setting whose N was chosen

// Elements

function filled(made, attributes, inside) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

const make = (tag, attributes = {}, ...inside) => filled(document.createElement(tag), attributes, inside);
const shape = (tag, attributes = {}, ...inside) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, inside);

/** A number, which the page shows rounded and keeps whole. */
const figure = ([value, shown]) => make("data", { value }, shown);

function later(purpose, time, act) {
  clearTimeout(timers[purpose]);
  timers[purpose] = setTimeout(act, time);
}

// Asking

/** Asks about what the form holds; the request before is dropped. `typing`: what is wrong may yet become right. */
async function ask({ typing = false, held = false } = {}) {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  element("mlp-sizes").hidden = element("mlp-sizes").disabled = !element("mlp").checked;
  element("along").options[SIZES.length - 1].disabled = !element("mlp").checked;
  stale("Calculating ...");
  later("address", PAUSE, () => history.replaceState(null, "", `/?${new URLSearchParams(new FormData(form))}`));
  number += 1;
  const query = new URLSearchParams(new FormData(form));
  query.set("page", page);
  query.set("number", number);
  if (held && element("hold").checked && ratio !== null) query.set("ratio", ratio);
  try {
    const response = await fetch(`/answers?${query}`, { signal, headers: { "X-Token": form.dataset.token } });
    if (!response.ok) throw new Error(await response.text());
    for await (const record of lines(response.body)) {
      if (signal.aborted) return;
      show[record.kind](record, { typing, held: query.has("ratio") });
    }
  } catch (error) {
    if (!signal.aborted) stale(`No answer: ${error.message}. Is the program still running?`, false);
  }
}

/** The objects of a stream that has one a line, as they come. */
async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const parts = (rest + next.value).split("\n");
    rest = parts.pop();
    for (const part of parts) yield JSON.parse(part);
  }
}

/** Greys what is shown: it belongs to an older setting. */
function stale(status, busy = true) {
  for (const id of ["predicted", "budget", "bounds", "curve"]) element(id).classList.add("stale");
  element("predicted").setAttribute("aria-busy", busy);
  element("status").textContent = status;
}

function fresh(...ids) {
  for (const id of ids) element(id).classList.remove("stale");
}

// Showing, by the kind of the record

const show = {
  problems({ problems }, { typing }) {
    if (typing) return;
    showProblems(problems);
    stale(`No result: see ${Object.keys(problems).join(", ")}.`, false);
  },

  setting({ setting, ratio: [value, shown], model, command, python }, { held }) {
    if (held) element("N").value = setting.N;
    else ratio = value;
    showProblems({});
    for (const name of SIZES) showSlider(name, setting[name]);
    for (const group of document.querySelectorAll("[data-model]")) group.hidden = group.dataset.model !== model;
    element("ratio").textContent = shown;
    element("command").textContent = command;
    element("python").textContent = python;
  },

  prediction({ summary, limited_by: cause, remarks, means, deviations, budgets }) {
    for (const name of OBSERVABLES) showObservable(name, means[name], deviations[name]);
    element("limited").replaceChildren(`${summary} Limited by `, make("b", {}, cause), ".");
    element("remarks").replaceChildren(...remarks.map((text) => make("p", {}, text)));
    for (const [step, { rows, total }] of Object.entries(budgets)) showBudget(step, rows, total);
    const spoken = OBSERVABLES.map((name) => `${name} ${means[name][1]}`).join(", ");
    later("announce", 2 * PAUSE, () => { element("announce").textContent = `${spoken}; limited by ${cause}`; });
    fresh("predicted", "budget");
    element("predicted").setAttribute("aria-busy", "false");
  },

  bounds({ bounds }) {
    element("bound-rows").replaceChildren(...bounds.flatMap((bound) => [
      make("tr", { class: "numbers", "data-bound": bound.name },
        make("th", { scope: "row", class: "words" }, bound.name, " ", make("small", {}, bound.strength)),
        ...["recall", "least_N", "largest_V"].map((name) => make("td", {}, figure(bound[name])))),
      make("tr", { class: "words" }, make("td", { colspan: 4, class: "words" },
        bound.allows === false ? make("b", {}, "0.99 is out of reach. ") : "", bound.plain, " ",
        make("i", {}, bound.statement), ". ", make("small", {}, bound.assumes))),
    ]));
    fresh("bounds");
  },

  curve(record) {
    element("along").value = record.along;
    curve.begin(record);
  },
  point(record) { curve.add(record); },
  omitted({ message }) { curve.left = `left out: ${message}`; },
  end() { curve.end(); },
};

function showProblems(problems) {
  for (const name of CONTROLS) {
    element(`${name}-problem`).textContent = problems[name] ?? "";
    element(name).setAttribute("aria-invalid", name in problems);
  }
}

function showObservable(name, mean, deviation) {
  const row = document.querySelector(`[data-observable=${name}]`);
  row.querySelector(".mean").replaceChildren(figure(mean));
  row.querySelector(".std").replaceChildren("± ", figure(deviation));
  const [low, high] = [Math.max(mean[0] - deviation[0], 0), Math.min(mean[0] + deviation[0], 1)];
  row.querySelector(".bar span").style.width = `${100 * mean[0]}%`;
  Object.assign(row.querySelector(".bar i").style, { left: `${100 * low}%`, width: `${100 * (high - low)}%` });
}

function showBudget(step, rows, total) {
  const table = element(`budget-${step}`);
  table.tBodies[0].replaceChildren(...rows.map(({ cause, share, value }) => {
    const bar = make("span");
    bar.style.width = `${100 * share[0]}%`;
    return make("tr", { "data-cause": cause },
      make("th", { scope: "row", class: "words" }, cause),
      make("td", { class: "drawn" }, make("span", { class: `bar ${step}` }, bar)),
      make("td", {}, share[1]), make("td", {}, figure(value)));
  }));
  table.querySelector("tfoot data").replaceWith(figure(total));
}

// Controls

const steps = (name) => element(`${name}-slider`).dataset.steps.split(" ").map(Number);

/** The slider at the step that is nearest to a value. */
function showSlider(name, value) {
  if (value === null) return;
  const slider = element(`${name}-slider`);
  slider.value = Math.max(0, steps(name).findLastIndex((step) => step <= value * 2 ** (1 / 8)));
  slider.setAttribute("aria-valuetext", value.toLocaleString("en-US"));
}

for (const name of SIZES) {
  const slider = element(`${name}-slider`);
  slider.addEventListener("input", () => {
    element(name).value = steps(name)[slider.value];
    ask({ held: name === "V" });
  });
}
form.addEventListener("input", ({ target }) => {
  if (target.type !== "range") ask({ typing: target.matches(".box"), held: target.id === "V" });
});
form.addEventListener("change", ({ target }) => { if (target.matches(".box")) ask({ held: target.id === "V" }); });
form.addEventListener("submit", (event) => event.preventDefault());
element("along").addEventListener("input", () => ask());
for (const button of document.querySelectorAll("[data-copy]")) {
  const words = button.textContent;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(element(button.dataset.copy).textContent);
    button.textContent = "copied";
    later(button.dataset.copy, 2000, () => { button.textContent = words; });
  });
}

// The curve

const HEIGHT = 300;
const MARGIN = { top: 12, right: 84, bottom: 40, left: 40 };
const FIRST = 5; // points that are drawn at once, in place of the curve before
const HOW = "Point at the curve to read it; a click moves the setting there. The upright line is the present setting.";

const curve = {
  points: [], // records of kind "point", ascending
  read: null, // the one that the reader points at

  begin(record) {
    Object.assign(this, record, { incoming: [], left: "", wanted: record.points });
    element("curve").setAttribute("aria-busy", "true");
  },

  add(point) {
    this.incoming.push(point);
    if (this.incoming.length >= FIRST) this.update();
    element("along-note").textContent = `provisional: ${this.incoming.length} points of ${this.wanted} or more`;
  },

  end() {
    this.update();
    element("along-note").textContent = [this.note, this.left].filter(Boolean).join("; ");
    element("curve").setAttribute("aria-busy", "false");
  },

  update() {
    this.points = [...this.incoming].sort((a, b) => a.value - b.value);
    this.drawn = { along: this.along, low: this.low, high: this.high, present: this.present };
    element("curve-size").textContent = this.along;
    element("curve-rows").replaceChildren(...this.points.map((point) => make("tr", {},
      make("th", { scope: "row" }, point.shown),
      ...OBSERVABLES.map((name) => make("td", {}, figure(point[name]))))));
    fresh("curve");
    this.draw();
  },

  x(value) {
    const { low, high } = this.drawn;
    const width = element("plot").clientWidth - MARGIN.left - MARGIN.right;
    return MARGIN.left + width * Math.log(value / low) / (Math.log(high / low) || 1);
  },

  y: (probability) => HEIGHT - MARGIN.bottom - probability * (HEIGHT - MARGIN.bottom - MARGIN.top),

  draw() {
    if (!this.points.length) return;
    const { along, low, high, present } = this.drawn;
    const [left, right, bottom, top] = [this.x(low), this.x(high), this.y(0), this.y(1)];
    const line = (kind, x1, y1, x2, y2) => shape("line", { class: kind, x1, y1, x2, y2 });
    const label = (x, y, anchor, text, kind = "axis") => shape("text", { class: kind, x, y, "text-anchor": anchor }, text);
    const last = this.points.at(-1);
    const words = OBSERVABLES.map((name) => `${name} from ${this.points[0][name][1]} to ${last[name][1]}`);
    const svg = shape("svg", { width: right + MARGIN.right, height: HEIGHT, role: "img" },
      shape("title", {}, `Along ${along} from ${this.points[0].shown} to ${last.shown}: ${words.join(", ")}`));
    for (const p of [0, 0.25, 0.5, 0.75, 1]) {
      svg.append(line("grid", left, this.y(p), right, this.y(p)), label(left - 8, this.y(p) + 4, "end", p));
    }
    for (let power = 1; power <= high; power *= 10) {
      if (power < low) continue;
      svg.append(line("grid", this.x(power), bottom, this.x(power), bottom + 5),
        label(this.x(power), bottom + 19, "middle", power.toLocaleString("en-US")));
    }
    svg.append(label((left + right) / 2, HEIGHT - 4, "middle", along), line("present", this.x(present), bottom, this.x(present), top));
    for (const name of OBSERVABLES) {
      const path = this.points.map((point) => `${this.x(point.value)},${this.y(point[name][0])}`);
      svg.append(shape("polyline", { class: name, points: path.join(" ") }));
      const here = this.points.find(({ value }) => value === present);
      if (here) svg.append(shape("circle", { class: name, cx: this.x(present), cy: this.y(here[name][0]), r: 3 }));
    }
    let above = -Infinity; // names at the right end, apart from one another
    for (const name of [...OBSERVABLES].sort((a, b) => last[b][0] - last[a][0])) {
      above = Math.max(above + 15, this.y(last[name][0]) + 4);
      svg.append(label(right + 8, above, "start", name, name));
    }
    svg.append(line("cursor", -9, bottom, -9, top));
    element("plot").replaceChildren(svg);
    this.readOut(this.read && this.points.find(({ value }) => value === this.read.value));
  },

  /** The values at one point, in words; without one, how to get them. */
  readOut(point) {
    this.read = point ?? null;
    const cursor = document.querySelector(".cursor");
    for (const end of ["x1", "x2"]) cursor?.setAttribute(end, point ? this.x(point.value) : -9);
    const parts = point && OBSERVABLES.map((name) => `${name} ${point[name][1]}`);
    element("readout").textContent = parts ? `${this.drawn.along} = ${point.shown}: ${parts.join(", ")}` : HOW;
  },

  near(event) {
    const at = event.clientX - element("plot").getBoundingClientRect().left;
    const apart = ({ value }) => Math.abs(this.x(value) - at);
    this.readOut(this.points.reduce((a, b) => (a && apart(a) <= apart(b) ? a : b), null));
  },

  key(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Enter") this.go();
    if (!move || !this.points.length) return;
    event.preventDefault();
    const at = this.points.findIndex(({ value }) => value === (this.read?.value ?? this.drawn.present));
    this.readOut(this.points[Math.min(Math.max(at + move, 0), this.points.length - 1)]);
  },

  /** Moves the setting to the point that is read. */
  go() {
    if (!this.read) return;
    element(this.drawn.along).value = this.read.value;
    ask({ held: this.drawn.along === "V" });
  },
};

const plot = element("plot");
new ResizeObserver(() => curve.draw()).observe(plot);
plot.addEventListener("pointermove", (event) => curve.near(event));
plot.addEventListener("pointerleave", () => curve.readOut(null));
plot.addEventListener("blur", () => curve.readOut(null));
plot.addEventListener("click", (event) => { curve.near(event); curve.go(); });
plot.addEventListener("keydown", (event) => curve.key(event));
ask();
