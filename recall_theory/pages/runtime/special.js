// scipy.special's functions by their names there, of numbers and of arrays, to the last digits of a float.
//
// Each is an elementary factor times a smooth rest, and the rest is read from a table of polynomials; tables.py
// defines the rests and writes special_tables.js. Outside a function's domain the answer is NaN.
const special = (() => {
  "use strict";

  // The function of a table: one polynomial a piece, highest power first, in u from -1/2 to 1/2 along it. Its odd and
  // its even powers are summed side by side, since each step of a sum waits for the one before.
  const tabulated = ({ low, scale, pieces, terms, numbers }) => {
    const c = Float64Array.from(numbers);
    return (x) => {
      const place = (x - low) * scale;
      const piece = place < pieces ? place | 0 : pieces - 1;
      const u = place - piece - 0.5;
      const square = u * u;
      let k = piece * terms;
      const end = k + terms;
      let odd = c[k];
      let even = c[k + 1];
      for (k += 2; k < end; k += 2) {
        odd = odd * square + c[k];
        even = even * square + c[k + 1];
      }
      return odd * u + even;
    };
  };

  const millsRest = tabulated(specialTables.mills);
  const errorRest = tabulated(specialTables.error);
  const quantileMiddle = tabulated(specialTables.quantileMiddle);
  const quantileTail = tabulated(specialTables.quantileTail);
  const gammaRest = tabulated(specialTables.gamma);
  const stirlingRest = tabulated(specialTables.stirling);
  const devianceRest = tabulated(specialTables.deviance);
  const lambertRest = tabulated(specialTables.lambert);

  const HALF_LOG_TWO_PI = Math.log(2 * Math.PI) / 2;

  // --- the normal law and the error function ----------------------------------------------------------

  // e^(-s x^2) for s a power of 2, plus or minus, and x >= 0. The square of x rounded to a float of half the length
  // is exact, and what it misses is small: rounding x^2 itself would cost three digits in the far tail.
  const gauss = (x, s) => {
    if (!(x < 40)) return Math.exp(-s * x * x);
    const short = Math.fround(x);
    const rest = s * (x - short) * (x + short);
    return Math.exp(-s * short * short) * (1 - rest * (1 - rest * (0.5 - rest / 6)));
  };

  // e^(x^2/2) P(normal > x) for x >= 0.
  const mills = (x) => {
    const t = 4 / (4 + x);
    return t * millsRest(t);
  };

  const above = (x) => gauss(x, 0.5) * mills(x); // P(normal > x) for x >= 0

  const ndtr = (x) => (x < 0 ? above(-x) : x > 9 ? 1 : 1 - above(x));

  const logNdtr = (x) => (x < 0 ? Math.log(mills(-x)) - 0.5 * x * x : Math.log1p(-above(x)));

  const erfc = (x) => (x < 0 ? 2 - erfc(-x) : 2 * gauss(x, 1) * mills(Math.SQRT2 * x));

  const erf = (x) => {
    if (x < 0) return -erf(-x);
    return x < 0.5 ? x * errorRest(x * x) : 1 - erfc(x);
  };

  const erfcx = (x) => (x < 0 ? 2 * gauss(-x, -1) - erfcx(-x) : 2 * mills(Math.SQRT2 * x));

  const ndtri = (p) => {
    const q = p - 0.5;
    if (Math.abs(q) <= 0.3) return q * quantileMiddle(q * q);
    if (!(p > 0 && p < 1)) return p === 0 ? -Infinity : p === 1 ? Infinity : NaN;
    const r = Math.sqrt(-2 * Math.log(q < 0 ? p : 1 - p));
    const t = 4 / (4 + r);
    return Math.sign(q) * (quantileTail(t) / t);
  };

  // --- the gamma function ------------------------------------------------------------------------------

  const gammaln = (x) => {
    if (x >= 3) return (x - 0.5) * (Math.log(x) - 1) - 0.5 + HALF_LOG_TWO_PI + stirlingRest(1 / x) / x;
    if (x >= 0.5) return (x - 1) * (x - 2) * gammaRest(x);
    if (x > 0) return gammaln(1 + x) - Math.log(x);
    if (Number.isInteger(x)) return Infinity;
    if (!Number.isFinite(x)) return x; // -inf at -inf, as scipy has it
    return Math.log(Math.PI) - Math.log(Math.abs(Math.sin(Math.PI * (x - Math.round(x))))) - gammaln(1 - x);
  };

  // x^a e^-x / Gamma(a + 1) for a >= 1, x > 0. In this form nothing large cancels (Loader, 2000).
  const poisson = (a, x) => {
    if (Math.min(a, x) > MOST) throw new Error(`special: Poisson laws of counts beyond ${MOST} are not supported`);
    const miss = x - a;
    const u = miss / a;
    const deviance = u > -0.5 && u < 1 ? miss * u * devianceRest(u) : miss - a * Math.log(x / a);
    return Math.exp(-deviance - stirlingRest(1 / a) / a) / Math.sqrt(2 * Math.PI * a);
  };

  const MOST = 1e8; // the sums below take some 10 sqrt(a) steps where x is close to a
  const NEGLIGIBLE = 2 ** -60;

  // The regularised incomplete gamma function from 0 to x < a, by its series.
  const lowerGamma = (a, x) => {
    const first = poisson(a, x);
    let term = 1;
    let sum = 1;
    for (let n = a + 1; term > NEGLIGIBLE * sum; n++) {
      term *= x / n;
      sum += term;
    }
    return sum * first;
  };

  // The same from x >= a >= 1 to infinity: Poisson terms downwards from a - 1, and where a is not whole what is left.
  const upperGamma = (a, x) => {
    const first = poisson(a, x) * (a / x);
    let term = 1;
    let sum = 1;
    let n = a - 1;
    for (; n >= 1 && term > NEGLIGIBLE * sum; n--) {
      term *= n / x;
      sum += term;
    }
    if (n > 0 && n < 1) sum += term * n * gammaFraction(n, x);
    return sum * first;
  };

  const DEPTH = 120; // an error of 2e-18 at x = 1, where it converges slowest

  // Gamma(a, x) / (x^a e^-x) for 0 < a < 1 <= x, by Legendre's continued fraction from far enough.
  const gammaFraction = (a, x) => {
    let value = x + 1 - a + 2 * DEPTH;
    for (let i = DEPTH; i > 0; i--) value = x - 1 - a + 2 * i - (i * (i - a)) / value;
    return 1 / value;
  };

  // Is k a count, and m a mean, and not both without bounds?
  const lawful = (k, m) => k >= 0 && m >= 0 && Math.min(k, m) < Infinity;

  const pdtr = (k, m) => {
    if (!lawful(k, m)) return NaN;
    const a = Math.floor(k) + 1;
    if (m === 0 || a === Infinity) return 1;
    if (m === Infinity) return 0;
    return m < a ? 1 - lowerGamma(a, m) : upperGamma(a, m);
  };

  const pdtrc = (k, m) => {
    if (!lawful(k, m)) return NaN;
    const a = Math.floor(k) + 1;
    if (m === 0 || a === Infinity) return 0;
    if (m === Infinity) return 1;
    return m < a ? lowerGamma(a, m) : 1 - upperGamma(a, m);
  };

  // The k, continuous, at which pdtr(k, m) = p; 0 where pdtr(0, m) is more than p already.
  const pdtrik = (p, m) => {
    if (!(p >= 0 && p < 1 && m >= 0)) return NaN;
    if (p <= Math.exp(-m)) return 0;
    if (m === Infinity) return NaN;
    // The logarithm of the smaller tail, as a function of a = k + 1, is close to a parabola. It increases here.
    const beyond = (a) => {
      if (p < 0.5) return Math.log((m < a ? 1 - lowerGamma(a, m) : upperGamma(a, m)) / p);
      return Math.log((1 - p) / (m < a ? lowerGamma(a, m) : 1 - upperGamma(a, m)));
    };
    return increasingRoot(beyond, 1, m + 1, 1 + Math.sqrt(m)) - 1;
  };

  // Where f, increasing, is 0: from `start` by growing steps, never below `least`, until f changes its sign, then by
  // the Illinois form of the secant rule.
  const increasingRoot = (f, least, start, step) => {
    let [low, atLow] = [start, f(start)];
    let [high, atHigh] = [low, atLow];
    for (; atHigh < 0; step *= 2) {
      [low, atLow] = [high, atHigh];
      high += step;
      atHigh = f(high);
    }
    for (; atLow > 0 && low > least; step *= 2) {
      [high, atHigh] = [low, atLow];
      low = Math.max(least, low - step);
      atLow = f(low);
    }
    for (let last = NaN, side = 0; ;) {
      let x = (low * atHigh - high * atLow) / (atHigh - atLow);
      if (!(x > low && x < high)) x = (low + high) / 2; // an end at which f is infinite, or rounding
      const value = f(x);
      if (value === 0 || Math.abs(x - last) <= 2 ** -52 * x || x === low || x === high) return x;
      if (value < 0) {
        [low, atLow] = [x, value];
        if (side < 0) atHigh /= 2; // the other end stays: its weight is halved
      } else {
        [high, atHigh] = [x, value];
        if (side > 0) atLow /= 2;
      }
      side = Math.sign(value);
      last = x;
    }
  };

  // --- Lambert's W --------------------------------------------------------------------------------------

  const INVERSE_E = specialTables.inverseE;

  // The principal branch, real from -1/e on.
  const lambertw = (x) => {
    if (x <= 1) return x * lambertRest(Math.sqrt(2 * Math.E * (x + INVERSE_E[0] + INVERSE_E[1])));
    if (x === Infinity) return x;
    const logarithm = Math.log(x);
    let w = Math.log1p(x);
    for (let i = 0; i < 5; i++) w *= (1 + logarithm - Math.log(w)) / (1 + w); // Newton's on w + ln w = ln x
    return w;
  };

  // --- products with logarithms, and the logistic function ----------------------------------------------

  const xlogy = (x, y) => (x === 0 && !Number.isNaN(y) ? 0 : x * Math.log(y));
  const xlog1py = (x, y) => (x === 0 && !Number.isNaN(y) ? 0 : x * Math.log1p(y));

  const expit = (x) => {
    if (x >= 0) return 1 / (1 + Math.exp(-x));
    const odds = Math.exp(x);
    return odds / (1 + odds);
  };

  const of = (name, params, f) => nd.define(name, [...params, "out"], nd.lift(f, params.length));
  return Object.fromEntries([
    ["ndtr", ["x"], ndtr], ["log_ndtr", ["x"], logNdtr], ["ndtri", ["y"], ndtri],
    ["erf", ["z"], erf], ["erfc", ["x"], erfc], ["erfcx", ["x"], erfcx],
    ["gammaln", ["x"], gammaln], ["pdtr", ["k", "m"], pdtr], ["pdtrc", ["k", "m"], pdtrc],
    ["pdtrik", ["p", "m"], pdtrik], ["lambertw", ["z"], lambertw],
    ["xlogy", ["x", "y"], xlogy], ["xlog1py", ["x", "y"], xlog1py], ["expit", ["x"], expit],
  ].map(([name, params, f]) => [name, of(name, params, f)]));
})();
