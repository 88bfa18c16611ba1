"""What Gauss rules are made from, compiled to machine code: the Lanczos recursion, which makes a Jacobi matrix (it is
symmetric, with a diagonal and what is beside it) of a discrete measure; and the eigenvectors of such matrices."""

from __future__ import annotations

import math

import numpy as np

from .arrays import FloatArray
from .machine_code import compiled, compiled_sums

LEAST_APART = 2**-26  # relative distance, below which points are one: its square is lost beside 1
ROUNDING = 2**-52
MOST_STEPS = 60  # of which an eigenvalue takes two or three


@compiled_sums
def recursion(t: FloatArray, root: FloatArray, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The first n orthonormal polynomials (R, n, M) of measures on points t (R, M), times the roots (R, M) of their
    weights, which sum to 1; and the Jacobi matrices' diagonals (R, n) and what is beside them (R, n - 1).

    From where a measure has no more points, as far as floats tell them apart, all is 0.
    """
    R, M = t.shape
    basis, diagonal, beside = np.zeros((R, n, M)), np.zeros((R, n)), np.zeros((R, n - 1))
    step = np.empty(M)
    for r in range(R):
        for i in range(M):
            basis[r, 0, i] = root[r, i]
        for k in range(n):
            now, whole, on_diagonal = basis[r, k], 0.0, 0.0
            for i in range(M):
                step[i] = t[r, i] * now[i]
                whole += step[i] * step[i]
                on_diagonal += step[i] * now[i]
            diagonal[r, k] = on_diagonal
            if k == n - 1:
                break
            for j in range(k + 3):  # the last two, of which alone there is more than rounding, and then all
                old, part = basis[r, max(k - j, 0) if j < 2 else j - 2], 0.0
                for i in range(M):
                    part += step[i] * old[i]
                for i in range(M):
                    step[i] -= part * old[i]
            left = 0.0
            for i in range(M):
                left += step[i] * step[i]
            left = math.sqrt(left)
            if left > LEAST_APART * math.sqrt(whole):
                beside[r, k] = left
                for i in range(M):
                    basis[r, k + 1, i] = step[i] / left
    return basis, diagonal, beside


@compiled
def _ql_step(d: FloatArray, off: FloatArray, z: FloatArray, first: int, last: int) -> None:
    """Rotate the block of a Jacobi matrix from `last` to `first`, by the shift that its corner suggests."""
    half = (d[first + 1] - d[first]) / (2 * off[first])
    ahead = d[last] - d[first] + off[first] / (half + math.copysign(math.sqrt(half * half + 1), half))
    sine, cosine, moved = 1.0, 1.0, 0.0
    for i in range(last - 1, first - 1, -1):
        bulge, kept = sine * off[i], cosine * off[i]
        length = math.sqrt(bulge * bulge + ahead * ahead)
        off[i + 1] = length
        if length == 0.0:  # the block falls apart here
            d[i + 1] -= moved
            off[i], off[last] = kept, 0.0
            return
        sine, cosine = bulge / length, ahead / length
        ahead = d[i + 1] - moved
        turned = (d[i] - ahead) * sine + 2 * cosine * kept
        moved = sine * turned
        d[i + 1] = ahead + moved
        ahead = cosine * turned - kept
        for k in range(len(z)):
            z[k, i], z[k, i + 1] = cosine * z[k, i] - sine * z[k, i + 1], sine * z[k, i] + cosine * z[k, i + 1]
    d[first] -= moved
    off[first], off[last] = ahead, 0.0


@compiled
def eigen(diagonal: FloatArray, beside: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues (R, n) of Jacobi matrices, which ascend, and eigenvectors (R, n, n), a column each, by QL steps with
    implicit shifts (Bowdler, Martin, Reinsch and Wilkinson, 1968): as LAPACK, in half of its time for many small
    matrices. Entries are floats whose squares are, or as good as 0."""
    R, n = diagonal.shape
    values, vectors, off = diagonal.copy(), np.zeros((R, n, n)), np.zeros(n)
    for r in range(R):
        d, z = values[r], vectors[r]
        for i in range(n):
            off[i] = beside[r, i] if i < n - 1 else 0.0
            z[i, i] = 1.0
        for first in range(n):
            for _ in range(MOST_STEPS):
                last = first  # of the block that is not yet diagonal
                while last < n - 1 and abs(off[last]) > ROUNDING * (abs(d[last]) + abs(d[last + 1])):
                    last += 1
                if last == first:
                    break
                _ql_step(d, off, z, first, last)
        for i in range(1, n):  # into ascending order
            for j in range(i, 0, -1):
                if d[j - 1] <= d[j]:
                    break
                d[j - 1], d[j] = d[j], d[j - 1]
                for k in range(n):
                    z[k, j - 1], z[k, j] = z[k, j], z[k, j - 1]
    return values, vectors
