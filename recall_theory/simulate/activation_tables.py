"""Activations that NumPy and SciPy evaluate number by number, as piecewise polynomials.

The error function takes SciPy 10 ns a number, a table of polynomials 2 to 3. Its error is that of rounding, which is
checked as it is made.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import numpy as np

from ..activations import Activation
from ..numerics.arrays import FloatArray
from . import loops

Function = Callable[[FloatArray], FloatArray]

NUMBER_BY_NUMBER = {"erf", "gelu", "sigmoid", "silu", "softplus"}
TABLE_END = 10.0  # the table's; inputs are of size one
PER_UNIT = 64  # pieces
DEGREE = 5
TABLE_ROUNDING = 1e-14  # of the largest value: what the table may be off by


def fast_activation(phi: Activation) -> tuple[Function, Function]:
    """phi and its derivative as functions of arrays (n, width), by a table where that is faster and as exact."""
    if phi.kinks or not NUMBER_BY_NUMBER & set(re.findall("[a-z]+", phi.name)):
        return phi.phi, phi.derivative
    return _tabulated(phi.phi), _tabulated(phi.derivative)


@functools.lru_cache(maxsize=16)
def _tabulated(function: Function) -> Function:
    """The function by a table within TABLE_END; by itself for an array that goes beyond, or where no table is exact.

    Each piece interpolates at its Chebyshev points.
    """
    lower = np.arange(-TABLE_END, TABLE_END, 1 / PER_UNIT)[:, None]
    points = (1 + np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))) / 2
    at_points = function(lower + points / PER_UNIT)
    pieces = np.array(np.linalg.solve(np.vander(points, increasing=True), at_points.T).T, dtype=float, order="C")

    def by_table(x: FloatArray) -> FloatArray:
        return loops.piecewise(pieces, -TABLE_END, PER_UNIT, x)

    between = lower + np.arange(1, 8) / (8 * PER_UNIT)
    exact = function(between)
    if not np.abs(by_table(between) - exact).max() <= TABLE_ROUNDING * np.abs(exact).max():
        return function
    return lambda x: by_table(x) if max(x.max(initial=0), -x.min(initial=0)) < TABLE_END else function(x)
