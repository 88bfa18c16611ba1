// Reductions and running totals along axes.
(() => {
  "use strict";
  const { fail, refuse, widest, wrap, toArray, sizeOf, axisOf, add } = nd.inner;

  // An array seen as (outer, n, inner), to be reduced along the middle; `kept` is its shape with ones there.
  const along = (x, axis) => {
    let a = toArray(x);
    const ndim = a.shape.length;
    const given = axis === undefined || axis === null ? a.shape.map((_, i) => i)
      : (typeof axis === "number" ? [axis] : [...axis]).map((one) => axisOf(one, ndim));
    const axes = new Set(given);
    if (axes.size < given.length) fail(`(${axis}) names an axis twice`);
    const kept = a.shape.map((n, i) => (axes.has(i) ? 1 : n));
    const left = a.shape.filter((_, i) => !axes.has(i));
    let first = Math.min(...axes);
    if (axes.size && Math.max(...axes) - first >= axes.size) { // apart from each other: to the end with them
      const others = a.shape.map((_, i) => i).filter((i) => !axes.has(i));
      a = nd.transpose(a, [...others, ...[...axes].sort((i, j) => i - j)]);
      first = others.length;
    }
    if (axes.size === 0) first = ndim;
    return {
      data: a.data, kind: a.kind, kept, left,
      outer: sizeOf(a.shape.slice(0, first)),
      n: sizeOf(a.shape.slice(first, first + axes.size)),
      inner: sizeOf(a.shape.slice(first + axes.size)),
    };
  };

  // NumPy's pairwise sum: eight running sums within a block, halves of what is longer.
  const pairwise = (data, start, n) => {
    if (n < 8) {
      let sum = n > 0 ? data[start] : 0;
      for (let i = 1; i < n; i++) sum += data[start + i];
      return sum;
    }
    if (n > 128) {
      const half = Math.floor(n / 2) - (Math.floor(n / 2) % 8);
      return pairwise(data, start, half) + pairwise(data, start + half, n - half);
    }
    let a = data[start], b = data[start + 1], c = data[start + 2], d = data[start + 3];
    let e = data[start + 4], f = data[start + 5], g = data[start + 6], h = data[start + 7];
    const whole = n - (n % 8);
    for (let i = start + 8; i < start + whole; i += 8) {
      a += data[i];
      b += data[i + 1];
      c += data[i + 2];
      d += data[i + 3];
      e += data[i + 4];
      f += data[i + 5];
      g += data[i + 6];
      h += data[i + 7];
    }
    let sum = ((a + b) + (c + d)) + ((e + f) + (g + h));
    for (let i = start + whole; i < start + n; i++) sum += data[i];
    return sum;
  };

  const total = ({ data, outer, n, inner }) => {
    const out = new Float64Array(outer * inner);
    if (inner === 1) {
      for (let o = 0; o < outer; o++) out[o] = pairwise(data, o * n, n);
      return out;
    }
    for (let o = 0, p = 0; o < outer; o++) {
      for (let j = 0; j < n; j++) {
        for (let k = o * inner; k < (o + 1) * inner; k++) out[k] += data[p++];
      }
    }
    return out;
  };

  const helpers = { greater: (x, y) => (x > y || x !== x ? x : y), lesser: (x, y) => (x < y || x !== x ? x : y) };

  // Compiles loops that fold `step`, an expression of the value so far and the next element x.
  const folding = (step) => new Function("f", `
    "use strict";
    return ({ data, outer, n, inner }, start) => {
      const out = new Float64Array(outer * inner).fill(start);
      for (let o = 0, p = 0; o < outer; o++) {
        if (inner === 1) {
          let value = start;
          for (let j = 0; j < n; j++) { const x = data[p++]; value = ${step}; }
          out[o] = value;
        } else for (let j = 0; j < n; j++) {
          for (let k = o * inner; k < (o + 1) * inner; k++) {
            const x = data[p++], value = out[k];
            out[k] = ${step};
          }
        }
      }
      return out;
    };`)(helpers);

  // Compiles loops that write every value on the way.
  const running = (step) => new Function("f", `
    "use strict";
    return ({ data, outer, n, inner }) => {
      const out = data.slice();
      for (let o = 0; o < outer; o++) {
        for (let p = o * n * inner + inner; p < (o + 1) * n * inner; p++) {
          const x = data[p], value = out[p - inner];
          out[p] = ${step};
        }
      }
      return out;
    };`)(helpers);

  const result = (view, data, kind, keepdims) => wrap(data, keepdims ? view.kept : view.left, kind);

  add("sum", ["a", "axis", "dtype", "out", "keepdims"], (a, axis, dtype, out, keepdims = false) => {
    refuse("sum", { dtype, out });
    const view = along(a, axis);
    return result(view, total(view), widest("i", view.kind), keepdims);
  });
  add("mean", ["a", "axis", "dtype", "out", "keepdims"], (a, axis, dtype, out, keepdims = false) => {
    refuse("mean", { dtype, out });
    const view = along(a, axis);
    return result(view, total(view).map((sum) => sum / view.n), "f", keepdims);
  });

  const product = folding("value * x");
  add("prod", ["a", "axis", "dtype", "out", "keepdims"], (a, axis, dtype, out, keepdims = false) => {
    refuse("prod", { dtype, out });
    const view = along(a, axis);
    return result(view, product(view, 1), widest("i", view.kind), keepdims);
  });

  const extreme = (name, step, start) => {
    const fold = folding(step);
    add(name, ["a", "axis", "out", "keepdims", "initial"], (a, axis, out, keepdims = false, initial = start) => {
      refuse(name, { out });
      const view = along(a, axis);
      if (view.n === 0 && initial === start) fail(`${name} of no elements`);
      return result(view, fold(view, +initial), view.kind, keepdims);
    });
  };
  extreme("max", "f.greater(value, x)", -Infinity);
  extreme("min", "f.lesser(value, x)", Infinity);

  const truth = (name, step, start) => {
    const fold = folding(step);
    add(name, ["a", "axis", "out", "keepdims"], (a, axis, out, keepdims = false) => {
      refuse(name, { out });
      const view = along(a, axis);
      return result(view, fold(view, start), "b", keepdims);
    });
  };
  truth("any", "x !== 0 ? 1 : value", 0);
  truth("all", "x !== 0 ? value : 0", 1);

  const scan = (step, kindOfResult) => {
    const run = running(step);
    return (a, axis) => {
      const array = toArray(a);
      const lined = axis === undefined || axis === null ? nd.ravel(array) : array;
      return new nd.Array(run(along(lined, axis)), lined.shape, kindOfResult(array.kind));
    };
  };
  add("cumsum", ["a", "axis"], scan("value + x", (kind) => widest("i", kind)));
  add("cumprod", ["a", "axis"], scan("value * x", (kind) => widest("i", kind)));
  const highest = scan("f.greater(value, x)", (kind) => kind);
  nd.maximum.accumulate = nd.define("maximum.accumulate", ["array", "axis"], (array, axis = 0) => highest(array, axis));

  add("diff", ["a", "n", "axis"], (a, n = 1, axis = -1) => {
    if (n !== 1) fail("diff takes first differences only");
    const ndim = toArray(a).shape.length;
    const lead = new Array(axisOf(axis, ndim)).fill(nd.slice());
    return nd.subtract(nd.get(a, [...lead, nd.slice(1)]), nd.get(a, [...lead, nd.slice(null, -1)]));
  });
})();
