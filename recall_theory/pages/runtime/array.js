// n-dimensional arrays with NumPy's names and semantics: the array itself, how it is made, and the one loop that
// every elementwise function, copy and assignment runs through.
//
// An array's data are doubles whatever it holds (kind "f", "i" or "b": floats, integers, booleans as 0 and 1) and lie
// in C order without gaps. Numbers, booleans and nested lists are taken wherever an array is; a result of no
// dimensions is a number (a boolean of kind "b"). JavaScript does not tell 2.0 from 2: a whole number counts as an
// integer, which matters only where a fraction is written into an array of integers. That throws.
const nd = (() => {
  "use strict";

  const fail = (message) => {
    throw new Error(`nd: ${message}`);
  };

  class NDArray {
    constructor(data, shape, kind = "f") {
      this.data = data;
      this.shape = shape;
      this.kind = kind;
    }

    * [Symbol.iterator]() {
      if (this.shape.length === 0) fail("an array of no dimensions cannot be iterated over");
      for (let i = 0; i < this.shape[0]; i++) yield nd.get(this, [i]);
    }
  }

  // --- functions with Python's keyword arguments --------------------------------------------------------

  // f, with the names of its parameters for `call`. A name "*..." takes all further positional arguments; keywords
  // then come after them, as one plain object.
  const define = (name, params, f) => Object.assign(f, { title: name, params });

  const call = (f, positional, keywords) => {
    const { params, title } = f;
    if (!params) fail(`${title ?? f.name ?? "this function"} takes no keyword arguments`);
    const keys = Object.keys(keywords);
    for (const key of keys) if (!params.includes(key)) fail(`${title} has no keyword argument ${key}`);
    if (keys.length === 0) return f(...positional);
    if (params.some((name) => name.startsWith("*"))) return f(...positional, keywords);
    const values = [...positional];
    for (const [key, value] of Object.entries(keywords)) {
      const place = params.indexOf(key);
      if (place < positional.length) fail(`${title} got ${key} twice`);
      values[place] = value;
    }
    return f(...values);
  };

  // Arguments that NumPy has and that nothing here does: given ones throw.
  const refuse = (title, given) => {
    for (const [name, value] of Object.entries(given)) {
      if (value !== undefined && value !== null) fail(`${title} does not support ${name}`);
    }
  };

  // --- kinds ------------------------------------------------------------------------------------------

  const KINDS = { float: "f", int: "i", bool: "b" };
  const ORDER = "bif";

  const kindOfType = (dtype) => KINDS[dtype] ?? fail(`dtype ${String(dtype)} is not supported`);
  const kindOfNumber = (x) => (typeof x === "boolean" ? "b" : Number.isInteger(x) ? "i" : "f");
  const kindOf = (x) => (x instanceof NDArray ? x.kind : kindOfNumber(x));
  const widest = (...kinds) => ORDER[Math.max(...kinds.map((kind) => ORDER.indexOf(kind)))];

  // As x86 converts: towards zero, and what no integer can hold becomes the least one.
  const toInteger = (x) => (Math.abs(x) < 2 ** 63 ? Math.trunc(x) + 0 : -(2 ** 63));

  const integers = (data) => {
    const out = new Float64Array(data.length);
    for (let i = 0; i < out.length; i++) out[i] = toInteger(data[i]);
    return out;
  };

  const converted = (data, from, to) => {
    if (to === "i" && from === "f") return integers(data);
    if (to === "b" && from !== "b") return data.map((x) => (x !== 0 ? 1 : 0));
    return data;
  };

  // --- making arrays --------------------------------------------------------------------------------------

  const sizeOf = (shape) => {
    let size = 1;
    for (let i = 0; i < shape.length; i++) size *= shape[i];
    return size;
  };

  const scalar = (x, kind) => (kind === "b" ? x !== 0 : x);

  // An array, or the number that an array of no dimensions is.
  const wrap = (data, shape, kind) => (shape.length ? new NDArray(data, shape, kind) : scalar(data[0], kind));

  const fromList = (list) => {
    const parts = list.map(toArray);
    const shape = parts.length ? parts[0].shape : [];
    const size = sizeOf(shape);
    const data = new Float64Array(parts.length * size);
    parts.forEach((part, i) => {
      if (!sameShape(part.shape, shape)) fail("a list of lists of unequal shapes is no array");
      data.set(part.data, i * size);
    });
    return new NDArray(data, [parts.length, ...shape], parts.length ? widest(...parts.map((p) => p.kind)) : "f");
  };

  const toArray = (x) => {
    if (x instanceof NDArray) return x;
    if (typeof x === "number" || typeof x === "boolean") return new NDArray(Float64Array.of(x), [], kindOfNumber(x));
    if (Array.isArray(x)) return fromList(x);
    return fail(`${x === null ? "None" : typeof x} is no array`);
  };

  const astype = (x, dtype) => {
    const a = toArray(x);
    const kind = kindOfType(dtype);
    const data = converted(a.data, a.kind, kind);
    return wrap(data === a.data ? data.slice() : data, a.shape, kind);
  };

  const asarray = (x, dtype) => {
    const a = toArray(x);
    const kind = dtype === undefined || dtype === null ? a.kind : kindOfType(dtype);
    return kind === a.kind ? a : new NDArray(converted(a.data, a.kind, kind), a.shape, kind);
  };

  const copied = (a) => new NDArray(a.data.slice(), a.shape, a.kind);

  const toShape = (shape) => {
    const given = shape instanceof NDArray ? [...shape.data] : Array.isArray(shape) ? [...shape] : [shape];
    for (const n of given) if (!Number.isInteger(n) || n < 0) fail(`${n} is no length of an axis`);
    return given;
  };

  const filled = (shape, value, kind) => {
    const lengths = toShape(shape);
    const data = new Float64Array(sizeOf(lengths));
    return new NDArray(value === 0 ? data : data.fill(value), lengths, kind);
  };

  const sameShape = (a, b) => {
    if (a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
    return true;
  };

  // --- broadcasting ------------------------------------------------------------------------------------------

  const broadcastShapes = (shapes) => {
    const ndim = Math.max(0, ...shapes.map((shape) => shape.length));
    const out = new Array(ndim).fill(1);
    for (const shape of shapes) {
      const lead = ndim - shape.length;
      for (let i = 0; i < shape.length; i++) {
        const n = shape[i];
        if (n === 1 || n === out[lead + i]) continue;
        if (out[lead + i] !== 1) fail(`shapes ${shapes.map((s) => `(${s})`).join(" ")} do not broadcast`);
        out[lead + i] = n;
      }
    }
    return out;
  };

  // How far apart in the data the elements along each axis lie.
  const stepsOf = (shape) => {
    const steps = new Array(shape.length);
    for (let i = shape.length - 1, step = 1; i >= 0; i--) {
      steps[i] = step;
      step *= shape[i];
    }
    return steps;
  };

  // The same for an array of this shape that is repeated over `out`.
  const stepsWithin = (shape, out) => {
    const lead = out.length - shape.length;
    const steps = new Array(out.length).fill(0);
    if (lead < 0) fail(`shape (${shape}) does not broadcast to (${out})`);
    for (let i = shape.length - 1, step = 1; i >= 0; i--) {
      if (shape[i] !== 1) {
        if (shape[i] !== out[lead + i]) fail(`shape (${shape}) does not broadcast to (${out})`);
        steps[lead + i] = step;
        step *= shape[i];
      }
    }
    return steps;
  };

  // --- the loop ----------------------------------------------------------------------------------------------

  // As few axes as describe the same walk through all operands: [lengths, steps of each operand].
  const merged = (shape, steps) => {
    const lengths = [];
    const out = steps.map(() => []);
    for (let axis = 0; axis < shape.length; axis++) {
      if (shape[axis] === 1) continue;
      const last = lengths.length - 1;
      let joins = last >= 0;
      for (let k = 0; joins && k < steps.length; k++) joins = out[k][last] === steps[k][axis] * shape[axis];
      if (joins) {
        lengths[last] *= shape[axis];
        for (let k = 0; k < steps.length; k++) out[k][last] = steps[k][axis];
      } else {
        lengths.push(shape[axis]);
        for (let k = 0; k < steps.length; k++) out[k].push(steps[k][axis]);
      }
    }
    return [lengths, out];
  };

  // Compiles out[...] = expression of x0, x1, ... into walk(shape, data, offsets, steps), operand 0 being `out`. Each
  // has a text of its own, so that V8 specialises it for itself, and short functions, which it makes the fastest code
  // of: `line` along the last axis, `block` over the last two, and a counter over further axes. `f` is what else the
  // expression calls.
  const compile = (expression, arity, f) => {
    const all = Array.from({ length: arity + 1 }, (_, k) => k);
    const list = (text) => all.map(text).join(", ");
    const each = (text) => all.map(text).join(" ");
    const text = `
      "use strict";
      const line = (n, ${list((k) => `d${k}, i${k}, s${k}`)}) => {
        for (let j = 0; j < n; j++) {
          ${all.slice(1).map((k) => `const x${k - 1} = d${k}[i${k}];`).join(" ")}
          d0[i0] = ${expression};
          ${each((k) => `i${k} += s${k};`)}
        }
      };
      const block = (rows, n, ${list((k) => `d${k}, i${k}, r${k}, s${k}`)}) => {
        for (let i = 0; i < rows; i++) {
          line(n, ${list((k) => `d${k}, i${k}, s${k}`)});
          ${each((k) => `i${k} += r${k};`)}
        }
      };
      return (shape, data, offsets, steps) => {
        for (let i = 0; i < shape.length; i++) if (shape[i] === 0) return;
        const [${list((k) => `d${k}`)}] = data;
        let [${list((k) => `p${k}`)}] = offsets;
        const [lengths, step] = shape.length === 1 ? [shape, steps] : merged(shape, steps);
        const n = lengths.length;
        if (n < 2) {
          return line(n ? lengths[0] : 1, ${list((k) => `d${k}, p${k}, n ? step[${k}][0] : 0`)});
        }
        const count = new Array(n - 2).fill(0);
        for (;;) {
          block(lengths[n - 2], lengths[n - 1], ${list((k) => `d${k}, p${k}, step[${k}][n - 2], step[${k}][n - 1]`)});
          let axis = n - 3;
          for (; axis >= 0; axis--) {
            ${each((k) => `p${k} += step[${k}][axis];`)}
            if (++count[axis] < lengths[axis]) break;
            ${each((k) => `p${k} -= step[${k}][axis] * lengths[axis];`)}
            count[axis] = 0;
          }
          if (axis < 0) return;
        }
      };`;
    return new Function("merged", "f", text)(merged, f);
  };

  const copyInto = compile("x0", 1);

  // A number as an operand; one at each place, since operands are read before the next call.
  const SCRATCH = [0, 1, 2, 3, 4].map(() => new Float64Array(1));
  const ZEROS = Array.from({ length: 8 }, (_, n) => new Array(n).fill(0));
  const OFFSETS = [0, 0, 0, 0, 0, 0];
  const ONE = [1];
  const NONE = [];

  const operand = (x, place) => {
    if (typeof x !== "number" && typeof x !== "boolean") return toArray(x);
    SCRATCH[place][0] = x;
    return new NDArray(SCRATCH[place], NONE, kindOfNumber(x));
  };

  // The elementwise function of a compiled walk over broadcast operands, its kind a function of theirs.
  const broadcast = (walk, operands, kind, out) => {
    let shape = operands[0].shape;
    let alike = true;
    for (let k = 1; k < operands.length; k++) {
      const other = operands[k].shape;
      if (other.length === 0 || other === shape || sameShape(other, shape)) continue;
      if (shape.length === 0) shape = other;
      else alike = false;
    }
    if (!alike) shape = broadcastShapes(operands.map((a) => a.shape));
    const size = sizeOf(shape);
    const result = out && writable(out, shape, kind, operands) ? out.data : new Float64Array(size);
    const data = [result, ...operands.map((a) => a.data)];
    if (alike) {
      walk([size], data, OFFSETS, [ONE, ...operands.map((a) => (a.shape.length ? ONE : ZEROS[1]))]);
    } else {
      walk(shape, data, OFFSETS, [stepsOf(shape), ...operands.map((a) => stepsWithin(a.shape, shape))]);
    }
    if (!out) return wrap(result, shape, kind);
    if (result !== out.data) out.data.set(result);
    return out;
  };

  // Whether a result can be written to `out` at once: what shares memory with it is then read in the same order.
  const writable = (out, shape, kind, operands) => {
    if (!sameShape(out.shape, shape)) fail(`out has shape (${out.shape}), the result (${shape})`);
    if (widest(out.kind, kind) !== out.kind) fail(`a result of kind ${kind} does not fit into kind ${out.kind}`);
    return operands.every((a) => a.data.buffer !== out.data.buffer || sameShape(a.shape, shape));
  };

  // f(x, y, ...) of numbers as a function of arrays too.
  const lift = (f, arity) => {
    const walk = compile(`f(${Array.from({ length: arity }, (_, k) => `x${k}`).join(", ")}) /* ${f.name} */`, arity, f);
    return (...given) => {
      const values = given.slice(0, arity);
      if (values.length < arity) fail(`${f.name} takes ${arity} arguments`);
      if (values.every((x) => typeof x === "number")) return f(...values);
      return broadcast(walk, values.map(operand), "f", given[arity]);
    };
  };

  const broadcastTo = (x, shape) => {
    const a = toArray(x);
    const lengths = toShape(shape);
    if (sameShape(a.shape, lengths)) return a;
    const data = new Float64Array(sizeOf(lengths));
    copyInto(lengths, [data, a.data], OFFSETS, [stepsOf(lengths), stepsWithin(a.shape, lengths)]);
    return new NDArray(data, lengths, a.kind);
  };

  const axisOf = (axis, ndim) => {
    const i = axis < 0 ? axis + ndim : axis;
    return Number.isInteger(i) && i >= 0 && i < ndim ? i : fail(`axis ${axis} of an array of ${ndim} dimensions`);
  };

  const nd = {
    Array: NDArray, define, call, lift,
    pi: Math.PI, inf: Infinity, nan: NaN,
    float64: "float", intp: "int", int64: "int", bool_: "bool",
    // what the runtime's other files build on
    inner: {
      fail, refuse, kindOf, kindOfNumber, widest, sizeOf, scalar, wrap, toArray, toShape, copied, sameShape,
      broadcastShapes, stepsOf, stepsWithin, compile, copyInto, operand, broadcast, broadcastTo, axisOf,
      add: (name, params, f) => {
        nd[name] = define(name, params, f);
      },
    },
  };
  const { add } = nd.inner;

  add("finfo", ["dtype"], (dtype) => {
    if (kindOfType(dtype) !== "f") fail("finfo takes a type of floats");
    return { eps: 2 ** -52, epsneg: 2 ** -53, tiny: 2 ** -1022, max: Number.MAX_VALUE, min: -Number.MAX_VALUE };
  });
  add("asarray", ["a", "dtype"], asarray);
  add("ascontiguousarray", ["a", "dtype"], (a, dtype) => {
    const found = asarray(a, dtype);
    return found.shape.length ? found : new NDArray(found.data, [1], found.kind);
  });
  add("array", ["object", "dtype"], (x, dtype) => {
    const a = asarray(x, dtype);
    return a === x ? copied(a) : a;
  });
  add("astype", ["a", "dtype"], astype);
  add("copy", ["a"], (a) => wrap(toArray(a).data.slice(), toArray(a).shape, kindOf(toArray(a))));
  add("zeros", ["shape", "dtype"], (shape, dtype = "float") => filled(shape, 0, kindOfType(dtype)));
  add("empty", ["shape", "dtype"], (shape, dtype = "float") => filled(shape, 0, kindOfType(dtype)));
  add("ones", ["shape", "dtype"], (shape, dtype = "float") => filled(shape, 1, kindOfType(dtype)));
  add("zeros_like", ["a", "dtype"], (a, dtype) => {
    const { shape, kind } = toArray(a);
    return filled(shape, 0, dtype === undefined ? kind : kindOfType(dtype));
  });
  add("ones_like", ["a", "dtype"], (a, dtype) => {
    const { shape, kind } = toArray(a);
    return filled(shape, 1, dtype === undefined ? kind : kindOfType(dtype));
  });
  add("full", ["shape", "fill_value", "dtype"], (shape, value, dtype) => {
    const kind = dtype === undefined ? kindOf(toArray(value)) : kindOfType(dtype);
    const out = filled(shape, 0, kind);
    return nd.set(out, [nd.ellipsis], value), out;
  });
  add("eye", ["N"], (n) => {
    const out = filled([n, n], 0, "f");
    for (let i = 0; i < n; i++) out.data[i * (n + 1)] = 1;
    return out;
  });
  add("arange", ["start", "stop", "step"], (start, stop, step = 1) => {
    const [first, end] = stop === undefined || stop === null ? [0, start] : [start, stop];
    const n = Math.max(0, Math.ceil((end - first) / step));
    const gap = first + step - first; // NumPy goes by the first two values
    const data = new Float64Array(n);
    for (let i = 0; i < n; i++) data[i] = first + i * gap;
    return new NDArray(data, [n], widest(...[first, end, step].map(kindOfNumber), "i"));
  });
  add("linspace", ["start", "stop", "num"], (start, stop, num = 50) => {
    const data = new Float64Array(num);
    const gaps = num - 1;
    const step = (stop - start) / gaps;
    for (let i = 0; i < num; i++) data[i] = (step === 0 ? i / gaps * (stop - start) : gaps > 0 ? i * step : 0) + start;
    if (num > 1) data[num - 1] = stop;
    return new NDArray(data, [num], "f");
  });
  add("tolist", ["a"], (x) => {
    const { data, shape, kind } = toArray(x);
    const list = (axis, from, size) => {
      if (axis === shape.length) return scalar(data[from], kind);
      const part = shape[axis] ? size / shape[axis] : 0;
      return Array.from({ length: shape[axis] }, (_, i) => list(axis + 1, from + i * part, part));
    };
    return list(0, 0, data.length);
  });
  add("flat", ["a"], (x) => Array.from(toArray(x).data, (value) => scalar(value, kindOf(toArray(x)))));
  add("item", ["a"], (x) => {
    const { data, kind } = toArray(x);
    return data.length === 1 ? scalar(data[0], kind) : fail("item takes an array of one element");
  });
  add("shape_of", ["a"], (a) => [...toArray(a).shape]);
  add("ndim_of", ["a"], (a) => toArray(a).shape.length);
  add("size_of", ["a"], (a) => toArray(a).data.length);
  add("ndim", ["a"], nd.ndim_of);
  return nd;
})();
