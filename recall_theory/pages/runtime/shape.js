// Arrays in other shapes, joined, cut and repeated. A reshaped array shares its data, as NumPy's views do.
(() => {
  "use strict";
  const { fail, refuse, widest, sizeOf, wrap, toArray, toShape, sameShape, broadcastShapes, stepsOf, copyInto, copied,
    broadcastTo, axisOf, add } = nd.inner;

  const shapeFrom = (given) => (given.length === 1 && typeof given[0] !== "number"
    ? (given[0] instanceof nd.Array ? [...given[0].data] : [...given[0]]) : given);

  const reshaped = (x, given) => {
    const a = toArray(x);
    const shape = [...given];
    const open = shape.indexOf(-1);
    if (open >= 0) {
      const rest = sizeOf(shape) / -1;
      shape[open] = rest === 0 ? 0 : a.data.length / rest;
    }
    if (shape.some((n) => !Number.isInteger(n) || n < 0) || sizeOf(shape) !== a.data.length) {
      fail(`an array of shape (${a.shape}) cannot take the shape (${given})`);
    }
    return new nd.Array(a.data, shape, a.kind);
  };

  // The axes in another order.
  const permuted = (x, order) => {
    const a = toArray(x);
    const shape = order.map((axis) => a.shape[axis]);
    const steps = stepsOf(a.shape);
    const data = new Float64Array(a.data.length);
    copyInto(shape, [data, a.data], [0, 0], [stepsOf(shape), order.map((axis) => steps[axis])]);
    return new nd.Array(data, shape, a.kind);
  };

  const listOf = (x) => (typeof x === "number" ? [x] : x);
  const range = (n) => Array.from({ length: n }, (_, i) => i);

  add("reshape", ["a", "*shape"], (a, ...shape) => reshaped(a, shapeFrom(shape)));
  add("ravel", ["a"], (a) => reshaped(a, [-1]));
  add("flatten", ["a"], (a) => copied(reshaped(a, [-1])));
  add("transpose", ["a", "*axes"], (a, ...axes) => {
    const ndim = toArray(a).shape.length;
    const given = axes.length === 0 || axes[0] === null ? range(ndim).reverse() : shapeFrom(axes);
    const order = given.map((axis) => axisOf(axis, ndim));
    if (new Set(order).size !== ndim) fail(`(${given}) is no order of ${ndim} axes`);
    return permuted(a, order);
  });
  add("T", ["a"], (a) => nd.transpose(a));
  add("swapaxes", ["a", "axis1", "axis2"], (a, axis1, axis2) => {
    const order = range(toArray(a).shape.length);
    const [i, j] = [axisOf(axis1, order.length), axisOf(axis2, order.length)];
    [order[i], order[j]] = [j, i];
    return permuted(a, order);
  });
  add("moveaxis", ["a", "source", "destination"], (a, source, destination) => {
    const ndim = toArray(a).shape.length;
    const [from, to] = [axisOf(source, ndim), axisOf(destination, ndim)];
    const order = range(ndim).filter((axis) => axis !== from);
    order.splice(to, 0, from);
    return permuted(a, order);
  });
  add("expand_dims", ["a", "axis"], (x, axis) => {
    const a = toArray(x);
    const axes = listOf(axis);
    const ndim = a.shape.length + axes.length;
    const places = new Set(axes.map((one) => axisOf(one, ndim)));
    if (places.size < axes.length) fail("expand_dims was given an axis twice");
    const lengths = [...a.shape];
    return reshaped(a, range(ndim).map((i) => (places.has(i) ? 1 : lengths.shift())));
  });
  add("squeeze", ["a", "axis"], (x, axis = null) => {
    const a = toArray(x);
    const gone = axis === null ? range(a.shape.length).filter((i) => a.shape[i] === 1)
      : listOf(axis).map((one) => axisOf(one, a.shape.length));
    if (gone.some((i) => a.shape[i] !== 1)) fail("only axes of length 1 can be squeezed out");
    return wrap(a.data, a.shape.filter((_, i) => !gone.includes(i)), a.kind);
  });
  add("atleast_1d", ["a"], (x) => {
    const a = toArray(x);
    return a.shape.length ? a : reshaped(a, [1]);
  });

  add("broadcast_to", ["array", "shape"], broadcastTo);
  add("broadcast_shapes", ["*args"], (...shapes) => broadcastShapes(shapes.map(toShape)));
  add("broadcast_arrays", ["*args"], (...given) => {
    const arrays = given.map(toArray);
    const shape = broadcastShapes(arrays.map((a) => a.shape));
    return arrays.map((a) => broadcastTo(a, shape));
  });
  add("meshgrid", ["*xi", "indexing"], (...given) => {
    const options = given.length && given.at(-1).constructor === Object ? given.pop() : {};
    if (options.indexing !== "ij") refuse("meshgrid", { "an indexing other than ij": options.indexing ?? "xy" });
    const axes = given.map((x) => nd.ravel(x));
    const shape = axes.map((a) => a.data.length);
    return axes.map((a, i) => copied(broadcastTo(reshaped(a, shape.map((n, k) => (k === i ? n : 1))), shape)));
  });

  // --- joining and cutting -----------------------------------------------------------------------------------

  add("concatenate", ["arrays", "axis"], (arrays, axis = 0) => {
    const parts = Array.from(arrays, axis === null ? nd.ravel : toArray);
    if (parts.length === 0) fail("there is nothing to concatenate");
    const ndim = parts[0].shape.length;
    const along = axisOf(axis ?? 0, ndim);
    const shape = [...parts[0].shape];
    shape[along] = 0;
    for (const part of parts) {
      if (part.shape.length !== ndim || part.shape.some((n, i) => i !== along && n !== shape[i])) {
        fail(`shapes (${parts[0].shape}) and (${part.shape}) cannot be concatenated along axis ${along}`);
      }
      shape[along] += part.shape[along];
    }
    const data = new Float64Array(sizeOf(shape));
    const steps = stepsOf(shape);
    let start = 0;
    for (const part of parts) {
      copyInto(part.shape, [data, part.data], [start * steps[along], 0], [steps, stepsOf(part.shape)]);
      start += part.shape[along];
    }
    return new nd.Array(data, shape, widest(...parts.map((part) => part.kind)));
  });
  add("stack", ["arrays", "axis"], (arrays, axis = 0) => {
    const parts = Array.from(arrays, toArray);
    if (parts.some((part) => !sameShape(part.shape, parts[0].shape))) fail("stack takes arrays of one shape");
    return nd.concatenate(parts.map((part) => nd.expand_dims(part, axis)), axis);
  });
  add("append", ["arr", "values", "axis"], (arr, values, axis = null) => nd.concatenate([arr, values], axis));
  add("split", ["ary", "indices_or_sections", "axis"], (ary, places, axis = 0) => {
    if (typeof places === "number") refuse("split", { "a number of sections": places });
    const lead = new Array(axisOf(axis, toArray(ary).shape.length)).fill(nd.slice());
    const ends = [0, ...nd.flat(places), null];
    return ends.slice(1).map((end, i) => nd.get(ary, [...lead, nd.slice(ends[i], end)]));
  });

  // --- repeating --------------------------------------------------------------------------------------------------

  add("repeat", ["a", "repeats", "axis"], (a, repeats, axis = null) => {
    if (axis === null) return nd.repeat(nd.ravel(a), repeats, 0);
    const along = axisOf(axis, toArray(a).shape.length);
    const n = toArray(a).shape[along];
    const counts = broadcastTo(repeats, [n]).data;
    const places = new Float64Array(counts.reduce((sum, count) => sum + count, 0));
    for (let i = 0, k = 0; i < n; i++) for (let j = 0; j < counts[i]; j++) places[k++] = i;
    return nd.take(a, new nd.Array(places, [places.length], "i"), along);
  });
  add("tile", ["A", "reps"], (x, reps) => {
    const a = toArray(x);
    const times = toShape(reps);
    const ndim = Math.max(times.length, a.shape.length);
    const lengths = [...new Array(ndim - a.shape.length).fill(1), ...a.shape];
    const counts = [...new Array(ndim - times.length).fill(1), ...times];
    const between = reshaped(a, lengths.flatMap((n) => [1, n]));
    return reshaped(copied(broadcastTo(between, lengths.flatMap((n, i) => [counts[i], n]))),
      lengths.map((n, i) => n * counts[i]));
  });
  add("pad", ["array", "pad_width", "mode"], (x, width, mode = "constant") => {
    const a = toArray(x);
    if (mode !== "edge" && mode !== "constant") refuse("pad", { [`mode ${mode}`]: mode });
    const widths = broadcastTo(width, [a.shape.length, 2]).data;
    let out = a;
    a.shape.forEach((n, axis) => {
      const [before, after] = [widths[2 * axis], widths[2 * axis + 1]];
      if (before === 0 && after === 0) return;
      if (n === 0 && mode === "edge") fail("an axis without elements has no edge");
      const beside = (count, i) => {
        const shape = out.shape.map((length, k) => (k === axis ? count : length));
        if (mode === "constant") return nd.zeros(shape);
        return broadcastTo(nd.take(out, new nd.Array(Float64Array.of(i), [1], "i"), axis), shape);
      };
      const { kind } = out;
      out = nd.concatenate([beside(before, 0), out, beside(after, -1)], axis);
      out.kind = kind;
    });
    return out === a ? copied(a) : out;
  });
})();
