// Reading and writing parts of an array, by NumPy's rules: numbers, slices, an ellipsis, new axes, arrays of places.
(() => {
  "use strict";
  const { fail, kindOf, sizeOf, scalar, toArray, sameShape, copied, broadcastShapes, stepsOf, stepsWithin, copyInto,
    broadcastTo, axisOf, add } = nd.inner;

  class Slice {
    constructor(start, stop, step) {
      this.start = start;
      this.stop = stop;
      this.step = step;
    }

    // First place, how many, and how far apart, in an axis of n.
    within(n) {
      const step = this.step ?? 1;
      if (step === 0) fail("a slice cannot have a step of 0");
      const bound = (given, whole) => {
        if (given === null || given === undefined) return whole;
        const i = given < 0 ? given + n : given;
        return step > 0 ? Math.min(Math.max(i, 0), n) : Math.min(Math.max(i, -1), n - 1);
      };
      const start = bound(this.start, step > 0 ? 0 : n - 1);
      const stop = bound(this.stop, step > 0 ? n : -1);
      return [start, Math.max(0, Math.ceil((stop - start) / step)), step];
    }
  }

  nd.ellipsis = Object.freeze({ ellipsis: true });
  add("slice", ["start", "stop", "step"], (start = null, stop = null, step = null) => new Slice(start, stop, step));

  const placeIn = (i, n) => {
    const place = i < 0 ? i + n : i;
    const valid = Number.isInteger(place) && place >= 0 && place < n;
    return valid ? place : fail(`index ${i} is out of range for ${n} elements`);
  };

  // The places where a mask is true, one array for each of its axes.
  const nonzero = (mask) => {
    const count = mask.data.reduce((sum, x) => sum + (x !== 0 ? 1 : 0), 0);
    const places = mask.shape.map(() => new Float64Array(count));
    const steps = stepsOf(mask.shape);
    for (let i = 0, k = 0; i < mask.data.length; i++) {
      if (mask.data[i] === 0) continue;
      for (let axis = 0, rest = i; axis < steps.length; axis++) {
        places[axis][k] = Math.floor(rest / steps[axis]);
        rest %= steps[axis];
      }
      k++;
    }
    return places.map((data) => new nd.Array(data, [count], "i"));
  };

  const isPlaces = (item) => item instanceof nd.Array || Array.isArray(item);

  // Items without ellipsis or masks, as many as the array has axes (new axes aside).
  const expanded = (shape, items) => {
    const out = [];
    let axis = 0;
    const taken = items.reduce((sum, item) => sum + (item === null || item === nd.ellipsis ? 0
      : isPlaces(item) && kindOf(toArray(item)) === "b" ? toArray(item).shape.length : 1), 0);
    const left = shape.length - taken;
    if (left < 0) fail(`${taken} indices for an array of ${shape.length} dimensions`);
    const whole = new Slice(null, null, null);
    let open = true;
    for (const item of items) {
      if (item === nd.ellipsis) {
        if (!open) fail("an index can only have one ellipsis");
        open = false;
        for (let i = 0; i < left; i++) out.push(whole);
        axis += left;
      } else if (isPlaces(item)) {
        const places = toArray(item);
        if (places.kind === "b") {
          if (!sameShape(places.shape, shape.slice(axis, axis + places.shape.length))) {
            fail(`a mask of shape (${places.shape}) for axes of (${shape.slice(axis)})`);
          }
          out.push(...nonzero(places));
          axis += places.shape.length;
        } else {
          out.push(places);
          axis++;
        }
      } else {
        if (item !== null && typeof item !== "number" && !(item instanceof Slice)) fail(`${String(item)} is no index`);
        out.push(item);
        axis += item === null ? 0 : 1;
      }
    }
    if (open) for (let i = 0; i < left; i++) out.push(whole);
    return out;
  };

  // What numbers, slices and new axes select: {offset, shape, steps}. Axes with places are left out, and listed.
  const selected = (shape, items) => {
    const full = stepsOf(shape);
    const found = { offset: 0, shape: [], steps: [], places: [], at: null, apart: false };
    const some = items.some((item) => item instanceof nd.Array);
    let axis = 0;
    let last = -1; // the last item of places: those further on are apart from it
    items.forEach((item, i) => {
      if (item === null) {
        found.shape.push(1);
        found.steps.push(0);
        return;
      }
      const n = shape[axis];
      const step = full[axis++];
      if (item instanceof Slice) {
        const [start, count, gap] = item.within(n);
        found.offset += start * step;
        found.shape.push(count);
        found.steps.push(gap * step);
        return;
      }
      if (some) { // beside arrays of places a number is one too
        if (found.at === null) found.at = found.shape.length;
        else if (last !== i - 1) found.apart = true;
        last = i;
      }
      if (item instanceof nd.Array) found.places.push([item, n, step]);
      else found.offset += placeIn(item, n) * step;
    });
    return found;
  };

  const addOffsets = (offsets, places, n, step) => {
    for (let i = 0; i < offsets.length; i++) {
      const place = places[i] < 0 ? places[i] + n : places[i];
      if (!(place >= 0 && place < n) || Math.floor(place) !== place) {
        fail(`index ${places[i]} is out of range for ${n} elements`);
      }
      offsets[i] += place * step;
    }
  };

  // Offsets that arrays of places give, broadcast together: [shape, offsets].
  const offsetsOf = (places) => {
    const shape = broadcastShapes(places.map(([a]) => a.shape));
    const offsets = new Int32Array(sizeOf(shape));
    for (const [a, n, step] of places) addOffsets(offsets, broadcastTo(a, shape).data, n, step);
    return [shape, offsets];
  };

  // The offsets of all elements of some axes.
  const allOffsets = (shape, steps) => {
    const out = new Int32Array(sizeOf(shape));
    let filled = 1;
    if (out.length === 0) return out;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      for (let i = 1; i < shape[axis]; i++) {
        for (let k = 0; k < filled; k++) out[i * filled + k] = out[k] + i * steps[axis];
      }
      filled *= shape[axis];
    }
    return out;
  };

  // Where arrays of places take part: the shape selected, and offsets of its three runs of axes.
  const scattered = (chosen) => {
    const [shape, offsets] = offsetsOf(chosen.places);
    const at = chosen.apart ? 0 : chosen.at;
    const before = allOffsets(chosen.shape.slice(0, at), chosen.steps.slice(0, at));
    const after = allOffsets(chosen.shape.slice(at), chosen.steps.slice(at));
    return [[...chosen.shape.slice(0, at), ...shape, ...chosen.shape.slice(at)], before, offsets, after];
  };

  const gather = (data, out, start, before, offsets, after) => {
    let k = 0;
    if (before.length === 1 && after.length === 1) {
      for (; k < offsets.length; k++) out[k] = data[start + offsets[k]];
      return;
    }
    for (let b = 0; b < before.length; b++) {
      for (let i = 0; i < offsets.length; i++) {
        const from = start + before[b] + offsets[i];
        for (let a = 0; a < after.length; a++) out[k++] = data[from + after[a]];
      }
    }
  };

  const scatter = (data, values, start, before, offsets, after) => {
    let k = 0;
    for (let b = 0; b < before.length; b++) {
      for (let i = 0; i < offsets.length; i++) {
        const to = start + before[b] + offsets[i];
        for (let a = 0; a < after.length; a++) data[to + after[a]] = values[k++];
      }
    }
  };

  add("get", ["x", "items"], (x, items) => {
    const array = toArray(x);
    const { data, kind } = array;
    if (items.length === 1 && array.shape.length === 1 && typeof items[0] === "number") {
      return scalar(data[placeIn(items[0], data.length)], kind);
    }
    const chosen = selected(array.shape, expanded(array.shape, items));
    if (chosen.places.length) {
      const [shape, ...offsets] = scattered(chosen);
      const out = new Float64Array(sizeOf(shape));
      gather(data, out, chosen.offset, ...offsets);
      return shape.length ? new nd.Array(out, shape, kind) : scalar(out[0], kind);
    }
    if (chosen.shape.length === 0) return scalar(data[chosen.offset], kind);
    const out = new Float64Array(sizeOf(chosen.shape));
    copyInto(chosen.shape, [out, data], [0, chosen.offset], [stepsOf(chosen.shape), chosen.steps]);
    return new nd.Array(out, chosen.shape, kind);
  });

  // The values as they go into an array of that kind.
  const fitting = (value, kind) => {
    const a = toArray(value);
    if (kind === "b" && a.kind !== "b") return nd.astype(a, "bool");
    if (kind === "i" && a.kind === "f" && !a.data.every(Number.isInteger)) fail("a fraction is written into integers");
    return a;
  };

  add("set", ["x", "items", "value"], (x, items, value) => {
    if (!(x instanceof nd.Array)) fail("only an array can be written to");
    const { data, kind, shape } = x;
    const chosen = selected(shape, expanded(shape, items));
    const given = toArray(fitting(value, kind));
    // an array that is written to from itself is read first
    const values = given.data.buffer === data.buffer ? copied(given) : given;
    const squeezed = (target) => { // leading axes of length 1 of a value may be too many
      let { shape: lengths } = values;
      while (lengths.length > target.length && lengths[0] === 1) lengths = lengths.slice(1);
      return new nd.Array(values.data, lengths, values.kind);
    };
    if (chosen.places.length) {
      const [target, ...offsets] = scattered(chosen);
      scatter(data, broadcastTo(squeezed(target), target).data, chosen.offset, ...offsets);
    } else {
      copyInto(chosen.shape, [data, values.data], [chosen.offset, 0],
        [chosen.steps, stepsWithin(squeezed(chosen.shape).shape, chosen.shape)]);
    }
    return x;
  });

  add("take", ["a", "indices", "axis"], (a, indices, axis = null) => {
    if (axis === null) return nd.get(nd.ravel(a), [toPlaces(indices)]);
    const lead = new Array(axisOf(axis, toArray(a).shape.length)).fill(new Slice(null, null, null));
    return nd.get(a, [...lead, toPlaces(indices)]);
  });

  const toPlaces = (x) => (typeof x === "number" ? x : toArray(x));

  add("take_along_axis", ["arr", "indices", "axis"], (arr, indices, axis = -1) => {
    const [a, places] = [toArray(arr), toArray(indices)];
    const ndim = a.shape.length;
    if (places.shape.length !== ndim) fail("take_along_axis takes arrays of the same number of dimensions");
    const along = axisOf(axis, ndim);
    const range = (i) => nd.reshape(nd.arange(a.shape[i]), a.shape.map((n, k) => (k === i ? n : 1)));
    return nd.get(a, a.shape.map((_, i) => (i === along ? places : range(i))));
  });

  add("flatnonzero", ["a"], (a) => nonzero(nd.ravel(toArray(a)))[0]);
})();
