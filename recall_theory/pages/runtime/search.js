// Order, counting and tables: what looks values up by size.
(() => {
  "use strict";
  const { fail, refuse, wrap, toArray, axisOf, add } = nd.inner;

  const before = (x, y) => x < y || (y !== y && x === x); // NaN comes last
  const flat = (x) => nd.ravel(toArray(x));

  // f of each line of n along an axis, given as a copy, writes that many values back.
  const byLine = (x, axis, kind, f) => {
    const a = toArray(x);
    const last = a.shape.length - 1;
    const turned = axisOf(axis, a.shape.length) === last ? nd.copy(a) : nd.swapaxes(a, axis, last);
    const n = turned.shape[last];
    for (let start = 0; n > 0 && start < turned.data.length; start += n) f(turned.data.subarray(start, start + n));
    const out = new nd.Array(turned.data, turned.shape, kind ?? a.kind);
    return axisOf(axis, a.shape.length) === last ? out : nd.swapaxes(out, axis, last);
  };

  const stableOrder = (line) => Array.from(line, (_, i) => i)
    .sort((i, j) => (before(line[i], line[j]) ? -1 : before(line[j], line[i]) ? 1 : i - j));

  add("sort", ["a", "axis"], (a, axis = -1) => (axis === null ? nd.sort(flat(a))
    : byLine(a, axis, null, (line) => line.sort())));
  add("argsort", ["a", "axis", "kind"], (a, axis = -1, kind = "stable") => {
    if (kind !== "stable") refuse("argsort", { [`kind ${kind}`]: kind });
    return axis === null ? nd.argsort(flat(a)) : byLine(a, axis, "i", (line) => line.set(stableOrder(line)));
  });

  // The first of the greatest (or least), NaN before all.
  const first = (name, beats) => {
    add(name, ["a", "axis"], (a, axis = null) => {
      const [array, along] = axis === null ? [flat(a), 0] : [toArray(a), axis];
      const ndim = array.shape.length;
      if (array.shape[axisOf(along, ndim)] === 0) fail(`${name} of no elements`);
      const order = nd.moveaxis(array, along, -1);
      const n = order.shape[ndim - 1];
      const out = new Float64Array(order.data.length / n);
      for (let o = 0; o < out.length; o++) {
        let best = 0;
        for (let i = 1; i < n; i++) {
          const [x, y] = [order.data[o * n + i], order.data[o * n + best]];
          if (y === y && (beats(x, y) || x !== x)) best = i;
        }
        out[o] = best;
      }
      return wrap(out, order.shape.slice(0, -1), "i");
    });
  };
  first("argmax", (x, y) => x > y);
  first("argmin", (x, y) => x < y);

  add("median", ["a"], (a) => {
    const { data } = nd.sort(flat(a));
    const n = data.length;
    if (n === 0 || data[n - 1] !== data[n - 1]) return NaN;
    return n % 2 ? data[(n - 1) / 2] : (data[n / 2 - 1] + data[n / 2]) / 2;
  });

  add("searchsorted", ["a", "v", "side"], (a, v, side = "left") => {
    const { data: sorted } = flat(a);
    const places = toArray(v);
    const right = side === "right";
    if (!right && side !== "left") fail(`searchsorted has no side ${side}`);
    const out = new Float64Array(places.data.length);
    for (let i = 0; i < out.length; i++) {
      const x = places.data[i];
      let [low, high] = [0, sorted.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (right ? !before(x, sorted[middle]) : before(sorted[middle], x)) low = middle + 1;
        else high = middle;
      }
      out[i] = low;
    }
    return wrap(out, places.shape, "i");
  });

  add("bincount", ["x", "weights", "minlength"], (x, weights = null, minlength = 0) => {
    const { data: places } = toArray(x);
    let length = minlength;
    for (let i = 0; i < places.length; i++) {
      if (!(places[i] >= 0) || Math.floor(places[i]) !== places[i]) fail(`bincount: ${places[i]} is no count`);
      if (places[i] >= length) length = places[i] + 1;
    }
    const out = new Float64Array(length);
    if (weights === null) {
      for (let i = 0; i < places.length; i++) out[places[i]]++;
      return new nd.Array(out, [length], "i");
    }
    const { data } = toArray(weights);
    if (data.length !== places.length) fail("bincount takes as many weights as places");
    for (let i = 0; i < places.length; i++) out[places[i]] += data[i];
    return new nd.Array(out, [length], "f");
  });

  add("unique", ["ar", "return_index", "return_inverse"], (x, returnIndex = false, returnInverse = false) => {
    if (returnIndex) refuse("unique", { return_index: returnIndex });
    const a = toArray(x);
    if (a.data.some(Number.isNaN)) fail("unique does not support NaN");
    const sorted = a.data.slice().sort().filter((value, i, all) => i === 0 || value !== all[i - 1]);
    const found = new nd.Array(sorted, [sorted.length], a.kind);
    return returnInverse ? [found, nd.searchsorted(found, a)] : found;
  });

  // Straight lines between points (xp, fp), xp ascending; the end values beyond.
  add("interp", ["x", "xp", "fp"], (x, xp, fp) => {
    const [{ data: from }, { data: to }, at] = [flat(xp), flat(fp), toArray(x)];
    const n = from.length;
    if (n === 0 || to.length !== n) fail("interp takes as many values as points, and at least one");
    const places = toArray(nd.searchsorted(xp, at, "right")).data;
    const out = at.data.map((value, i) => {
      if (value !== value) return value;
      const k = places[i] - 1;
      if (k < 0) return to[0];
      if (k >= n - 1) return to[n - 1];
      if (value === from[k]) return to[k];
      return (to[k + 1] - to[k]) / (from[k + 1] - from[k]) * (value - from[k]) + to[k];
    });
    return wrap(out, at.shape, "f");
  });

  // The slope of f over x, by differences of second order within and of first order at the ends.
  add("gradient", ["f", "x"], (f, x = 1) => {
    const { data: y, shape } = toArray(f);
    const n = y.length;
    if (shape.length !== 1 || n < 2) fail("gradient takes one dimension of at least two values");
    const gaps = typeof x === "number" ? new Float64Array(n - 1).fill(x) : nd.diff(x).data;
    if (gaps.length !== n - 1) fail("gradient takes as many places as values");
    const even = gaps.every((gap) => gap === gaps[0]);
    const out = new Float64Array(n);
    out[0] = (y[1] - y[0]) / gaps[0];
    out[n - 1] = (y[n - 1] - y[n - 2]) / gaps[n - 2];
    for (let i = 1; i < n - 1; i++) {
      const [h, k] = [gaps[i - 1], gaps[i]];
      out[i] = even ? (y[i + 1] - y[i - 1]) / (2 * h)
        : -k / (h * (h + k)) * y[i - 1] + (k - h) / (h * k) * y[i] + h / (k * (h + k)) * y[i + 1];
    }
    return new nd.Array(out, shape, "f");
  });
})();
