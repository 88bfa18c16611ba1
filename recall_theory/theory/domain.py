"""The domain in which predictions were checked against simulation, and what to expect outside of it.

It was measured on settings drawn at random (validation/domain.py, which also holds it against them): inside, no
prediction of a mean was off by more than `INSIDE`, beyond three standard errors of the simulation. Outside,
`predict` answers too; its remark says why the setting is outside and which error to expect: at least nineteen of
twenty such settings were off by less. There is no upper end of the sizes: what the theory leaves out falls with them.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..activations import Activation, gaussian_mean, hermite_coefficients
from ..activations import activation as find
from ..numerics.arrays import BoolArray, FloatArray, Rows
from ..numerics.formatting import count, number
from ..numerics.quantiser import FINEST
from ..settings import MOST_BITS, SIZES, Setting, SettingError, beta_of, check_integer

INSIDE = {"attention-only": 0.009, "smooth": 0.010, "rough": 0.025,
          "finite": 0.03, "few bits": 0.013}  # largest errors in the domain, by class, at finite rates, and of Val in
# few bits

LEAST_FINITE = 32  # V at finite rates, and L/V by whether the trigger is in the values
LONGEST_FINITE = {True: 1, False: 1 / 2}
FEW_FINITE, LONG_FINITE = 6, 1 / 8  # N/V below which accuracy at finite rates is too high where the trigger is in keys
# only and L is at least so many V
BEYOND_FINITE = 0.15  # error to expect beyond these

LEAST = {"V": 16, "d": 8, "m": 32, "N/V": 1}  # of the settings that were drawn
LARGEST = {"d/V": 24, "L/V": 16}  # likewise: the largest ratios to V
FEWEST_FOR_LONG = 19  # V below which sequences of V/2 or more hold too many of the tokens, but under rough activations
ENOUGH_FOR_LONG = 64  # unless there are so many samples, and embeddings are not orthogonal
LONG, FEW_FOR_LONGER = 8, 1 / 2  # L/V above which sequences need more samples than so many times their length
BEYOND = 0.08  # error to expect below and beyond these, or where few neurons decide
PER_TOKEN = {"attention-only": 1.6, "smooth": 1.6, "rough": 3.2}  # error to expect times V below the least V, and where
# there are few samples or numbers

# N below which counts vary more than the theory has it, at any length, and where L is at least V/3 with an MLP, or V/2
# without one and the trigger is in keys only; up to V, beyond which the law has the top score (for orthogonal
# embeddings it has not)
FEW_SAMPLES = {"attention-only": 36, "orthogonal": 32, "smooth": 56, "rough": 56}
FEW_FOR_LONG = {"attention-only": 112, "orthogonal": 56, "smooth": 72, "rough": 112}
# N/V below which attention is less than predicted where the trigger is in keys only and L is from so many V to V; with
# an MLP, under activations a share of at least `EVEN_PART` of whose mean square is their squared mean
FEW_A_TOKEN = {"attention-only": (6, 1 / 2), "smooth": (12, 1 / 4)}
EVEN_PART = 1 / 20
# V d below which attention is not that of many tokens where L is so many V or more
FEW_NUMBERS = {"attention-only": (200, 1.0), "smooth": (250, 1.0), "rough": (360, 0.25)}

EVEN = 1 / 1000  # `linear_share` below which an activation counts as even: with d below this attention's scores are far
LEAST_EVEN = {"the trigger in values": 16, "the trigger in keys only": 24, "short sequences": 40}  # from normal,
SHORT = 8  # L below which sequences with the trigger in values are short in this respect;
WIDE_EVEN, LONG_EVEN = 6, 1 / 8  # d/V above which, where L is so many V or more and the trigger in the values, tokens
# of few samples score high, and more is stored of them than the law has (x^2 - 1)
BEYOND_EVEN = 0.2  # error to expect below these dimensions
MOST_OF_FEW = {"even": 0.4, "other": 2.4}  # `share_of_few` above which a few neurons decide
LINEAR = 1 / 2  # share of an activation's variance that is linear, below which it counts as rough

POWER = 2  # |h|^2 of a value with the trigger in it, what a neuron sees in step three


@dataclasses.dataclass(frozen=True)
class Batch(Rows):
    """Settings that differ in their sizes V, L, d, N and m, arrays (B,).

    m and phi are None without an MLP, e is 1 if the trigger is in the values, else 0. To so many `bits` the entries of
    Val are quantised, or not at all; beta is eta*gamma, None in the limit. Raises `SettingError` for what the theory
    has no law of.
    """

    V: FloatArray
    L: FloatArray
    d: FloatArray
    N: FloatArray
    m: FloatArray | None
    phi: Activation | None
    embedding: str
    e: int
    bits: int | None = None
    beta: float | None = None

    def __post_init__(self) -> None:
        has_mlp, orthogonal, soft = self.phi is not None, self.embedding == "orthogonal", self.beta is not None
        if self.bits is not None and (has_mlp or orthogonal or soft):
            raise SettingError("bits", f"bits={self.bits}: Val is quantised without an MLP or learning rates, and with "
                               "gaussian or sphere embeddings only")
        if soft and (has_mlp or orthogonal):
            raise SettingError("eta", "eta and gamma: finite rates are predicted for gaussian and sphere embeddings "
                               "without an MLP (simulate takes them); leave them out for the limit")
        if has_mlp and orthogonal:
            raise SettingError("embedding", "embedding='orthogonal': with an MLP predict describes gaussian and "
                               "sphere embeddings (simulate takes it)")

    @classmethod
    def of(cls, V: ArrayLike, L: ArrayLike, d: ArrayLike, N: ArrayLike, *, m: ArrayLike | None = None, phi: Any = None,
           embedding: str = "gaussian", trigger_in_value: bool = True, bits: int | None = None,
           beta: float | None = None) -> Batch:
        """Settings whose sizes broadcast against one another; phi may be a name, an expression or an `Activation`, and
        bits an integer from 1 to 64, of which more than `FINEST` round nothing."""
        given = (V, L, d, N) if m is None else (V, L, d, N, m)
        arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(x, dtype=float)) for x in given))
        V1, L1, d1, N1, *width = (x.reshape(-1) for x in arrays)
        rounded = None if bits is None else check_integer("bits", bits, 1, MOST_BITS)
        return cls(V1, L1, d1, N1, width[0] if width else None, None if phi is None else find(phi), embedding,
                   int(trigger_in_value), None if rounded is None or rounded > FINEST else rounded, beta)

    @property
    def sphere(self) -> bool:
        """Whether embeddings have norm 1."""
        return self.embedding == "sphere"

    @property
    def activation(self) -> str | None:
        """The activation's name."""
        return None if self.phi is None else self.phi.name


