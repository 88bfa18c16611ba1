// What the translated functions ask of Python itself: operators, built-in functions, lists, dicts and objects.
// Lists and tuples are JavaScript arrays, dicts are Maps, None is null; numbers go their own short way past `nd`.
const py = (() => {
  "use strict";

  const isNumber = (x) => typeof x === "number" || typeof x === "boolean";

  // --- operators ----------------------------------------------------------------------------------------

  const binary = (name, plain) => {
    const wide = nd[name];
    return (a, b) => {
      if (typeof a === "number" && typeof b === "number") return plain(a, b);
      return isNumber(a) && isNumber(b) ? plain(Number(a), Number(b)) : wide(a, b);  // True counts as 1
    };
  };
  const add = (a, b) => {
    if (isNumber(a) && isNumber(b)) return a + b;
    if (Array.isArray(a) && Array.isArray(b)) return [...a, ...b];
    return typeof a === "string" ? a + b : nd.add(a, b);
  };
  const multiply = (a, b) => {
    if (isNumber(a) && isNumber(b)) return a * b;
    if (Array.isArray(a) && typeof b === "number") return Array.from({length: b}, () => a).flat();
    return nd.multiply(a, b);
  };
  const bitwiseOr = (a, b) => (a instanceof Map ? new Map([...a, ...b]) : nd.bitwise_or(a, b));

  const plain = (x) => x === null || x === undefined || isNumber(x) || typeof x === "string";
  const equal = (a, b) => {
    if (isNumber(a) && isNumber(b)) return Number(a) === Number(b);
    if (plain(a) && plain(b)) return same(a, b);
    if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((x, i) => equal(x, b[i]));
    return nd.equal(a, b);
  };
  const notEqual = (a, b) => {
    const alike = equal(a, b);
    return typeof alike === "boolean" ? !alike : nd.not_equal(a, b);
  };
  const same = (a, b) => (a ?? null) === (b ?? null);
  const within = (x, container) => {
    if (container instanceof Map) return container.has(x);
    return typeof container === "string" ? container.includes(x) : container.some((other) => equal(x, other));
  };

  const truth = (x) => {
    if (x === null || x === undefined) return false;
    if (isNumber(x)) return Boolean(x) || Number.isNaN(x);
    if (typeof x === "string" || Array.isArray(x)) return x.length > 0;
    if (x instanceof Map) return x.size > 0;
    if (x instanceof nd.Array) {
      if (x.data.length !== 1) throw Error("py: the truth of an array of several values");
      return truth(x.data[0]);
    }
    return true;
  };
  const and = (a, b) => (truth(a) ? b() : a);
  const or = (a, b) => (truth(a) ? a : b());

  // --- lists and indices ------------------------------------------------------------------------------------

  const list = (x) => {
    if (Array.isArray(x)) return x;
    if (x instanceof nd.Array) return Array.from({length: x.shape[0]}, (_, i) => nd.get(x, [i]));
    if (x instanceof Map) return [...x.keys()];
    if (x !== null && x !== undefined && x[Symbol.iterator]) return [...x];
    throw Error(`py: ${typeof x} is nothing to go through`);
  };
  const unpack = (x, size) => {
    const parts = list(x);
    if (size !== undefined && parts.length !== size) throw Error(`py: ${parts.length} values for ${size} names`);
    return parts;
  };
  const sliced = (x, {start, stop, step}) => {
    if (step !== null && step !== undefined && step !== 1) throw Error("py: a step through a list");
    return x.slice(start ?? 0, stop ?? x.length);
  };
  const place = (x, index) => (index < 0 ? x.length + index : index);
  const item = (x, indices) => {
    if (x instanceof nd.Array) return nd.get(x, indices);
    if (isNumber(x)) return indices.length ? nd.get(nd.asarray(x), indices) : x;
    const index = indices[0];
    if (x instanceof Map) {
      if (!x.has(index)) throw Error(`py: no key ${index}`);
      return x.get(index);
    }
    if (Array.isArray(x) || typeof x === "string") return typeof index === "number" ? x[place(x, index)] : sliced(x, index);
    return x.__getitem__(index);
  };
  const setItem = (x, indices, value) => {
    if (x instanceof nd.Array) nd.set(x, indices, value);
    else if (x instanceof Map) x.set(indices[0], value);
    else x[place(x, indices[0])] = value;
  };

  // --- attributes and methods ---------------------------------------------------------------------------

  const ofArrays = {
    shape: (x) => nd.shape_of(x), ndim: (x) => nd.ndim_of(x), size: (x) => nd.size_of(x), T: (x) => nd.T(x),
    flat: (x) => nd.flat(x), real: (x) => x, flags: () => ({}),
  };
  const property = (x, name) => (x instanceof nd.Array || isNumber(x) ? ofArrays[name](x) : x[name]);

  // Arguments in their places, keywords among them; one that is left out is undefined.
  const bind = (names, args, keywords) => names.map((name, i) => (i < args.length ? args[i] : keywords[name]));

  const ofMaps = {
    items: (x) => [...x.entries()], keys: (x) => [...x.keys()], values: (x) => [...x.values()], copy: (x) => new Map(x),
    get: (x, key, otherwise = null) => (x.has(key) ? x.get(key) : otherwise),
  };
  const ofLists = {
    append: (x, value) => { x.push(value); return null; },
    index: (x, value) => x.findIndex((other) => equal(value, other)),
    copy: (x) => [...x],
  };
  const ofTexts = {startswith: (x, start) => x.startsWith(start), join: (x, parts) => list(parts).join(x)};
  const ownMethods = (x) => (x instanceof Map ? ofMaps : Array.isArray(x) ? ofLists : typeof x === "string" ? ofTexts : {});
  const method = (x, name, args, keywords) => {
    if (x instanceof nd.Array || isNumber(x)) {
      return keywords === undefined ? nd[name](x, ...args) : nd.call(nd[name], [x, ...args], keywords);
    }
    const own = ownMethods(x)[name];
    if (own !== undefined) return own(x, ...args);
    return x[name](...(keywords === undefined ? args : bind(x[name].params, args, keywords)));
  };
  const call = (f, ...args) => (typeof f === "function" ? f(...args) : f.__call__(...args));

  // Results by their arguments: numbers, texts, or objects that are told apart by who they are.
  const memo = (f) => {
    const known = new Map(), marks = new Map();
    const mark = (x) => {
      if (plain(x)) return `${typeof x} ${x}`;
      if (!marks.has(x)) marks.set(x, `object ${marks.size}`);
      return marks.get(x);
    };
    return (...args) => {
      const key = args.map(mark).join("|");
      if (!known.has(key)) {
        if (known.size >= 64) known.delete(known.keys().next().value);
        known.set(key, f(...args));
      }
      return known.get(key);
    };
  };

  // --- built-in functions -----------------------------------------------------------------------------------

  const order = (a, b) => {
    if (!Array.isArray(a)) return a < b ? -1 : a > b ? 1 : 0;
    for (let i = 0; i < Math.min(a.length, b.length); i += 1) {
      const first = order(a[i], b[i]);
      if (first !== 0) return first;
    }
    return a.length - b.length;
  };
  const range = (start, stop, step = 1) => {
    if (stop === undefined) [start, stop] = [0, start];
    const out = [];
    for (let i = start; step > 0 ? i < stop : i > stop; i += step) out.push(i);
    return out;
  };
  const zip = (...given) => {
    const parts = given.map(list);
    return Array.from({length: Math.min(...parts.map((p) => p.length))}, (_, i) => parts.map((p) => p[i]));
  };
  const best = (better) => nd.define("best", ["*given", "key"], (...given) => {
    const key = given[given.length - 1]?.key;  // keywords come last, as an object
    if (key) given.pop();
    const among = given.length === 1 ? list(given[0]) : given;
    return among.reduce(key ? (a, b) => (better(key(b), key(a)) ? b : a) : (a, b) => (better(b, a) ? b : a));
  });
  const number = (x) => (x instanceof nd.Array ? nd.item(x) : Number(x));
  const round = (x) => {  // halves go to the even neighbour
    const down = Math.floor(x), beyond = x - down;
    return beyond < 0.5 || (beyond === 0.5 && down % 2 === 0) ? down : down + 1;
  };
  const text = (x) => (x === null || x === undefined ? "None" : x === true ? "True" : x === false ? "False" : String(x));
  const general = (x, digits) => {  // the format "g": so many digits, no zeros at the end
    if (!Number.isFinite(x) || x === 0) return Number.isNaN(x) ? "nan" : String(x).replace("Infinity", "inf");
    const [mantissa, power] = x.toExponential(digits - 1).split("e");
    const shorn = (written) => (written.includes(".") ? written.replace(/\.?0+$/, "") : written);
    const e = Number(power);
    if (e >= -4 && e < digits) return shorn(x.toFixed(Math.max(digits - 1 - e, 0)));
    return `${shorn(mantissa)}e${e < 0 ? "-" : "+"}${String(Math.abs(e)).padStart(2, "0")}`;
  };
  const comb = (n, k) => {
    let ways = 1;
    for (let i = 1; i <= k; i += 1) ways = ways * (n - k + i) / i;
    return Math.round(ways);
  };
  const dataclasses = {
    replace: (x, changes) => Object.assign(Object.create(Object.getPrototypeOf(x)), x, changes),
    astuple: (x) => Object.values(x),
    fields: (x) => Object.keys(x).map((name) => ({name})),
  };
  // Bits are counted in 50 digits there and in doubles here: the same up to some 2^50 bits, but where V! is 2^(P b) to 1e-13.
  const mpmath = {mpf: (x) => (x === 1e-30 ? 1e-13 : x), log: Math.log, loggamma: (x) => special.gammaln(x)};
  const error = (kind, args) => Object.assign(Error(args[args.length - 1]), {kind, parameter: args.length > 1 ? args[0] : null});

  return {
    add, subtract: binary("subtract", (a, b) => a - b), multiply, divide: binary("divide", (a, b) => a / b),
    power: binary("power", (a, b) => a ** b), floor_divide: binary("floor_divide", (a, b) => Math.floor(a / b)),
    remainder: binary("remainder", (a, b) => a - b * Math.floor(a / b)), matmul: (a, b) => nd.matmul(a, b),
    bitwise_and: (a, b) => nd.bitwise_and(a, b), bitwise_or: bitwiseOr,
    negative: (a) => (typeof a === "number" ? -a : nd.negative(a)),
    less: binary("less", (a, b) => a < b), less_equal: binary("less_equal", (a, b) => a <= b),
    greater: binary("greater", (a, b) => a > b), greater_equal: binary("greater_equal", (a, b) => a >= b),
    equal, not_equal: notEqual, same, not_same: (a, b) => !same(a, b), within, not_within: (x, c) => !within(x, c),
    truth, and, or, list, tuple: list, unpack, item, set_item: setItem, property, method, call, bind, memo, error,
    len: (x) => (x instanceof nd.Array ? x.shape[0] : x instanceof Map ? x.size : x.length),
    range, zip, enumerate: (x) => list(x).map((value, i) => [i, value]), reversed: (x) => [...list(x)].reverse(),
    sorted: (x) => [...list(x)].sort(order),
    set: (x) => [...new Map(list(x).map((value) => [JSON.stringify(value), value])).values()],
    sum: (x, start = 0) => list(x).reduce(add, start), any: (x) => list(x).some(truth), all: (x) => list(x).every(truth),
    min: best((a, b) => a < b), max: best((a, b) => a > b), abs: (x) => (typeof x === "number" ? Math.abs(x) : nd.abs(x)),
    float: number, int: (x) => Math.trunc(number(x)), bool: truth, round, dict: (x) => new Map(x ?? []), str: text, general,
    repr: (x) => (typeof x === "string" ? `'${x}'` : text(x)), getattr: (x, name) => x[name], next: (x) => list(x)[0],
    isinstance: () => { throw Error("py: isinstance is not known"); },
    math: {inf: Infinity, floor: Math.floor, ceil: Math.ceil, log: Math.log, exp: Math.exp, expm1: Math.expm1, sqrt: Math.sqrt, comb},
    dataclasses, mpmath, no_modules: new Map(), whole: nd.slice(null, null, null),
  };
})();
