"""The domain in which predictions were checked against simulation, and what to expect outside of it.

It was measured on settings drawn at random (validation/domain.py, which also holds it against them): inside, no
prediction of a mean was off by more than `INSIDE`, beyond three standard errors of the simulation. Outside,
`predict` answers too; its remark says why the setting is outside and which error to expect: at least nineteen of
twenty such settings were off by less. There is no upper end of the sizes: what the theory leaves out falls with them.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..activations import Activation, gaussian_mean, hermite_coefficients
from ..activations import activation as find
from ..numerics.arrays import BoolArray, FloatArray, Rows
from ..numerics.formatting import count, number
from ..settings import SIZES, Setting

Sizes = Mapping[str, FloatArray]

INSIDE = {"attention-only": 0.009, "smooth": 0.010, "rough": 0.025,
          "finite": 0.02}  # largest errors in the domain, by class, and at finite rates without an MLP

LEAST_FINITE, LONGEST_FINITE = 64, 1 / 2  # V and L/V of the settings that were drawn at finite rates
BEYOND_FINITE = 0.1  # error to expect beyond these

LEAST = {"V": 16, "d": 8, "m": 32, "N/V": 1}  # of the settings that were drawn
LEAST_ROUGH = 64  # m of a rough activation
EVEN = 1 / 100  # `linear_share` below which an activation counts as even: with the trigger in keys only, and d below
LEAST_EVEN = 16  # this, attention's scores are far from normal,
BEYOND_EVEN = 0.2  # and this error is to be expected
LONGEST = {"d/V": 24, "L/V": 16}  # likewise: the largest ratios to V
BEYOND = 0.08  # error to expect below and beyond these, or where few neurons decide

FEW_SAMPLES, FEW_ORTHOGONAL = 56, 32  # N below which counts vary more than the theory has it,
FEW_FOR_LONG = 112  # and below which they do where sequences are long
FEW_TOKENS = {"attention-only": 20, "smooth": 23, "rough": 24}  # V below which, by class,
FEW_NUMBERS = 320  # or V d below which attention is not that of many tokens,
SHORT = 1 / 4  # but for L of at most so many V, where it hardly fails
PER_TOKEN = {"attention-only": 1.6, "smooth": 1.6, "rough": 3.2}  # error to expect there and below the least V, times V

LINEAR = 1 / 2  # share of an activation's variance that is linear, below which it counts as rough
MOST_OF_FEW = 1  # `share_of_few` above which a few neurons decide

POWER = 2  # |h|^2 of a value with the trigger in it, what a neuron sees in step three


@functools.lru_cache(maxsize=256)
def linear_share(activation: str, power: float = POWER) -> float:
    """The share of Var phi(x) that is linear in x, for normal x of variance `power`.

    >>> round(linear_share("relu"), 3), linear_share("x**2 - 1")
    (0.733, 0.0)
    """
    phi = find(activation)
    mean, linear = hermite_coefficients(phi, power, 1)[:2]
    energy = float(gaussian_mean(phi, lambda x: phi.phi(x) ** 2, power))
    return float(linear**2 / (energy - mean**2))


def class_of(activation: str | None) -> str:
    """"attention-only" for None, "smooth" for an activation most of whose variance is linear, else "rough".

    >>> class_of(None), class_of("relu"), class_of("x**3 - 3*x")
    ('attention-only', 'smooth', 'rough')
    """
    if activation is None:
        return "attention-only"
    return "smooth" if linear_share(activation) >= LINEAR else "rough"


@functools.lru_cache(maxsize=256)
def _fourth_moment(activation: str) -> float:
    phi = find(activation)
    second = float(gaussian_mean(phi, lambda x: phi.phi(x) ** 2, POWER))
    return float(gaussian_mean(phi, lambda x: phi.phi(x) ** 4, POWER)) / second**2


def share_of_few(m: ArrayLike, activation: str) -> FloatArray:
    """E phi^4/(m (E phi^2)^2): the relative variance of a value's squared features over the neurons' weights.

    The theory takes sums over neurons for nearly normal. Where phi^2 has a heavy tail (x^3 - 3x) that asks for many.

    >>> round(float(share_of_few(600, "relu")), 6)
    0.01
    """
    return np.asarray(_fourth_moment(activation) / np.asarray(m, dtype=float))


def _outside(at: Sizes, activation: str | None, embedding: str, beta: float | None = None, *,
             in_value: bool = True) -> Iterator[tuple[BoolArray, str, FloatArray]]:
    """Each way out of the domain: where it applies, what to say of it (sizes to be filled in), the error to expect."""
    V, L, N = (at[name] for name in "VLN")
    kind, is_long = class_of(activation), L > SHORT * V
    by_tokens, beyond = PER_TOKEN[kind] / V, np.full(V.shape, BEYOND)
    for name, least in (LEAST | ({"m": LEAST_ROUGH} if kind == "rough" else {})).items():
        if name in at or name == "N/V":
            value = N / V if name == "N/V" else at[name]
            yield value < least, f"{name} = {{{name}}} is below {least}, the least that was checked", \
                by_tokens if name == "V" else beyond
    for name, most in LONGEST.items():
        yield at[name[0]] / V > most, f"{name} = {{{name}}} is above {most}, the most that was checked", beyond
    samples = FEW_ORTHOGONAL if embedding == "orthogonal" else FEW_SAMPLES
    yield N < samples, f"N = {{N}} is below {samples}", by_tokens
    may_vary = activation is None or (kind == "smooth" and not in_value)
    yield may_vary & (N >= samples) & (N < FEW_FOR_LONG) & (L > V / 2), \
        f"N = {{N}} is below {FEW_FOR_LONG} while L = {{L}} is above V/2", by_tokens
    if embedding != "orthogonal":
        few = FEW_TOKENS[kind]
        yield (V < few) & is_long, f"V = {{V}} is below {few} while L = {{L}} is above V/4", by_tokens
        few_numbers = V * at["d"] < FEW_NUMBERS
        yield few_numbers & is_long, f"V d is below {FEW_NUMBERS} while L = {{L}} is above V/4", by_tokens
    if beta is not None:
        soft = np.full(V.shape, BEYOND_FINITE)
        yield V < LEAST_FINITE, f"V = {{V}} is below {LEAST_FINITE}, the least that was checked at finite rates", soft
        yield L > LONGEST_FINITE * V, f"L/V = {{L/V}} is above {LONGEST_FINITE}, the most that was checked at finite " \
            "rates", soft
    if activation is not None:
        if not in_value and linear_share(activation) < EVEN:
            yield at["d"] < LEAST_EVEN, f"d = {{d}} is below {LEAST_EVEN} with the trigger in keys only, under an " \
                "activation without a linear part", np.full(V.shape, BEYOND_EVEN)
        share = share_of_few(at["m"], activation)
        yield share > MOST_OF_FEW * (1 + 1 / 10**9), "few of the m = {m} neurons decide under this activation", beyond


def is_checked(at: Sizes, activation: str | None, embedding: str, beta: float | None = None, *,
               in_value: bool = True) -> BoolArray:
    """Whether settings lie in the domain; `at` holds arrays V, L, d, N and, with an MLP, m of one shape; beta is
    eta*gamma, None in the limit; `in_value` says that the trigger is part of the values.

    >>> sizes = {name: np.array([8.0, 128.0]) for name in "VLdN"}
    >>> is_checked(sizes, None, "gaussian")
    array([False,  True])
    """
    return ~np.any([where for where, _, _ in _outside(at, activation, embedding, beta, in_value=in_value)],
                   axis=0)


def reasons(sizes: Mapping[str, float], activation: str | None, embedding: str,
            beta: float | None = None, *, in_value: bool = True) -> tuple[list[str], float]:
    """Why sizes V, L, d, N and, with an activation, m lie outside the domain, and the largest error to expect, which
    is `INSIDE` where there is no reason. N may be beyond what a setting allows; beta and `in_value` as in
    `is_checked`."""
    at = {name: np.array(size) for name, size in sizes.items()}
    ways = [way for way in _outside(at, activation, embedding, beta, in_value=in_value) if way[0]]
    shown = {name: count(int(size)) for name, size in sizes.items()}
    shown |= {f"{name}/V": number(sizes[name] / sizes["V"]) for name in ("N", "d", "L")}
    error = max((float(error) for _, _, error in ways),
                default=INSIDE["finite" if beta is not None else class_of(activation)])
    return [text.format(**shown) for _, text, _ in ways], min(error, 1.0)


def remarks_at(sizes: Mapping[str, float], activation: str | None, embedding: str,
               beta: float | None = None, *, in_value: bool = True) -> tuple[str, ...]:
    """The reasons in one sentence with the error to expect; nothing where there are none. beta and `in_value` as in
    `is_checked`."""
    why, error = reasons(sizes, activation, embedding, beta, in_value=in_value)
    return (f"Not checked: {'; '.join(why)}. Expect predictions to be off by up to {error:.2g}.",) if why else ()


def remarks(setting: Setting) -> tuple[str, ...]:
    """Why predictions were not checked at a setting and the error to expect; nothing inside the domain.

    >>> remarks(Setting(V=8, L=2, d=64, N=512))
    ('Not checked: V = 8 is below 16, the least that was checked. Expect predictions to be off by up to 0.2.',)
    >>> remarks(Setting(V=256, L=2, d=64, N=512))
    ()
    """
    if setting.embedding == "orthogonal" and setting.m is not None:
        return ("Not checked: there is no prediction for orthogonal embeddings with an MLP.",)
    if setting.eta is None or setting.gamma is None:
        return remarks_at(sizes_of(setting), setting.activation, setting.embedding,
                          in_value=setting.trigger_in_value)
    if setting.embedding == "orthogonal" or setting.m is not None:
        return ("Not checked: there is no prediction at finite rates for orthogonal embeddings or with an MLP.",)
    large = (f"Not checked: eta = {number(setting.eta)} and gamma = {number(setting.gamma)} leave logits of up to "
             f"{number(setting.logits_after_step_one)} after step one, and the law takes them for 0.",)
    return (remarks_at(sizes_of(setting), None, setting.embedding, setting.eta * setting.gamma)
            + (() if setting.has_small_rates else large))


def sizes_of(setting: Setting) -> dict[str, float]:
    """V, L, d, N and, with an MLP, m."""
    return {name: float(size) for name in SIZES if (size := getattr(setting, name)) is not None}


@dataclasses.dataclass(frozen=True)
class Batch(Rows):
    """Settings that differ in their sizes V, L, d, N and m, arrays (B,).

    m and phi are None without an MLP, e is 1 if the trigger is in the values, else 0.
    """

    V: FloatArray
    L: FloatArray
    d: FloatArray
    N: FloatArray
    m: FloatArray | None
    phi: Activation | None
    embedding: str
    e: int
    bits: int | None = None  # to which the entries of Val are quantised

    @property
    def sphere(self) -> bool:
        """Whether embeddings have norm 1."""
        return self.embedding == "sphere"