def sizes_of(setting: Setting) -> dict[str, float]:
    """V, L, d, N and, with an MLP, m."""
    return {name: float(size) for name in SIZES if (size := getattr(setting, name)) is not None}


def batch_of(setting: Setting, bits: int | None = None) -> Batch:
    """One setting."""
    return Batch.of(**sizes_of(setting), phi=setting.activation, embedding=setting.embedding,
                    trigger_in_value=setting.trigger_in_value, bits=bits, beta=beta_of(setting.eta, setting.gamma))


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


@functools.lru_cache(maxsize=256)
def mean_share(activation: str, power: float = POWER) -> float:
    """(E phi)^2/E phi^2 for normal inputs of variance `power`: 0 of an odd activation.

    >>> round(mean_share("relu"), 3)
    0.318
    """
    phi = find(activation)
    return float(gaussian_mean(phi, phi.phi, power))**2 / float(gaussian_mean(phi, lambda x: phi.phi(x) ** 2, power))


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


def _outside(batch: Batch) -> Iterator[tuple[BoolArray, str, FloatArray]]:
    """Each way out of the domain: where it applies, what to say of it (sizes to be filled in), the error to expect."""
    V, L, d, N, activation, in_value = batch.V, batch.L, batch.d, batch.N, batch.activation, bool(batch.e)
    kind = class_of(activation)
    by_tokens, beyond = PER_TOKEN[kind] / V, np.full(V.shape, BEYOND)
    sizes = {"V": V, "d": d, "N/V": N / V, "d/V": d / V, "L/V": L / V} | ({} if batch.m is None else {"m": batch.m})
    for name, least in LEAST.items():
        if name in sizes:
            yield sizes[name] < least, f"{name} = {{{name}}} is below {least}, the least that was checked", \
                by_tokens if name == "V" else beyond
    for name, most in LARGEST.items():
        yield sizes[name] > most, f"{name} = {{{name}}} is above {most}, the most that was checked", beyond
    which = "orthogonal" if batch.embedding == "orthogonal" else kind
    if kind != "rough":
        enough, fewer = (np.inf, "") if which == "orthogonal" else (
            ENOUGH_FOR_LONG, f" and N = {{N}} below {ENOUGH_FOR_LONG}")
        yield (V >= LEAST["V"]) & (V < FEWEST_FOR_LONG) & (L >= V / 2) & (N < enough), \
            f"V = {{V}} is below {FEWEST_FOR_LONG}{fewer} while L = {{L}} is V/2 or more", by_tokens
    yield (L > LONG * V) & (N < FEW_FOR_LONGER * L), \
        f"N = {{N}} is below {_part(FEW_FOR_LONGER, 'L')} while L/V = {{L/V}} is above {LONG}", by_tokens
    samples, more = FEW_SAMPLES[which], FEW_FOR_LONG[which]
    yield N < samples, f"N = {{N}} is below {samples}", by_tokens
    if activation is not None or not in_value:
        length = 1 / 2 if activation is None else 1 / 3
        end = np.inf if which == "orthogonal" else V
        yield (N >= samples) & (N < more) & (L >= length * V) & (L <= end), \
            f"N = {{N}} is below {more} while L = {{L}} is {_part(length)} or more" \
            + ("" if which == "orthogonal" else " and at most V"), by_tokens
    if which in FEW_A_TOKEN and not in_value and (activation is None or mean_share(activation) >= EVEN_PART):
        most, length = FEW_A_TOKEN[which]
        yield (N < most * V) & (L >= length * V) & (L <= V), \
            f"N = {{N}} is below {most} V while L = {{L}} is {_part(length)} or more and at most V, with the trigger " \
            "in keys only", beyond
    if which != "orthogonal":
        few, length = FEW_NUMBERS[kind]
        yield (V * d < few) & (L >= length * V), \
            f"V d is below {few} while L = {{L}} is {_part(length)} or more", by_tokens
    if batch.beta is not None:
        soft = np.full(V.shape, BEYOND_FINITE)
        yield V < LEAST_FINITE, f"V = {{V}} is below {LEAST_FINITE}, the least that was checked at finite rates", soft
        longest = LONGEST_FINITE[in_value]
        yield L > longest * V, f"L/V = {{L/V}} is above {longest}, the most that was checked at finite rates" \
            + (" with the trigger in keys only" if not in_value else ""), soft
        if not in_value:
            yield (N < FEW_FINITE * V) & (L >= LONG_FINITE * V), \
                f"N = {{N}} is below {FEW_FINITE} V while L = {{L}} is {_part(LONG_FINITE)} or more, at finite rates " \
                "with the trigger in keys only", soft
    if activation is not None and batch.m is not None:
        is_even = linear_share(activation) < EVEN
        if is_even:
            short = in_value & (L < SHORT)
            trigger = f"the trigger in {'values' if in_value else 'keys only'}"
            for where, applies in ((trigger, ~short), ("short sequences", short)):
                least = LEAST_EVEN[where]
                yield applies & (d < least), f"d = {{d}} is below {least} with {where}, under an activation " \
                    "without a linear part", np.full(V.shape, BEYOND_EVEN)
            yield in_value & (d > WIDE_EVEN * V) & (L >= LONG_EVEN * V), \
                f"d/V = {{d/V}} is above {WIDE_EVEN} while L = {{L}} is {_part(LONG_EVEN)} or more, with {trigger}, " \
                "under an activation without a linear part", beyond
        most_share = MOST_OF_FEW["even" if is_even else "other"]
        yield share_of_few(batch.m, activation) > most_share * (1 + 1 / 10**9), \
            "few of the m = {m} neurons decide under this activation", beyond


