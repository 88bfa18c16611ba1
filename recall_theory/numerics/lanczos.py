"""The Lanczos recursion, compiled to machine code: what a Gauss rule of a discrete measure is made from."""

from __future__ import annotations

import math

import numpy as np

from .arrays import FloatArray
from .machine_code import compiled_sums

LEAST_APART = 2**-26  # relative distance, below which points are one: its square is lost beside 1


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
