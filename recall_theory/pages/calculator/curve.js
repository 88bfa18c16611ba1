// The curve: the observables along one size around the present setting, drawn as its points are calculated.

const SPAN = 64; // the curve reaches this factor to either side
const INTERVALS = 24;
const STEEP = 0.04; // change between neighbours that is looked at more closely
const MOST = 64; // points in all
const HEIGHT = 300;
const MARGIN = { top: 12, right: 84, bottom: 40, left: 40 };
const CREW = Math.max(1, Math.min(4, (navigator.hardwareConcurrency ?? 2) - 1)); // workers that share its points
const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes and text. */
function shape(tag, attributes = {}, ...inside) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

/** Whole numbers evenly spaced in the logarithm, the present one among them, ascending. */
function along(name, present) {
  const { low, high } = declared.sizes[name];
  const [from, to] = [Math.max(low, present / SPAN), Math.min(high, present * SPAN)];
  const spaced = Array.from({ length: INTERVALS + 1 }, (_, i) => Math.round(from * (to / from) ** (i / INTERVALS)));
  return [...new Set([...spaced, present])].sort((a, b) => a - b);
}

/** The same values, ends and middle first: every stage shows the whole curve. */
function coarseFirst(values) {
  const ordered = new Set([values[0], values.at(-1)]);
  for (let stride = 2 ** Math.ceil(Math.log2(values.length)); stride >= 1; stride /= 2) {
    for (let i = 0; i < values.length; i += stride) ordered.add(values[i]);
  }
  return [...ordered];
}

/** Round values for the ticks of a logarithmic axis, not more than fit. */
function ticks(low, high, most) {
  const all = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power += 1) {
    for (const lead of [1, 2, 5]) all.push(lead * 10 ** power);
  }
  const inside = all.filter((x) => x >= low * 0.999 && x <= high * 1.001 && x >= 1);
  const powers = inside.filter((x) => Math.log10(x) % 1 === 0);
  const chosen = inside.length <= most ? inside : powers;
  return chosen.filter((_, i) => i % Math.ceil(chosen.length / most) === 0);
}

class Curve {
  #crew = Array.from({ length: CREW }, () => new Engine("prediction"));
  #waiting = []; // values that no worker has taken
  #busy = 0; // workers that have one
  #points = new Map(); // value -> predicted; null where the setting is outside the domain
  #values = [];
  #read = null; // the value that the reader points at

