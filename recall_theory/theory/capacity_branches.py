"""Which branch of the capacity binds at given sizes: the formulas' branches by name, and in words with the numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..settings import SettingError
from .formulas.capacity_laws import SOLVED, Branches, Layer
from .formulas.generic import Real

# The condition that each branch is, for readers; s is the lead that the target needs.
CONDITION = {
    "interference": "d^2 = {1 + e} V s^2", "gradient noise": "N d^2 = {1 + e} V^2 s^2", "mean bias": "N d = V^2 s^2",
    "MLP noise": "m d = V s^2 k_z/(k_1 - k_0)^2", "coverage": "N = V ln 1/(1 - target)",
    "counts": "N = V ln V/(r ln r - r + 1), r = 1 + 1/beta", "mean embedding": "N^2 d^3 = V L^4 s^2",
    "uneven attention": "N^2 d^3 = V L^4 s^2", "noise tokens": "N d^2 = V L^(3/2) s",
    "informative tokens": "N d^4 = V L^2 s^2", "MLP mean": "m N^2 d^2 = V^2 L^4 s^2 (h_0/A)^2",
    "MLP neurons": "m N^2 d^2 = V^2 L^4 s^2 (1/L + 1/d) P_0 P_2/A^2", "trigger overlap": "d = 2 ln L",
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


def condition(branch: str, e: int) -> str:
    """The condition of a branch in symbols."""
    return CONDITION[branch].replace("{1 + e} ", "2 " if e else "")


def layer_moments(setting: Mapping[str, object]) -> dict[str, float]:
    """The moments of a setting's activation, for `branches`; nothing without an MLP. `setting` has L, d, m, its
    activation and its convention."""
    from ..activations import activation
    from .formulas.step_two import input_power
    from .noise_budget import typical_kernel
    from .seed import activation_moments

    m, L, d = (setting[name] for name in ("m", "L", "d"))
    if not (isinstance(m, int) and isinstance(L, int) and isinstance(d, int)):
        return {}
    phi, e = activation(str(setting["activation"])), int(bool(setting["trigger_in_value"]))
    found = activation_moments(phi, input_power(np.inf, float(max(L, 2)), e))
    kernel = typical_kernel(phi, float(d), e)
    return {"m": float(m), **{name: float(found[name]) for name in ("A", "B", "h0", "h1", "P0", "P2")},
            "k1": float(kernel.own), "k0": float(kernel.mean), "kv": float(kernel.variance) * d,
            "kz": float(kernel.noise)}
