// Products of arrays, and eigenvectors of symmetric tridiagonal matrices.
(() => {
  "use strict";
  const { fail, widest, wrap, toArray, sizeOf, broadcastShapes, stepsOf, add } = nd.inner;

  // --- products ------------------------------------------------------------------------------------------

  // The columns of B (k, n) at b in panels of four, filled up with zeros: what a step of a product reads lies together.
  const packed = (B, b, k, n) => {
    const out = new Float64Array(k * 4 * Math.ceil(n / 4));
    for (let p = 0; p < k; p++) {
      for (let j = 0; j < n; j++) out[(j - (j % 4)) * k + 4 * p + (j % 4)] = B[b + p * n + j];
    }
    return out;
  };

  // The row of A at a times a panel: four sums at a time stay in registers.
  const rowTimesPanel = (A, a, panels, at, k, sums) => {
    let s = 0, t = 0, u = 0, v = 0;
    for (let p = 0; p < k; p++) {
      const x = A[a + p];
      s += x * panels[at];
      t += x * panels[at + 1];
      u += x * panels[at + 2];
      v += x * panels[at + 3];
      at += 4;
    }
    sums[0] = s;
    sums[1] = t;
    sums[2] = u;
    sums[3] = v;
  };

  const multiplied = (A, a, panels, out, o, m, k, n) => {
    const sums = new Float64Array(4);
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j += 4) {
        rowTimesPanel(A, a + i * k, panels, j * k, k, sums);
        for (let c = 0; c < 4 && j + c < n; c++) out[o + i * n + j + c] = sums[c];
      }
    }
  };

  // The offsets at which the matrices of a stack begin, repeated over `batch`.
  const starts = (shape, batch, size) => {
    const own = shape.slice(0, -2);
    return nd.broadcast_to(nd.reshape(nd.arange(sizeOf(own)), own), batch).data.map((place) => place * size);
  };

  add("matmul", ["x1", "x2"], (x1, x2) => {
    let [A, B] = [toArray(x1), toArray(x2)];
    if (A.shape.length === 0 || B.shape.length === 0) fail("matmul takes arrays of at least one dimension");
    const [row, column] = [A.shape.length === 1, B.shape.length === 1];
    if (row) A = nd.reshape(A, [1, ...A.shape]);
    if (column) B = nd.reshape(B, [...B.shape, 1]);
    const [m, k] = A.shape.slice(-2);
    const [inner, n] = B.shape.slice(-2);
    if (k !== inner) fail(`matmul of shapes (${toArray(x1).shape}) and (${toArray(x2).shape})`);
    const batch = broadcastShapes([A.shape.slice(0, -2), B.shape.slice(0, -2)]);
    const [from, by] = [starts(A.shape, batch, m * k), starts(B.shape, batch, k * n)];
    const out = new Float64Array(from.length * m * n);
    for (let q = 0, panels = null; q < from.length; q++) {
      if (q === 0 || by[q] !== by[q - 1]) panels = packed(B.data, by[q], k, n);
      multiplied(A.data, from[q], panels, out, q * m * n, m, k, n);
    }
    const shape = [...batch, ...(row ? [] : [m]), ...(column ? [] : [n])];
    return wrap(out, shape, widest("i", A.kind, B.kind));
  });

  // Sums over products of indexed operands: loops over the indices of the result, then over those summed.
  const compiled = new Map();
  const loopsFor = (terms, result) => {
    const names = [...new Set([...result, ...terms.join("")])];
    const variable = (name) => `i_${name}`;
    const offset = (k, depth) => `p${k}_${depth}`;
    const lines = [terms.map((_, k) => `const ${offset(k, 0)} = 0;`).join(" "), "let to = 0;"];
    names.forEach((name, depth) => {
      if (depth === result.length) lines.push("let sum = 0;");
      const i = variable(name);
      lines.push(`for (let ${i} = 0; ${i} < lengths.${name}; ${i}++) {`);
      terms.forEach((term, k) => lines.push(`const ${offset(k, depth + 1)} = ${offset(k, depth)}`
        + `${term.includes(name) ? ` + ${i} * steps[${k}].${name}` : ""};`));
    });
    if (names.length === result.length) lines.push("let sum = 0;");
    lines.push(`sum += ${terms.map((_, k) => `data[${k}][${offset(k, names.length)}]`).join(" * ")};`);
    lines.push("}".repeat(names.length - result.length), "out[to++] = sum;", "}".repeat(result.length));
    return new Function("out", "data", "lengths", "steps", `"use strict"; ${lines.join("\n")}`);
  };

  add("einsum", ["subscripts", "*operands", "optimize"], (subscripts, ...given) => {
    if (given.length && given.at(-1).constructor === Object) given.pop(); // the order of summation: NumPy's affair
    const [left, result] = subscripts.split("->");
    const terms = left.split(",");
    const operands = given.map(toArray);
    const plain = (term) => /^[a-z]+$/.test(term) && new Set(term).size === term.length;
    const known = result !== undefined && (result === "" || plain(result)) && terms.every(plain);
    if (!known || terms.length !== operands.length) {
      fail(`einsum does not support ${subscripts} of ${operands.length} arrays`);
    }
    const lengths = {};
    const steps = operands.map((a, k) => {
      if (a.shape.length !== terms[k].length) fail(`einsum: shape (${a.shape}) is not ${terms[k]}`);
      const gaps = stepsOf(a.shape);
      return Object.fromEntries([...terms[k]].map((name, axis) => {
        if ((lengths[name] ??= a.shape[axis]) !== a.shape[axis]) fail(`einsum: index ${name} has two lengths`);
        return [name, gaps[axis]];
      }));
    });
    const shape = [...result].map((name) => lengths[name] ?? fail(`einsum: ${name} is no index of an operand`));
    const out = new Float64Array(sizeOf(shape));
    if (!compiled.has(subscripts)) compiled.set(subscripts, loopsFor(terms, result));
    compiled.get(subscripts)(out, operands.map((a) => a.data), lengths, steps);
    return wrap(out, shape, widest("i", ...operands.map((a) => a.kind)));
  });

  // --- eigenvectors ----------------------------------------------------------------------------------------

  // Implicit QL with Wilkinson's shifts (tql2 of EISPACK) for diagonal d and off-diagonal e (n - 1), which it
  // overwrites: d with the eigenvalues, Z with the eigenvectors, one a row.
  const tridiagonal = (d, e, Z, n) => {
    Z.fill(0);
    for (let i = 0; i < n; i++) Z[i * n + i] = 1;
    e[n - 1] = 0;
    for (let l = 0; l < n; l++) {
      for (let round = 0; ; round++) {
        let m = l;
        for (; m < n - 1; m++) {
          const size = Math.abs(d[m]) + Math.abs(d[m + 1]);
          if (Math.abs(e[m]) <= 2 ** -53 * size) break;
        }
        if (m === l) break;
        if (round === 60) fail("eigenvalues did not converge");
        let g = (d[l + 1] - d[l]) / (2 * e[l]);
        let r = Math.hypot(g, 1);
        g = d[m] - d[l] + e[l] / (g + (g < 0 ? -r : r));
        let [s, c, p] = [1, 1, 0];
        let i = m - 1;
        for (; i >= l; i--) {
          const f = s * e[i];
          const b = c * e[i];
          r = Math.sqrt(f * f + g * g);
          e[i + 1] = r;
          if (r === 0) {
            d[i + 1] -= p;
            e[m] = 0;
            break;
          }
          s = f / r;
          c = g / r;
          g = d[i + 1] - p;
          r = (d[i] - g) * s + 2 * c * b;
          p = s * r;
          d[i + 1] = g + p;
          g = c * r - b;
          for (let k = 0, low = i * n, high = low + n; k < n; k++, low++, high++) {
            const z = Z[high];
            Z[high] = s * Z[low] + c * z;
            Z[low] = c * Z[low] - s * z;
          }
        }
        if (r === 0 && i >= l) continue;
        d[l] -= p;
        e[l] = g;
        e[m] = 0;
      }
    }
  };

  // Eigenvalues in ascending order, and eigenvectors in columns, of matrices given by their lower triangles.
  const eigh = (x) => {
    const a = toArray(x);
    const n = a.shape.at(-1);
    if (a.shape.length < 2 || a.shape.at(-2) !== n) fail("linalg.eigh takes square matrices");
    const count = sizeOf(a.shape.slice(0, -2));
    const [values, vectors] = [new Float64Array(count * n), new Float64Array(count * n * n)];
    const [d, e, Z] = [new Float64Array(n), new Float64Array(n), new Float64Array(n * n)];
    const order = d.map((_, i) => i);
    for (let q = 0; q < count; q++) {
      const start = q * n * n;
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < i - 1; j++) {
          if (a.data[start + i * n + j] !== 0) fail("linalg.eigh takes tridiagonal matrices");
        }
        d[i] = a.data[start + i * n + i];
        if (i > 0) e[i - 1] = a.data[start + i * n + i - 1];
        if (!Number.isFinite(d[i]) || (i > 0 && !Number.isFinite(e[i - 1]))) fail("linalg.eigh takes finite numbers");
      }
      tridiagonal(d, e, Z, n);
      order.forEach((_, i) => {
        order[i] = i;
      });
      order.sort((i, j) => d[i] - d[j]);
      for (let j = 0; j < n; j++) {
        values[q * n + j] = d[order[j]];
        for (let i = 0; i < n; i++) vectors[start + i * n + j] = Z[order[j] * n + i];
      }
    }
    return [wrap(values, a.shape.slice(0, -1), "f"), new nd.Array(vectors, a.shape, "f")];
  };
  nd.linalg = { eigh: nd.define("linalg.eigh", ["a"], eigh) };
})();