  /** `go(name, value)` is called where a point is chosen. */
  constructor(go) {
    this.go = go;
    const plot = element("plot");
    new ResizeObserver(() => this.draw()).observe(plot);
    plot.addEventListener("pointermove", (event) => this.#point(event));
    plot.addEventListener("pointerleave", () => this.#readOut(null));
    plot.addEventListener("click", (event) => { this.#point(event); if (this.#read) this.go(this.name, this.#read); });
    plot.addEventListener("keydown", (event) => this.#key(event));
    plot.addEventListener("blur", () => this.#readOut(null));
  }

  /** Begins anew around a setting, whose own result is known; `ratio` is N/V where that is held. */
  begin(name, setting, predicted, ratio) {
    this.stop();
    Object.assign(this, { name, setting, ratio: name === "V" ? ratio : null });
    this.#points = new Map();
    this.#read = null;
    this.#values = along(name, setting[name]);
    element("along-note").textContent = this.ratio ? `at N/V = ${number(ratio)}` : "";
    this.#waiting = coarseFirst(this.#values).filter((v) => v !== setting[name]);
    this.#points.set(setting[name], predicted);
    for (const engine of this.#crew) this.#next(engine);
    this.draw();
  }

  /** Calculates no further point; those there are become stale. */
  stop() {
    for (const engine of this.#crew) engine.forget();
    this.#busy = 0;
  }

  #next(engine) {
    const value = this.#waiting.shift() ?? this.#steepest();
    if (value !== undefined) this.#busy += 1;
    element("curve").setAttribute("aria-busy", String(this.#busy > 0));
    if (value === undefined) return;
    engine.ask(this.#at(value), (result) => {
      this.#busy -= 1;
      this.#points.set(value, result.predicted ?? null);
      const why = result.error?.message ?? result.failure;
      if (why) element("along-note").textContent = `left out: ${why}`;
      this.draw();
      this.#next(engine);
    });
  }

  /** The middle of the steepest interval, which becomes one of the values; undefined where all is smooth. */
  #steepest() {
    const known = this.#known();
    const steep = known.slice(1).map(([to, b], i) => {
      const [from, a] = known[i];
      return { middle: Math.round(Math.sqrt(from * to)), change: Math.max(...OBSERVABLES.map((name) => Math.abs(b[name] - a[name]))) };
    }).filter(({ middle, change }) => change > STEEP && !this.#values.includes(middle));
    if (!steep.length || this.#values.length >= MOST) return undefined;
    const { middle } = steep.reduce((a, b) => (b.change > a.change ? b : a));
    this.#values = [...this.#values, middle].sort((a, b) => a - b);
    return middle;
  }

  #at(value) {
    const moved = { ...this.setting, [this.name]: value };
    if (this.ratio) moved.N = Math.max(1, Math.round(this.ratio * value));
    return moved;
  }

  #known() {
    return this.#values.filter((v) => this.#points.get(v)).map((v) => [v, this.#points.get(v)]);
  }

  draw() {
    if (!this.setting) return;
    const width = Math.max(element("plot").clientWidth, 240);
    const [low, high] = [this.#values[0], this.#values.at(-1)];
    const span = Math.log(high / low) || 1;
    this.x = (v) => MARGIN.left + (Math.log(v / low) / span) * (width - MARGIN.left - MARGIN.right);
    const y = (p) => HEIGHT - MARGIN.bottom - p * (HEIGHT - MARGIN.top - MARGIN.bottom);
    const known = this.#known();
    const svg = shape("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-labelledby": "curve-title curve-words" },
      shape("title", { id: "curve-title" }, `Attention, recall and accuracy along ${this.name}`),
      shape("desc", { id: "curve-words" }, this.#inWords(known)));
    for (const p of [0, 0.25, 0.5, 0.75, 1]) {
      svg.append(shape("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(p), y2: y(p) }),
        shape("text", { x: MARGIN.left - 8, y: y(p) + 4, "text-anchor": "end" }, String(p)));
    }
    const room = 7 * count(high).length + 12; // for the longest label
    for (const v of ticks(low, high, Math.floor((width - MARGIN.left - MARGIN.right) / room))) {
      svg.append(shape("line", { class: "tick", x1: this.x(v), x2: this.x(v), y1: y(0), y2: y(0) + 5 }),
        shape("text", { x: this.x(v), y: y(0) + 19, "text-anchor": "middle" }, count(v)));
    }
    svg.append(shape("text", { class: "axis", x: (MARGIN.left + width - MARGIN.right) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, this.name));
    const present = this.setting[this.name];
    svg.append(shape("line", { class: "present", x1: this.x(present), x2: this.x(present), y1: y(0), y2: y(1) }));
    for (const name of OBSERVABLES) {
      svg.append(shape("polyline", { class: `line ${name}`, points: known.map(([v, p]) => `${this.x(v).toFixed(1)},${y(p[name]).toFixed(1)}`).join(" ") }));
      if (this.#points.get(present)) svg.append(shape("circle", { class: `dot ${name}`, cx: this.x(present), cy: y(this.#points.get(present)[name]), r: 3.5 }));
    }
    svg.append(...this.#labels(known, y, width), shape("line", { id: "cursor", class: "cursor", y1: y(0), y2: y(1), x1: -9, x2: -9 }));
    element("plot").replaceChildren(svg);
    this.#table();
    this.#readOut(this.#read);
  }

  /** Names at the right end of the lines, apart from one another. */
  #labels(known, y, width) {
    if (!known.length) return [];
    const last = known.at(-1)[1];
    const placed = OBSERVABLES.map((name) => ({ name, at: y(last[name]) })).sort((a, b) => a.at - b.at);
    placed.forEach((label, i) => { if (i) label.at = Math.max(label.at, placed[i - 1].at + 15); });
    const over = Math.max(0, placed.at(-1).at - y(0));
    return placed.map(({ name, at }) => shape("text", { class: `name ${name}`, x: width - MARGIN.right + 8, y: at - over + 4 }, name));
  }

  #inWords(known) {
    if (known.length < 2) return "The curve is being calculated.";
    const [[from, first], [to, last]] = [known[0], known.at(-1)];
    const parts = OBSERVABLES.map((name) => `${name} from ${probability(first[name])} to ${probability(last[name])}`);
    return `As ${this.name} goes from ${count(from)} to ${count(to)}, ${parts.join(", ")}. The table below has every point.`;
  }

  #table() {
    const heads = [this.name, ...OBSERVABLES].map((name) => make("th", { scope: "col" }, name));
    const rows = this.#known().map(([v, p]) => make("tr", {}, make("th", { scope: "row" }, count(v)),
      ...OBSERVABLES.map((name) => make("td", {}, figure(p[name], probability(p[name]))))));
    element("curve-table").replaceChildren(make("caption", { class: "hidden" }, `Observables along ${this.name}`),
      make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
  }

  #point(event) {
    const at = event.clientX - element("plot").getBoundingClientRect().left;
    const apart = ([v]) => Math.abs(this.x(v) - at);
    const [closest] = this.#known().sort((a, b) => apart(a) - apart(b));
    this.#readOut(closest ? closest[0] : null);
  }

  #key(event) {
    const known = this.#known().map(([v]) => v);
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Enter" && this.#read) this.go(this.name, this.#read);
    if (!move || !known.length) return;
    event.preventDefault();
    const place = known.indexOf(this.#read ?? this.setting[this.name]) + move;
    this.#readOut(known[Math.min(Math.max(place, 0), known.length - 1)]);
  }

  /** The values at one point, in words; without one, how to get them. */
  #readOut(value) {
    const predicted = this.#points.get(value);
    this.#read = predicted ? value : null;
    const cursor = element("cursor");
    if (cursor) for (const end of ["x1", "x2"]) cursor.setAttribute(end, predicted ? this.x(value) : -9);
    element("readout").textContent = predicted
      ? `${this.name} = ${count(value)}: ${OBSERVABLES.map((name) => `${name} ${probability(predicted[name])}`).join(", ")}`
      : "Point at the curve to read it; a click moves the setting there. The upright line is the present setting.";
  }
}
