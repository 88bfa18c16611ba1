// Operators and elementwise functions. An expression is compiled twice: for numbers, and into a loop over arrays.
(() => {
  "use strict";
  const { fail, refuse, kindOf, kindOfNumber, widest, scalar, toArray, compile, operand, broadcast, add } = nd.inner;

  // --- what takes more than an expression -------------------------------------------------------------------

  const helpers = {
    // C's pow; JavaScript's has NaN where the base is 1 or -1 and the exponent infinite or NaN.
    power: (x, y) => (x === 1 || (x === -1 && (y === Infinity || y === -Infinity)) ? 1 : Math.pow(x, y)),
    negative: (x) => x < 0 || (x === 0 && 1 / x < 0),
    // where x is not between both, by chance or because one of them is NaN
    clipped: (x, low, high) => {
      const above = x > low || x !== x ? x : low;
      return above < high || above !== above ? above : high;
    },
    // of the divisor's sign
    remainder: (x, y) => {
      const r = x % y;
      if (r === 0) return helpers.negative(y) ? -0 : 0;
      return r < 0 !== y < 0 && r === r ? r + y : r;
    },
    floorDivide: (x, y) => {
      if (y === 0) return x / y;
      const r = x % y;
      const quotient = (x - r) / y - (r !== 0 && r < 0 !== y < 0 ? 1 : 0);
      if (quotient === 0) return helpers.negative(x / y) ? -0 : 0;
      const whole = Math.floor(quotient);
      return quotient - whole > 1 / 2 ? whole + 1 : whole;
    },
    // Halves go to even numbers: next to 2^52 there is no room for a fraction.
    rint: (x) => {
      const room = 2 ** 52;
      if (!(Math.abs(x) < room)) return x;
      return helpers.negative(x) ? -(room - x - room) : x + room - room;
    },
  };

  // --- kinds of results -------------------------------------------------------------------------------------

  const float = () => "f";
  const bool = () => "b";
  const same = (...kinds) => widest(...kinds);
  const number = (...kinds) => widest("i", ...kinds);
  const arithmetic = (...kinds) => {
    const kind = widest(...kinds);
    return kind === "b" ? fail("arithmetic on booleans alone: NumPy's has its own rules") : kind;
  };
  const logical = (...kinds) => (widest(...kinds) === "b" ? "b" : fail("&, | and ~ take arrays of booleans"));

  // --- compiled functions -----------------------------------------------------------------------------------

  const elementwise = (name, expression, params, kindOfResult) => {
    const arity = params.length;
    const text = `${expression} /* ${name} */`;
    const variables = params.map((_, k) => `x${k}`).join(", ");
    const ofNumbers = new Function("f", `"use strict"; return (${variables}) => ${text};`)(helpers);
    const walk = compile(text, arity, helpers);
    const kind = kindOfResult;
    const f = arity === 1 ? (x, out) => {
      if (typeof x === "number") return scalar(ofNumbers(x), kind(kindOfNumber(x)));
      const a = operand(x, 0);
      return broadcast(walk, [a], kind(a.kind), out);
    } : arity === 2 ? (x, y, out) => {
      if (typeof x === "number" && typeof y === "number") return scalar(ofNumbers(x, y), kind("f", "f"));
      const a = operand(x, 0);
      const b = operand(y, 1);
      return broadcast(walk, [a, b], kind(a.kind, b.kind), out);
    } : (...given) => {
      const operands = params.map((_, k) => operand(given[k], k));
      return broadcast(walk, operands, kind(...operands.map((a) => a.kind)), given[arity]);
    };
    return nd.define(name, [...params, "out"], f);
  };

  const unary = (table, kind) => {
    for (const [name, text] of Object.entries(table)) nd[name] = elementwise(name, text, ["x"], kind);
  };
  const binary = (table, kind) => {
    for (const [name, text] of Object.entries(table)) nd[name] = elementwise(name, text, ["x1", "x2"], kind);
  };

  unary({ negative: "-x0" }, arithmetic);
  unary({
    abs: "Math.abs(x0)", sign: "x0 > 0 ? 1 : x0 < 0 ? -1 : x0 === 0 ? 0 : x0",
    floor: "Math.floor(x0)", ceil: "Math.ceil(x0)",
  }, same);
  unary({
    rint: "f.rint(x0)",
    sqrt: "Math.sqrt(x0)", cbrt: "Math.cbrt(x0)",
    exp: "Math.exp(x0)", exp2: "Math.pow(2, x0)", tanh: "Math.tanh(x0)", expm1: "Math.expm1(x0)",
    log: "Math.log(x0)", log2: "Math.log2(x0)", log1p: "Math.log1p(x0)",
    sin: "Math.sin(x0)", cos: "Math.cos(x0)", arcsin: "Math.asin(x0)",
  }, float);
  unary({ isfinite: "x0 - x0 === 0 ? 1 : 0", logical_not: "x0 === 0 ? 1 : 0" }, bool);
  unary({ invert: "x0 === 0 ? 1 : 0" }, logical);
  nd.absolute = nd.abs;

  binary({ subtract: "x0 - x1" }, arithmetic);
  binary({ divide: "x0 / x1", copysign: "f.negative(x0) === f.negative(x1) ? x0 : -x0" }, float);
  binary({ floor_divide: "f.floorDivide(x0, x1)", remainder: "f.remainder(x0, x1)" }, number);
  binary({
    maximum: "x0 > x1 || x0 !== x0 ? x0 : x1", minimum: "x0 < x1 || x0 !== x0 ? x0 : x1",
    fmax: "x0 >= x1 || x1 !== x1 ? x0 : x1", fmin: "x0 <= x1 || x1 !== x1 ? x0 : x1",
  }, same);
  binary({
    less: "x0 < x1 ? 1 : 0", less_equal: "x0 <= x1 ? 1 : 0", greater: "x0 > x1 ? 1 : 0",
    greater_equal: "x0 >= x1 ? 1 : 0", equal: "x0 === x1 ? 1 : 0", not_equal: "x0 !== x1 ? 1 : 0",
  }, bool);
  binary({ bitwise_and: "x0 !== 0 && x1 !== 0 ? 1 : 0", bitwise_or: "x0 !== 0 || x1 !== 0 ? 1 : 0" }, logical);

  // The sum of booleans is "or", their product "and".
  const sum = elementwise("add", "x0 + x1", ["x1", "x2"], same);
  const product = elementwise("multiply", "x0 * x1", ["x1", "x2"], same);
  const booleans = (x, y) => typeof x === "object" && typeof y === "object" && kindOf(x) === "b" && kindOf(y) === "b";
  add("add", sum.params, (x, y, out) => (booleans(x, y) ? nd.bitwise_or : sum)(x, y, out));
  add("multiply", product.params, (x, y, out) => (booleans(x, y) ? nd.bitwise_and : product)(x, y, out));

  // Powers that need no logarithm: of a number as exponent, as NumPy has them, and whole ones.
  const squareOf = elementwise("square", "x0 * x0", ["x"], number);
  const easy = new Map([
    [0, elementwise("power 0", "1", ["x"], number)], [1, elementwise("power 1", "x0", ["x"], number)], [2, squareOf],
    [3, elementwise("power 3", "x0 * x0 * x0", ["x"], number)],
    [4, elementwise("power 4", "(x0 * x0) * (x0 * x0)", ["x"], number)],
    [0.5, nd.sqrt], [-1, elementwise("power -1", "1 / x0", ["x"], float)],
  ]);
  const raised = elementwise("power", "f.power(x0, x1)", ["x1", "x2"], number);
  add("power", raised.params, (x, y, out) => {
    const quick = typeof y === "number" ? easy.get(y) : undefined;
    if (quick) return quick(x, out);
    const negative = typeof y === "number" ? y < 0 : toArray(y).data.some((value) => value < 0);
    // whole numbers to negative powers are fractions (NumPy refuses where they are integers by name)
    return raised(x, negative && kindOf(toArray(y)) === "i" ? nd.astype(y, "float") : y, out);
  });

  const chosen = elementwise("where", "x0 !== 0 ? x1 : x2", ["condition", "x", "y"], (_, x, y) => widest(x, y));
  add("where", ["condition", "x", "y"], (condition, x, y) => {
    if (x === undefined || y === undefined) fail("where takes three arguments");
    return chosen(condition, x, y);
  });

  const within = "x0 >= x1 && x0 <= x2 ? x0 : f.clipped(x0, x1, x2)";
  const clipped = elementwise("clip", within, ["a", "a_min", "a_max"], same);
  add("clip", ["a", "a_min", "a_max", "out"], (a, low = null, high = null, out) => {
    if (low === null) return high === null ? nd.copy(a) : nd.minimum(a, high, out);
    return high === null ? nd.maximum(a, low, out) : clipped(a, low, high, out);
  });

  const finite = elementwise("nan_to_num", "x0 !== x0 ? x1 : x0 === Infinity ? x2 : x0 === -Infinity ? x3 : x0",
    ["x", "nan", "posinf", "neginf"], (x) => x);
  add("nan_to_num", ["x", "copy", "nan", "posinf", "neginf"], (x, copy, nan = 0, posinf = null, neginf = null) => {
    if (copy === false) refuse("nan_to_num", { copy: "False" });
    return finite(x, nan, posinf ?? Number.MAX_VALUE, neginf ?? -Number.MAX_VALUE);
  });

  add("round", ["a", "decimals"], (a, decimals = 0) => {
    if (decimals === 0) return nd.rint(a);
    const scale = 10 ** Math.abs(decimals);
    return decimals > 0 ? nd.divide(nd.rint(nd.multiply(a, scale)), scale)
      : nd.multiply(nd.rint(nd.divide(a, scale)), scale);
  });
})();
