// The curve: the observables along one size around the present setting, drawn as its points are calculated.

const SPAN = 64; // the curve reaches this factor to either side
const INTERVALS = 24;
const STEEP = 0.05; // change between neighbours that is looked at more closely
const MOST = 48; // points in all
const CREW = Math.max(1, Math.min(4, (navigator.hardwareConcurrency ?? 2) - 1)); // workers that share them
const HOW = "Point at the curve to read it; a click moves the setting there. The upright line is the present setting.";

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

class Curve {
  #crew = Array.from({ length: CREW }, () => new Engine("prediction"));
  #waiting = []; // values that no worker has taken
  #busy = 0; // workers that have one
  #points = new Map(); // value -> predicted; null where the setting is outside the domain
  #values = []; // all of them, ascending
  #place = null; // where they lie
  #read = null; // the value that the reader points at

  /** `go(name, value)` is called where a point is chosen. */
  constructor(go) {
    const plot = element("plot");
    const chosen = () => { if (this.#read) go(this.name, this.#read); };
    new ResizeObserver(() => this.draw()).observe(plot);
    plot.addEventListener("pointermove", (event) => this.#point(event));
    plot.addEventListener("pointerleave", () => this.#readOut(null));
    plot.addEventListener("blur", () => this.#readOut(null));
    plot.addEventListener("click", (event) => { this.#point(event); chosen(); });
    plot.addEventListener("keydown", (event) => { if (event.key === "Enter") chosen(); else this.#key(event); });
  }

  /** Begins anew around a setting, whose own result is known; `ratio` is N/V where that is held. */
  begin(name, setting, predicted, ratio) {
    this.stop();
    Object.assign(this, { name, setting, ratio: name === "V" ? ratio : null });
    this.#points = new Map([[setting[name], predicted]]);
    this.#read = null;
    this.#values = along(name, setting[name]);
    this.#waiting = coarseFirst(this.#values).filter((value) => value !== setting[name]);
    element("along-note").textContent = this.ratio ? `at N/V = ${number(ratio)}` : "";
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
    if (this.#values.length >= MOST) return undefined;
    const known = this.#known();
    const steep = known.slice(1).map(([to, b], i) => {
      const [from, a] = known[i];
      const change = Math.max(...OBSERVABLES.map((name) => Math.abs(b[name] - a[name])));
      return { middle: Math.round(Math.sqrt(from * to)), change };
    }).filter(({ middle, change }) => change > STEEP && !this.#values.includes(middle));
    if (!steep.length) return undefined;
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
    return this.#values.filter((value) => this.#points.get(value)).map((value) => [value, this.#points.get(value)]);
  }

  draw() {
    if (!this.setting) return;
    const width = Math.max(element("plot").clientWidth, 240);
    this.#place = scales(width, this.#values[0], this.#values.at(-1));
    const known = this.#known();
    element("plot").replaceChildren(chart(this.name, known, this.setting[this.name], width, this.#place));
    this.#table(known);
    this.#readOut(this.#read);
  }

  #table(known) {
    const heads = [this.name, ...OBSERVABLES].map((name) => make("th", { scope: "col" }, name));
    const rows = known.map(([value, p]) => make("tr", {}, make("th", { scope: "row" }, count(value)),
      ...OBSERVABLES.map((name) => make("td", {}, figure(p[name], probability(p[name]))))));
    element("curve-table").replaceChildren(make("caption", { class: "hidden" }, `Observables along ${this.name}`),
      make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
  }

  #point(event) {
    const at = event.clientX - element("plot").getBoundingClientRect().left;
    const apart = ([value]) => Math.abs(this.#place.x(value) - at);
    const [closest] = this.#known().sort((a, b) => apart(a) - apart(b));
    this.#readOut(closest ? closest[0] : null);
  }

  #key(event) {
    const known = this.#known().map(([value]) => value);
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
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
    if (cursor) for (const end of ["x1", "x2"]) cursor.setAttribute(end, predicted ? this.#place.x(value) : -9);
    const parts = predicted && OBSERVABLES.map((name) => `${name} ${probability(predicted[name])}`);
    element("readout").textContent = parts ? `${this.name} = ${count(value)}: ${parts.join(", ")}` : HOW;
  }
}
