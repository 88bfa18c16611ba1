"""The fixed layer of Attention-MLP: phi(W_in h)/sqrt(m), with W_in drawn once a seed; and activations made fast."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable

import numpy as np

from ..activations import Activation, activation
from ..numerics.arrays import FloatArray
from ..settings import Setting
from . import loops

BLOCK_ENTRIES = 1 << 18  # entries of a block of pre-activations: it should stay in the cache

# Activations that NumPy and SciPy evaluate number by number are piecewise polynomials here. The error function takes
# them 10 ns a number, a table of polynomials 2 to 3. Its error is that of rounding, and checked.
NUMBER_BY_NUMBER = {"erf", "gelu", "sigmoid", "silu", "softplus"}
TABLE_END = 10.0  # the table's; inputs are of size one
PER_UNIT = 64  # pieces
DEGREE = 5
TABLE_ROUNDING = 1e-14  # of the largest value: what the table may be off by

Function = Callable[[FloatArray], FloatArray]


@dataclasses.dataclass(frozen=True)
class Mlp:
    """Neurons of the layer: W_in (m, d), entries iid N(0, 1), and the activation phi."""

    W_in: FloatArray
    phi: Activation

    @property
    def rows_of_block(self) -> int:
        """How many sequences a block takes."""
        return max(16, BLOCK_ENTRIES // len(self.W_in))

    @functools.cached_property
    def fast(self) -> tuple[Function, Function]:
        """phi and its derivative as functions of arrays (n, m), by a table where that is faster and as exact."""
        if self.phi.kinks or not NUMBER_BY_NUMBER & set(re.findall("[a-z]+", self.phi.name)):
            return self.phi.phi, self.phi.derivative
        return _tabulated(self.phi.phi), _tabulated(self.phi.derivative)

    def features(self, h: FloatArray) -> FloatArray:
        """phi(W_in h) (n, m) of inputs h (n, d)."""
        return self.fast[0](h @ self.W_in.T)

    def slopes(self, h: FloatArray) -> FloatArray:
        """phi'(W_in h) (n, m) of inputs h (n, d)."""
        return self.fast[1](h @ self.W_in.T)

    def parts(self, width: int) -> list[Mlp]:
        """The layer in parts of at most so many neurons, one at least."""
        width = max(1, width)
        return [Mlp(self.W_in[i:i + width], self.phi) for i in range(0, len(self.W_in), width)]

    def steepest(self, longest: float) -> float:
        """A bound on |J|, J the derivative of phi(W_in h)/sqrt(m) in h, for inputs h of at most this norm."""
        reach = float(np.linalg.norm(self.W_in, axis=1).max()) * longest
        slope = float(np.abs(self.phi.derivative(np.linspace(-reach, reach, 1001))).max())
        return slope * float(np.linalg.norm(self.W_in)) / len(self.W_in)**0.5


def draw_mlp(setting: Setting, rng: np.random.Generator) -> Mlp:
    """The layer of one seed."""
    assert setting.m is not None
    return Mlp(rng.standard_normal((setting.m, setting.d)), activation(setting.activation))


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
        result = np.empty_like(x)
        loops.piecewise(pieces, -TABLE_END, PER_UNIT, x, result)
        return result

    between = lower + np.arange(1, 8) / (8 * PER_UNIT)
    exact = function(between)
    if not np.abs(by_table(between) - exact).max() <= TABLE_ROUNDING * np.abs(exact).max():
        return function
    return lambda x: by_table(x) if max(x.max(initial=0), -x.min(initial=0)) < TABLE_END else function(x)
