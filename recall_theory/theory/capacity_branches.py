"""Which branch of the capacity binds at given sizes: the formulas' branches by name, and in words with the numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from ..activations import activation
from ..numerics.formatting import count
from ..settings import SettingError
from .formulas.capacity_laws import FINITE, MIXED, MOMENTS, SOLVED, Branches, Layer
from .formulas.generic import Real
from .noise_budget import is_linear, leading_moments

Product = dict[str, Fraction]  # powers by symbol; "kappa" is 1 + e without an MLP


def _product(**powers: float) -> Product:
    return {name: Fraction(power) for name, power in powers.items()}


# The condition that each branch is, for readers; s is the lead that the target needs. Products by their two sides.
PRODUCTS: dict[str, tuple[Product, Product]] = {
    "interference": (_product(d=2), _product(kappa=1, V=1, s=2)),
    "gradient noise": (_product(N=1, d=2), _product(kappa=1, V=2, s=2)),
    "mean bias": (_product(N=1, d=1), _product(V=2, s=2)),
    "mean embedding": (_product(N=2, d=3), _product(V=1, L=4, s=2)),
    "uneven attention": (_product(N=2, d=3), _product(V=1, L=4, s=2)),
    "noise tokens": (_product(N=1, d=2), _product(V=1, L=1.5, s=1)),
    "informative tokens": (_product(N=1, d=4), _product(V=1, L=2, s=2)),
}
OTHERS = {
    "MLP noise": "m d = V s^2 k_z/(k_1 - k_0)^2", "coverage": "N = V ln 1/(1 - target)",
    "counts": "N = V ln V/(r ln r - r + 1), r = 1 + 1/beta",
    "MLP mean": "m N^2 d^2 = V^2 L^4 s^2 (h_0^2 + h_1^2 [e/L^2 + 1/V])/A^2",
    "MLP neurons": "m N^2 d^2 = V^2 L^4 s^2 (1/L + 1/d) P_0 P_2/A^2", "trigger overlap": "d = 2 ln L",
    FINITE: "eta gamma = V L^2 ln sqrt(V L s^2/d^2)",
    MIXED: "eta gamma = V L^2 ln[1 + sqrt(V L s^2/d^2)], s against L labels",
}


def branches(sought: str, **sizes: Real) -> Branches:
    """What each branch allows of V or L, or asks for of N or d, by name; the other sizes, e, the target and, with an
    MLP, m and the moments are those of `formulas.capacity_laws.Layer`. Numbers, or arrays that broadcast.

    Raises `SettingError` for a size that can't be sought.

    >>> found = branches("L", V=332.0, d=256.0, N=84992.0, e=1, target=0.99)
    >>> sorted(found)
    ['informative tokens', 'mean embedding', 'noise tokens', 'trigger overlap', 'uneven attention']
    """
    if sought not in SOLVED:
        raise SettingError("sought", f"sought={sought!r} is not one of {', '.join(SOLVED)}")
    return SOLVED[sought][0](Layer(**{"V": None, "d": None, "N": None, "L": None, **sizes}))


def binding(sought: str, **sizes: Real) -> str:
    """The name of the branch that binds, of numbers as in `branches`; one that is no number there is passed over.

    >>> binding("V", d=256.0, N=1e12, L=64.0, e=1, target=0.99)
    'interference'
    """
    found = {name: float(value) for name, value in branches(sought, **sizes).items() if not np.isnan(value)}
    return (min if sought in ("V", "L") else max)(found, key=found.__getitem__)


def condition(branch: str, e: int, *, has_mlp: bool = False) -> str:
    """The condition of a branch in symbols.

    >>> condition("interference", 1), condition("noise tokens", 0)
    ('d^2 = 2 V s^2', 'N d^2 = V L^(3/2) s')
    """
    if branch in OTHERS:
        return OTHERS[branch]
    kappa = "k_v/(k_1 - k_0)^2" if has_mlp else "2" if e else ""
    return " = ".join(" ".join((kappa if name == "kappa" else name) + _power(power) for name, power in side.items()
                               if name != "kappa" or kappa) for side in PRODUCTS[branch])


def in_numbers(branch: str, sizes: Mapping[str, float], V: float) -> str | None:
    """The condition of a branch that is a product, or of finite rates, with the numbers in it: the branch's V, and the
    s that makes it right; `sizes` are those of `branches`. None for other branches.

    >>> in_numbers("interference", {"d": 256.0, "e": 1}, 739.0)
    '256^2 = 2 * 739 * 6.66^2'
    """
    if branch in (FINITE, MIXED):
        return _rates_in_numbers(branch, sizes, V)
    if branch not in PRODUCTS:
        return None
    left, right = PRODUCTS[branch]
    kappa = Layer(**{"V": V, "d": None, "N": None, "L": None, "target": None, **sizes}).overlap
    known = {**sizes, "V": V, "kappa": float(kappa), "s": 1.0}

    def product(side: Product) -> float:
        return math.prod(known[name]**float(power) for name, power in side.items())

    known["s"] = (product(left) / product(right))**float(1 / right["s"])
    known["V"] = float(int(V))
    return " = ".join(" * ".join(_number(known[name]) + _power(power) for name, power in side.items()
                                 if name != "kappa" or kappa != 1) for side in (left, right))


def _rates_in_numbers(branch: str, sizes: Mapping[str, float], V: float) -> str:
    L, d, beta = (_number(sizes[name]) for name in ("L", "d", "beta"))
    lead = math.exp(sizes["beta"] / (V * sizes["L"]**2)) - (branch == MIXED)  # the root of V L s^2/d^2
    root = f"sqrt({int(V):,} * {L} * {lead * sizes['d'] / math.sqrt(V * sizes['L']):.3g}^2/{d}^2)"
    return f"{beta} = {int(V):,} * {L}^2 * ln" + (f"[1 + {root}]" if branch == MIXED else f" {root}")


def _power(power: Fraction) -> str:
    """As it is written after its base."""
    text = str(power)
    return "" if power == 1 else f"^({text})" if "/" in text else f"^{text}"


def _number(x: float) -> str:
    """Whole where it is whole and below 10^9."""
    if x != round(x):
        return f"{x:.3g}"
    return count(x) if x < 10**9 else f"{x:.4g}"


def layer_moments(setting: Mapping[str, object]) -> dict[str, float]:
    """The moments of a setting's activation, for `branches`; nothing without an MLP. `setting` has L, d, m, its
    activation and its convention.

    Raises `SettingError` where attention does not learn by the linear part of the activation: the branches are of that.
    """
    m, L, d = (setting[name] for name in ("m", "L", "d"))
    if not (isinstance(m, int) and isinstance(L, int) and isinstance(d, int)):
        return {}
    length = float(max(L, 2))
    found = leading_moments(activation(str(setting["activation"])), np.inf, length, float(d),
                            int(bool(setting["trigger_in_value"])))
    if not is_linear(found, length):
        raise SettingError("activation", f"activation={setting['activation']!r}: at L={L} attention learns by more "
                           "than its linear part, of which the branches of the capacity are")
    return {"m": float(m), **{name: found[name] for name in MOMENTS.split()}}
