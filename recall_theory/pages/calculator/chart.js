// Lines over a logarithmic axis, as SVG.

const HEIGHT = 300;
const MARGIN = { top: 12, right: 84, bottom: 40, left: 40 };
const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes, and text or elements in it. */
function shape(tag, attributes = {}, ...inside) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

const line = (kind, x1, y1, x2, y2, more = {}) => shape("line", { class: kind, x1, y1, x2, y2, ...more });
const label = (x, y, anchor, text, kind = "label") => shape("text", { class: kind, x, y, "text-anchor": anchor }, text);

/** Round values for the ticks of a logarithmic axis, not more than fit. */
function ticks(low, high, most) {
  const all = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power += 1) {
    for (const lead of [1, 2, 5]) all.push(lead * 10 ** power);
  }
  const inside = all.filter((x) => x >= low * 0.999 && x <= high * 1.001 && x >= 1);
  const chosen = inside.length <= most ? inside : inside.filter((x) => Math.log10(x) % 1 === 0);
  return chosen.filter((_, i) => i % Math.ceil(chosen.length / most) === 0);
}

/** Where values lie on a chart that is so many pixels wide. */
function scales(width, low, high) {
  const span = Math.log(high / low) || 1;
  const [left, right, bottom] = [MARGIN.left, width - MARGIN.right, HEIGHT - MARGIN.bottom];
  return {
    x: (value) => left + (Math.log(value / low) / span) * (right - left),
    y: (probability) => bottom - probability * (bottom - MARGIN.top),
    left, right, bottom, low, high,
  };
}

/** The chart: `known` is [value, predicted] in ascending order, `present` the value of the setting. */
function chart(name, known, present, width, at) {
  const { x, y, left, right, bottom } = at;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img",
    "aria-labelledby": "curve-title curve-words" },
  shape("title", { id: "curve-title" }, `Attention, recall and accuracy along ${name}`),
  shape("desc", { id: "curve-words" }, inWords(name, known)));
  for (const p of [0, 0.25, 0.5, 0.75, 1]) {
    svg.append(line("grid", left, y(p), right, y(p)), label(left - 8, y(p) + 4, "end", String(p)));
  }
  const room = 7 * count(at.high).length + 12; // for the longest label
  for (const value of ticks(at.low, at.high, Math.floor((right - left) / room))) {
    svg.append(line("tick", x(value), bottom, x(value), bottom + 5),
      label(x(value), bottom + 19, "middle", count(value)));
  }
  svg.append(label((left + right) / 2, HEIGHT - 4, "middle", name, "axis"),
    line("present", x(present), bottom, x(present), y(1)));
  for (const observable of OBSERVABLES) {
    const points = known.map(([value, p]) => `${x(value).toFixed(1)},${y(p[observable]).toFixed(1)}`);
    svg.append(shape("polyline", { class: `line ${observable}`, points: points.join(" ") }));
    const here = known.find(([value]) => value === present)?.[1];
    const dot = { class: `dot ${observable}`, cx: x(present), r: 3.5 };
    if (here) svg.append(shape("circle", { ...dot, cy: y(here[observable]) }));
  }
  svg.append(...names(known, at), line("cursor", -9, bottom, -9, y(1), { id: "cursor" }));
  return svg;
}

/** Names at the right end of the lines, apart from one another. */
function names(known, { y, right, bottom }) {
  if (!known.length) return [];
  const last = known.at(-1)[1];
  const placed = OBSERVABLES.map((name) => ({ name, at: y(last[name]) })).sort((a, b) => a.at - b.at);
  placed.forEach((here, i) => { if (i) here.at = Math.max(here.at, placed[i - 1].at + 15); });
  const over = Math.max(0, placed.at(-1).at - bottom);
  return placed.map(({ name, at }) => label(right + 8, at - over + 4, "start", name, `name ${name}`));
}

/** The chart for those who don't see it. */
function inWords(name, known) {
  if (known.length < 2) return "The curve is being calculated.";
  const [[from, first], [to, last]] = [known[0], known.at(-1)];
  const parts = OBSERVABLES.map((o) => `${o} from ${probability(first[o])} to ${probability(last[o])}`);
  return `As ${name} goes from ${count(from)} to ${count(to)}, ${parts.join(", ")}. The table below has every point.`;
}
