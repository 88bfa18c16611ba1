// Products of arrays, and eigenvectors of symmetric tridiagonal matrices.
(() => {
  "use strict";
  const { fail, widest, wrap, toArray, sizeOf, broadcastShapes, stepsOf, add } = nd.inner;

  // --- products ------------------------------------------------------------------------------------------

  // out += A B for A (m, k) at a and the transposed B (n, k): two rows times four columns at a time stay in registers.
  const multiplied = (A, a, B, out, o, m, k, n) => {
    for (let i = 0; i < m; i += 2) {
      const pair = i + 1 < m;
      const r = a + i * k;
      const s = pair ? r + k : r;
      let j = 0;
      for (; j + 3 < n; j += 4) {
        let [x0, x1, x2, x3, y0, y1, y2, y3] = [0, 0, 0, 0, 0, 0, 0, 0];
        const b0 = j * k, b1 = b0 + k, b2 = b1 + k, b3 = b2 + k;
        for (let p = 0; p < k; p++) {
          const x = A[r + p], y = A[s + p];
          const c0 = B[b0 + p], c1 = B[b1 + p], c2 = B[b2 + p], c3 = B[b3 + p];
          x0 += x * c0;
          x1 += x * c1;
          x2 += x * c2;
          x3 += x * c3;
          y0 += y * c0;
          y1 += y * c1;
          y2 += y * c2;
          y3 += y * c3;
        }
        const at = o + i * n + j;
        out[at] = x0;
        out[at + 1] = x1;
        out[at + 2] = x2;
        out[at + 3] = x3;
        if (pair) {
          out[at + n] = y0;
          out[at + n + 1] = y1;
          out[at + n + 2] = y2;
          out[at + n + 3] = y3;
        }
      }
      for (; j < n; j++) {
        let [x0, y0] = [0, 0];
        for (let p = 0; p < k; p++) {
          x0 += A[r + p] * B[j * k + p];
          y0 += A[s + p] * B[j * k + p];
        }
        out[o + i * n + j] = x0;
        if (pair) out[o + (i + 1) * n + j] = y0;
      }
    }
  };

  // The offsets at which the matrices of a stack begin, repeated over `batch`.
  const starts = (shape, batch, size) => {
    const count = sizeOf(batch);
    const own = shape.slice(0, -2);
    const whole = nd.reshape(nd.arange(sizeOf(own)), own);
    return Float64Array.from({ length: count }, ((places) => (_, i) => places[i] * size)(nd.broadcast_to(whole, batch).data));
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
    const turned = new Float64Array(k * n);
    for (let q = 0, last = -1; q < from.length; q++) {
      if (by[q] !== last) {
        for (let p = 0; p < k; p++) for (let j = 0; j < n; j++) turned[j * k + p] = B.data[by[q] + p * n + j];
        last = by[q];
      }
      multiplied(A.data, from[q], turned, out, q * m * n, m, k, n);
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
    if (result === undefined || terms.length !== operands.length || !terms.every(plain) || !(result === "" || plain(result))) {
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
