"""Which branch of the capacity binds at given sizes: the formulas' branches by name, and in words with the numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..activations import activation
from ..numerics.formatting import count
from ..settings import SettingError
from .formulas.capacity_laws import FINITE, MIXED, MOMENTS, SOLVED, Branches, Layer
from .formulas.generic import Real
from .noise_budget import is_linear, leading_moments
from .solve import LARGEST_SEARCHED

# The condition that each branch is, for readers; s is the lead that the target needs, kappa is 1 + e without an MLP.
CONDITIONS = {
    "interference": "d^2 = kappa V s^2",
    "gradient noise": "N d^2 = kappa V^2 s^2",
    "mean bias": "N d = V^2 s^2",
    "mean embedding": "N^2 d^3 = V L^4 s^2",
    "uneven attention": "N^2 d^3 = V L^4 s^2",
    "noise tokens": "N d^2 = V L^(3/2) s",
    "informative tokens": "N d^4 = V L^2 s^2",
    "MLP noise": "m d = V s^2 k_z/(k_1 - k_0)^2",
    "coverage": "N = V ln 1/(1 - target)",
    "counts": "N = V ln V/(r ln r - r + 1), r = 1 + 1/beta",
    "MLP mean": "m N^2 d^2 = V^2 L^4 s^2 (h_0^2 + h_1^2 [e/L^2 + 1/V])/A^2",
    "MLP neurons": "m N^2 d^2 = V^2 L^4 s^2 (1/L + 1/d) P_0 P_2/A^2",
    "trigger overlap": "d = 2 ln L",
    FINITE: "eta gamma = V L^2 ln sqrt(V L s^2/d^2)",
    MIXED: "eta gamma = V L^2 ln[1 + sqrt(V L s^2/d^2)], s against L labels",
}
_FACTOR = re.compile(r"(kappa|[VLNds])(\^\S+)?")  # of a condition whose sides are products of powers
ROUNDS, SAME = 12, 1e-3  # in which they are brought to the longest L, and the share to which they are


def branches(sought: str, **sizes: Real) -> Branches:
    """What each branch allows of V or L, or asks for of N or d, by name; the other sizes, e, the target and, with an
    MLP, m and the moments are those of `formulas.capacity_laws.Layer`. Numbers, or arrays that broadcast.

    A branch may be NaN outside its regime. Raises `SettingError` for a size that can't be sought.

    >>> found = branches("L", V=332.0, d=256.0, N=84992.0, e=1, target=0.99)
    >>> sorted(found)
    ['informative tokens', 'mean embedding', 'noise tokens', 'trigger overlap', 'uneven attention']
    """
    if sought not in SOLVED:
        raise SettingError("sought", f"sought={sought!r} is not one of {', '.join(SOLVED)}")
    with np.errstate(divide="ignore", invalid="ignore"):  # far outside their regime some are no number
        return SOLVED[sought][0](Layer(**{"V": None, "d": None, "N": None, "L": None, **sizes}))


def binding(sought: str, **sizes: Real) -> str:
    """The name of the branch that binds, of numbers as in `branches`; one that is no number there is passed over.

    >>> binding("V", d=256.0, N=1e12, L=64.0, e=1, target=0.99)
    'interference'
    """
    found = {name: float(value) for name, value in branches(sought, **sizes).items() if not np.isnan(value)}
    return (min if sought in ("V", "L") else max)(found, key=found.__getitem__)


def binding_in(layer: Mapping[str, Any], sought: str, **sizes: float) -> tuple[str, float, dict[str, float]] | None:
    """The branch that binds of V or L in a layer (its L, d, m, activation and convention), its value, and `sizes` with
    the moments that it takes; None where no branch binds.

    Moments are those at the layer's L. Where L is sought with an MLP, they are those at the L that is found: it goes
    with about their fourth root, so that repeating it converges. Raises `SettingError` as `layer_moments` does.
    """
    L = layer["L"]
    for _ in range(ROUNDS):
        given = sizes | layer_moments({**layer, "L": int(min(L, LARGEST_SEARCHED["L"]))})
        values = {name: float(x) for name, x in branches(sought, **given).items() if x > 0}
        if not values:
            return None
        binds = min(values, key=values.__getitem__)
        if sought != "L" or abs(values[binds] / L - 1) < SAME:
            break
        L = max(values[binds], 2.0)
    return binds, values[binds], given


def condition(branch: str, e: int, *, has_mlp: bool = False) -> str:
    """The condition of a branch in symbols.

    >>> condition("interference", 1), condition("noise tokens", 0)
    ('d^2 = 2 V s^2', 'N d^2 = V L^(3/2) s')
    """
    kappa = "k_v/(k_1 - k_0)^2 " if has_mlp else "2 " if e else ""
    return CONDITIONS[branch].replace("kappa ", kappa)


def in_numbers(branch: str, sizes: Mapping[str, float], V: float) -> str | None:
    """The condition of a branch that is a product, or of finite rates, with the numbers in it: the branch's V, and the
    s that makes it right; `sizes` are those of `branches`. None for other branches.

    >>> in_numbers("interference", {"d": 256.0, "e": 1}, 739.0)
    '256^2 = 2 * 739 * 6.66^2'
    """
    if branch in (FINITE, MIXED):
        L, d, beta = (_number(sizes[name]) for name in ("L", "d", "beta"))
        lead = math.exp(sizes["beta"] / (V * sizes["L"]**2)) - (branch == MIXED)  # the root of V L s^2/d^2
        root = f"sqrt({int(V):,} * {L} * {lead * sizes['d'] / math.sqrt(V * sizes['L']):.3g}^2/{d}^2)"
        return f"{beta} = {int(V):,} * {L}^2 * ln" + (f"[1 + {root}]" if branch == MIXED else f" {root}")
    words = [side.split() for side in CONDITIONS[branch].split(" = ", 1)]
    left, right = ([match for word in side if (match := _FACTOR.fullmatch(word))] for side in words)
    if len(left) + len(right) < sum(map(len, words)):
        return None
    kappa = Layer(**{"V": V, "d": None, "N": None, "L": None, "target": None, **sizes}).overlap
    known = {**sizes, "V": V, "kappa": float(kappa), "s": 1.0}

    def power(factor: re.Match[str]) -> float:
        return float(Fraction((factor[2] or "1").strip("^()")))

    of_sides = [math.prod(known[factor[1]]**power(factor) for factor in side) for side in (left, right)]
    known["s"] = (of_sides[0] / of_sides[1])**(1 / power(right[-1]))
    known["V"] = float(int(V))
    return " = ".join(" * ".join(_number(known[factor[1]]) + (factor[2] or "") for factor in side
                                 if factor[1] != "kappa" or kappa != 1) for side in (left, right))


def _number(x: float) -> str:
    """Whole where it is whole and below 10^9."""
    if x != round(x):
        return f"{x:.3g}"
    return count(x) if x < 10**9 else f"{x:.4g}"


def layer_moments(layer: Mapping[str, Any]) -> dict[str, float]:
    """The moments of a layer's activation, for `branches`, at its L, d, m and convention; nothing without an MLP.

    Raises `SettingError` where attention does not learn by the linear part of the activation: the branches are of that.
    """
    if layer["m"] is None:
        return {}
    length = float(max(layer["L"], 2))
    found = leading_moments(activation(layer["activation"]), np.inf, length, float(layer["d"]),
                            int(layer["trigger_in_value"]))
    if not is_linear(found, length):
        raise SettingError("activation", f"activation={layer['activation']!r}: at L={layer['L']} attention learns by "
                           "more than its linear part, of which the branches of the capacity are")
    return {"m": float(layer["m"]), **{name: found[name] for name in MOMENTS.split()}}
