"""The domain in which predictions were checked against simulation, and what to expect outside of it.

It was measured on settings drawn at random (validation/domain.py, which also holds it against them): inside, no
prediction of a mean was off by more than `INSIDE`, beyond three standard errors of the simulation. Outside,
`predict` answers too; its remark says why the setting is outside and which error to expect: nineteen of
twenty such settings were off by less. There is no upper end of the sizes: what the theory leaves out falls with them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..activations import activation as find
from ..activations import gaussian_mean, hermite_coefficients
from ..numerics.formatting import count, number
from ..settings import Setting

__all__ = ["INSIDE", "LEAST", "class_of", "is_checked", "linear_share", "remarks", "remarks_at",
           "share_of_few"]

INSIDE = {"attention-only": 0.008, "smooth": 0.010, "rough": 0.025}  # largest errors in the domain, by class

LEAST = {"V": 16, "d": 8, "m": 32, "N/V": 1}  # of the settings that were drawn
LONGEST = {"d/V": 24, "L/V": 16}  # likewise: the largest ratios to V
SMALL_ERROR = 0.1  # to expect below and beyond these

FEW_TOKENS = 24  # V up to which attention that fails is not the theory's of large V
FEW_ERROR = 0.04

LINEAR = 1 / 2  # share of an activation's variance that is linear, below which it counts as rough
MOST_OF_FEW = 1 / 4  # `share_of_few` above which a few neurons decide

POWER = 2  # |h|^2 of a value with the trigger in it, what a neuron sees in step three

Sizes = Mapping[str, NDArray[np.float64]]


@functools.lru_cache(maxsize=256)
def linear_share(activation: Any, power: float = POWER) -> float:
    """The share of Var phi(x) that is linear in x, for normal x of variance `power`.

    >>> round(linear_share("relu"), 3), linear_share("x**2 - 1")
    (0.733, 0.0)
    """
    phi = find(activation)
    mean, linear = hermite_coefficients(phi, power, 1)[:2]
    energy = float(gaussian_mean(phi, lambda x: phi.phi(x) ** 2, power))
    return float(linear**2 / (energy - mean**2))


def class_of(activation: Any | None) -> str:
    """"attention-only" for None, "smooth" for an activation most of whose variance is linear, else "rough".

    >>> class_of(None), class_of("relu"), class_of("x**3 - 3*x")
    ('attention-only', 'smooth', 'rough')
    """
    if activation is None:
        return "attention-only"
    return "smooth" if linear_share(activation) >= LINEAR else "rough"


@functools.lru_cache(maxsize=256)
def _fourth_moment(activation: Any) -> float:
    phi = find(activation)
    second = float(gaussian_mean(phi, lambda x: phi.phi(x) ** 2, POWER))
    return float(gaussian_mean(phi, lambda x: phi.phi(x) ** 4, POWER)) / second**2


def share_of_few(m: ArrayLike, activation: Any) -> Any:
    """E phi^4/(m (E phi^2)^2): the relative variance of a value's squared features over the neurons' weights.

    The theory takes sums over neurons for nearly normal. Where phi^2 has a heavy tail (x^3 - 3x) that asks for many.

    >>> round(float(share_of_few(600, "relu")), 6)
    0.01
    """
    return _fourth_moment(activation) / np.asarray(m, dtype=float)


def _outside(at: Sizes, activation: Any | None, embedding: str,
             trigger_in_value: bool) -> Iterator[tuple[NDArray[np.bool_], str, float]]:
    """Each way out of the domain: where it applies, what to say of it (with {sizes} to fill in) and the error."""
    V, L, N = (at[name] for name in "VLN")
    for name, least in LEAST.items():
        if name in at or name == "N/V":
            value = N / V if name == "N/V" else at[name]
            yield value < least, f"{name} = {{{name}}} is below {least}, the least that was checked", SMALL_ERROR
    for name, most in LONGEST.items():
        yield at[name[0]] / V > most, f"{name} = {{{name}}} is above {most}, the most that was checked", SMALL_ERROR
    if embedding != "orthogonal":
        yield (V < FEW_TOKENS) & (L > V / 4), f"so few tokens (V = {{V}}, below {FEW_TOKENS}) share long sequences " \
            "(L = {L}), which the theory of attention takes for independent", FEW_ERROR
    if activation is not None:
        few = share_of_few(at["m"], activation)
        yield few > MOST_OF_FEW * (1 + 1 / 10**9), "few of the m = {m} neurons decide under this activation", \
            SMALL_ERROR


def is_checked(at: Sizes, activation: Any | None, embedding: str, trigger_in_value: bool) -> NDArray[np.bool_]:
    """Whether settings lie in the domain; `at` holds arrays V, L, d, N and, with an MLP, m of one shape.

    >>> sizes = {name: np.array([8.0, 64.0]) for name in "VLdN"}
    >>> is_checked(sizes, None, "gaussian", True)
    array([False,  True])
    """
    ways = list(_outside(at, activation, embedding, trigger_in_value))
    return ~np.any([where for where, _, _ in ways], axis=0)


def remarks(setting: Setting) -> tuple[str, ...]:
    """Why the setting lies outside the domain, in one sentence with the error to expect; nothing where it is inside.

    >>> remarks(Setting(V=8, L=2, d=64, N=512))
    ('No prediction was checked here: V = 8 is below 16, the least that was checked. Expect errors of up to 0.1.',)
    >>> remarks(Setting(V=256, L=2, d=64, N=512))
    ()
    """
    if not setting.is_limit:
        return ("No prediction was checked here: eta and gamma are finite, and the theory is of their limit.",)
    if setting.embedding == "orthogonal" and setting.m is not None:
        return ("No prediction was checked here: there is none for orthogonal embeddings with an MLP.",)
    sizes = {name: float(size) for name in ("V", "L", "d", "N", "m") if (size := getattr(setting, name)) is not None}
    return remarks_at(sizes, setting.activation, setting.embedding, setting.trigger_in_value)


def remarks_at(sizes: Mapping[str, float], activation: Any | None, embedding: str,
               trigger_in_value: bool) -> tuple[str, ...]:
    """`remarks` for sizes V, L, d, N and, with an activation, m by name; N may be beyond what a setting allows."""
    at = {name: np.array(size) for name, size in sizes.items()}
    ways = [way for way in _outside(at, activation, embedding, trigger_in_value) if way[0]]
    if not ways:
        return ()
    shown = {name: count(int(size)) for name, size in sizes.items()}
    shown |= {f"{name}/V": number(sizes[name] / sizes["V"]) for name in ("N", "d", "L")}
    why = "; ".join(text.format(**shown) for _, text, _ in ways)
    return (f"No prediction was checked here: {why}. Expect errors of up to {max(error for _, _, error in ways):g}.",)