def _part(length: float, of: str = "V") -> str:
    return of if length == 1 else f"{of}/{1 / length:.0f}"


def is_checked(batch: Batch) -> BoolArray:
    """Whether settings lie in the domain.

    >>> is_checked(Batch.of([8, 128], 8, 128, 128))
    array([False,  True])
    """
    return ~np.any([where for where, _, _ in _outside(batch)], axis=0)


def reasons(batch: Batch) -> tuple[list[str], float]:
    """Why the one setting of a batch lies outside the domain, and the largest error to expect, which is `INSIDE` where
    there is no reason. N may be beyond what a setting allows."""
    ways = [way for way in _outside(batch) if way[0]]
    shown = {name: count(int(size[0])) for name in SIZES if (size := getattr(batch, name)) is not None}
    shown |= {f"{name}/V": number(float(getattr(batch, name)[0] / batch.V[0])) for name in ("N", "d", "L")}
    kind = "finite" if batch.beta is not None else "few bits" if batch.bits else class_of(batch.activation)
    error = max((float(error[0]) for _, _, error in ways), default=INSIDE[kind])
    return [text.format(**shown) for _, text, _ in ways], min(error, 1.0)


def remarks_at(batch: Batch) -> tuple[str, ...]:
    """The reasons in one sentence with the error to expect; nothing where there are none."""
    return not_checked(*reasons(batch))


def not_checked(why: Sequence[str], error: float) -> tuple[str, ...]:
    """The remark that a prediction was not checked for these reasons, with the error to expect; none without reasons.

    >>> not_checked(["V = 8 is below 16", "N = 9 is below 32"], 0.2)
    ('Not checked: V = 8 is below 16; N = 9 is below 32. Expect predictions to be off by up to 0.2.',)
    """
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
        return remarks_at(batch_of(setting))
    if setting.embedding == "orthogonal" or setting.m is not None:
        return ("Not checked: there is no prediction at finite rates for orthogonal embeddings or with an MLP.",)
    large = (f"Not checked: eta = {number(setting.eta)} and gamma = {number(setting.gamma)} leave logits of up to "
             f"{number(setting.logits_after_step_one)} after step one, and the law takes them for 0.",)
    return remarks_at(batch_of(setting)) + (() if setting.has_small_rates else large)
