// numpy.polynomial, as far as it is used: Chebyshev series and the Gauss rules of Legendre and Hermite.
(() => {
  "use strict";
  const { fail, wrap, toArray, sizeOf } = nd.inner;

  // sum_n c_n T_n(x) by Clenshaw's recurrence, for each further index of c: shape (c's further axes, x's axes).
  const chebval = (x, c) => {
    const [{ data: places, shape }, { data: table, shape: lengths }] = [toArray(x), toArray(c)];
    if (lengths.length === 0 || lengths[0] === 0) fail("chebval takes at least one coefficient");
    const n = lengths[0];
    const columns = sizeOf(lengths.slice(1));
    const out = new Float64Array(columns * places.length);
    for (let j = 0, k = 0; j < columns; j++) {
      for (let i = 0; i < places.length; i++) {
        const t = places[i];
        let low = n > 1 ? table[(n - 2) * columns + j] : table[j];
        let high = n > 1 ? table[(n - 1) * columns + j] : 0;
        for (let m = n - 3; m >= 0; m--) {
          const before = low;
          low = table[m * columns + j] - high;
          high = before + high * (2 * t);
        }
        out[k++] = low + high * t;
      }
    }
    return wrap(out, [...lengths.slice(1), ...shape], "f");
  };

  // A Gauss rule for an even weight of that total, from orthonormal polynomials p_{k+1} = (x p_k - b_k p_{k-1})/b_{k+1}
  // with p_0 = 1: nodes from the Jacobi matrix, polished by Newton's method, weights 1/sum p_k^2.
  const rule = (title, beside, total) => nd.define(title, ["deg"], (deg) => {
    if (!Number.isInteger(deg) || deg < 1) fail(`${title} takes a number of nodes`);
    const b = Array.from({ length: deg }, (_, k) => beside(k + 1)); // b_1..b_n
    const matrix = nd.zeros([deg, deg]);
    for (let k = 1; k < deg; k++) matrix.data[k * deg + k - 1] = b[k - 1];
    const nodes = nd.linalg.eigh(matrix)[0].data;
    const weights = new Float64Array(deg);
    for (let i = 0; i < deg; i++) {
      for (let round = 0; round < 2; round++) {
        const x = nodes[i];
        let [before, now, slopeBefore, slope, sum] = [0, 1, 0, 0, 0];
        for (let k = 0; k < deg; k++) {
          sum += now * now;
          const past = k > 0 ? b[k - 1] : 0;
          [slopeBefore, slope] = [slope, (now + x * slope - past * slopeBefore) / b[k]];
          [before, now] = [now, (x * now - past * before) / b[k]];
        }
        weights[i] = 1 / sum;
        if (round === 0) nodes[i] -= now / slope;
      }
    }
    const [x, w] = [new Float64Array(deg), new Float64Array(deg)];
    for (let i = 0; i < deg; i++) {
      x[i] = (nodes[i] - nodes[deg - 1 - i]) / 2;
      w[i] = (weights[i] + weights[deg - 1 - i]) / 2;
    }
    const mass = w.reduce((sum, one) => sum + one, 0);
    return [new nd.Array(x, [deg], "f"), new nd.Array(w.map((one) => one * (total / mass)), [deg], "f")];
  });

  nd.polynomial = {
    chebyshev: { chebval: nd.define("chebval", ["x", "c"], chebval) },
    legendre: { leggauss: rule("leggauss", (k) => k / Math.sqrt(4 * k * k - 1), 2) },
    hermite_e: { hermegauss: rule("hermegauss", Math.sqrt, Math.sqrt(2 * Math.PI)) },
  };
})();
