"""All bounds at one setting, or solved for the least N or the largest V that they leave."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

from ..numerics.formatting import NOTHING, SCHEMA_VERSION, count, number
from ..numerics.thresholds import bisect, last_reaching
from ..settings import PARAMETERS, SIZES, SettingError, activation_in_use, check_at_most, check_proportion
from .formulas import lower_bounds as laws
from .one_step_memory import one_step_recall, one_step_samples

BITS = 16  # bits a parameter
MOST_BITS = 1024
TARGET = 99 / 100
BRIEF = 10**6  # bits, from where on they are given to three digits
_MODEL = ("any model of P parameters of b bits, however it is trained",
          "a model that keeps more: the samples, or numbers of more bits")
# Of each bound: what a learner sees, the statement, whom it binds and who breaks it, and the formulas.
_WORDS = {
    "coverage": (
        "N samples", "recall <= 1 - (1 - 1/V)^N + min(1, V (1 - 1/V)^N)/V", "any learner that sees N samples",
        "a learner that knows more of the permutation than the samples tell", "bound.coverage"),
    "bits: all right": ("all, keeps {has} bits", "P b >= log2 V!", *_MODEL, "bound.bits"),
    "bits: few wrong": ("all, keeps {has} bits", "P b >= log2 (V - e)!, at most e of V wrong, any answers", *_MODEL,
                        "bound.bits.errors"),
    "bits: on average": ("all, keeps {has} bits", "recall <= (1/V) sum_a min(1, 2^(P b)/a!)", *_MODEL,
                         "bound.bits.average"),
    "gradient access": (
        "gradient + noise", "a ln a - a + 1 <= I <= (D/2) ln(1 + N/((V-1)(L-1))), recall <= a/V, D = {D}",
        "one-step readings: learners that see the mean first gradient in noise of its own sampling covariance",
        "the exact gradient, which tells all counts even at d = 1; three steps, which look at the samples again",
        "bound.gradient{mlp} bound.information.recall"),
    "gradient queries": (
        "gradient +- error",
        "recall <= 1/V + D N/((V-1)(L-1)), or a/V with I <= (D/2) ln(2 pi e [N/((V-1)(L-1)) + 1/12])",
        "learners of statistical queries: each of the D coordinates of the first gradient's mean is told within its "
        "sampling error, however it is wrong",
        "the gradient of the samples itself, whose errors are not the worst ones; the samples",
        "bound.gradient.queries bound.gradient.queries.information"),
    "gradient in bits": (
        "gradient, {b} bits",
        "a ln a - a + 1 <= I <= {entries} b ln 2, recall <= a/V; the scale fixed, or its bits counted too",
        "learners that see the first gradient once, its entries in b bits, and no noise added",
        "more bits: the exact gradient tells all counts even at d = 1",
        "bound.gradient.bits bound.information.recall"),
}


@dataclasses.dataclass(frozen=True)
class Bound:
    """One bound at a setting, in words and numbers.

    `strength` is "exact", "rigorous" or "approximate"; `binds` says which learners it holds for, `broken_by` which
    one beats it once the assumption is dropped, `formulas` are the registered names. `recall` is the most that can
    be recalled on average, and `allows` whether it allows what is asked (None where V or N is not given). `access`
    is what the learner is assumed to see, and `factor` how far from the bound the best decoder with a closed form is,
    in the size that `factor_of` names: 1 where one attains it, None where none is known. Of N and V
    the other being given, `least_N` and `largest_V` are the ends; None where it sets none within the domain.
    """

    name: str
    access: str
    statement: str
    strength: str
    binds: str
    broken_by: str
    formulas: tuple[str, ...]
    recall: float | None = None
    allows: bool | None = None
    least_N: int | None = None
    largest_V: int | None = None
    factor: float | None = None
    factor_of: str = ""
    details: dict[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Bounds:
    """The bounds at a setting of which V or N may be left open; recall is asked to reach `target`."""

    setting: dict[str, Any]
    target: float
    bits: float
    parameters: int
    bounds: tuple[Bound, ...]

    def __getitem__(self, name: str) -> Bound:
        return next(b for b in self.bounds if b.name == name)

    def least_samples(self, bound: Bound) -> str:
        """The least N of a bound in words; one that no N changes either allows the target or does not."""
        if bound.least_N is not None:
            return count(bound.least_N)
        if bound.name in ("gradient access", "gradient queries"):
            return NOTHING if self.setting["L"] == 1 else "over 10^15"
        return "no N" if bound.allows is False else "any"

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory bounds`."""
        return {"schema_version": SCHEMA_VERSION, **dataclasses.asdict(self)}


def bounds_at(*, V: int | None = None, L: int, d: int, N: int | None = None, m: int | None = None,
              activation: Any = None, target: float = TARGET, bits: float = BITS) -> Bounds:
    """Coverage, bits and gradient access at the sizes given. V or N may be left out, not both.

    Recall is that on average over a uniform permutation; `bits` are bits a parameter. The activation of an MLP
    changes no bound. Raises `SettingError` for a value outside its domain.

    >>> found = bounds_at(V=64, L=16, d=16, N=945)
    >>> round(found["gradient access"].recall, 3), found["bits: all right"].largest_V
    (0.539, 564)
    """
    if V is None and N is None:
        raise SettingError("V", "V and N are both missing: give V, N or both")
    given: dict[str, Any] = {"V": V, "L": L, "d": d, "N": N, "m": m, "activation": activation}
    for name, value in given.items():
        if value is not None or name in ("L", "d"):
            given[name] = PARAMETERS[name].check(value)
    if m is None:
        activation_in_use(m, activation)
    check_at_most("bits", bits, MOST_BITS)
    check_proportion("target", target)
    V, L, d, N, m = (given[name] for name in SIZES)
    P = d * (m or d) + d
    return Bounds(given, target, float(bits), P, tuple(_bounds(V, L, d, N, m, P=P, b=bits, target=target)))


def _bounds(V: int | None, L: int, d: int, N: int | None, m: int | None, *, P: int, b: float,
            target: float) -> Iterator[Bound]:
    """The bounds in the order in which they are shown; P is the number of parameters, b their bits."""
    most, has, wide = laws.bits_bound(P, b), P * b, m or d
    filled = {"has": number(has, 3) if has >= BRIEF else count(has), "b": number(b), "mlp": ".mlp" if m else "",
              "D": "min(d, V-1) min(m, V-1)" if m else "min(d, V-1)^2", "entries": "d m" if m else "d^2"}

    def bound(name: str, share: Callable[[int, int], float], *, of_samples: bool = True, strength: str = "rigorous",
              **more: Any) -> Bound:
        """`share` is the most recall that V facts allow from N samples; without `of_samples` N is no matter to it."""
        access, statement, binds, broken_by, names = (text.format(**filled) for text in _WORDS[name])
        found: dict[str, Any] = {}
        if V is not None and (N is not None or not of_samples):
            found["recall"] = share(V, N or 0)
            found["allows"] = found["recall"] >= target
        if V is not None and of_samples and (L > 1 or name == "coverage"):
            found["least_N"] = _least_N(lambda n: share(V, n) >= target)
        if N is not None or not of_samples:
            found["largest_V"] = _largest_V(lambda v: share(v, N or 0) >= target)
        return Bound(name, access, statement, strength, binds, broken_by, tuple(names.split()), **(found | more))

    def of_nats(v: int, nats: float) -> float:
        return min(1.0, float(laws.most_right(nats=max(0.0, nats))) / v)

    def sizes(v: int, n: int) -> dict[str, float]:
        return {"V": float(v), "L": float(L), "N": float(n)}

    def gradient(v: int, n: int) -> float:
        """Nats about the permutation that a noisy first gradient holds at most; infinite where no token is noise."""
        return math.inf if L == 1 else float(laws.gradient_information_mlp(d=float(d), m=float(wide), **sizes(v, n)))

    def queries(v: int, n: int) -> float:
        """The better of two bounds."""
        if L == 1:
            return 1.0
        P = float(min(d, v - 1) * min(wide, v - 1))
        return min(float(laws.queries_recall(P=P, **sizes(v, n))),
                   of_nats(v, float(laws.queries_information(P=P, **sizes(v, n)))))

    def errors(v: int) -> int:
        return math.floor((1 - target) * v)

    stored: dict[str, float] = {"bits": has}
    all_right, few_wrong, least_nats = {}, {}, {}
    if V is not None:
        wrong = errors(V)
        all_right = {"takes": float(laws.permutation_bits(V=float(V)))}
        few_wrong = {"errors": wrong, "takes": float(laws.bits_with_errors(V=float(V), errors=float(wrong)))}
        least_nats = {"takes": float(laws.least_information(a=max(1.0, target * V)))}

    yield bound("coverage", lambda v, n: float(laws.coverage(V=float(v), N=float(n))), strength="exact", factor=1.0,
                factor_of="N: attained")
    yield bound("bits: all right", lambda v, _: float(v <= most), of_samples=False, strength="exact", recall=None,
                largest_V=most, factor=1.0, factor_of="V: attained by a code", details=stored | all_right)
    yield bound("bits: few wrong", lambda v, _: float(v - errors(v) <= most), of_samples=False, recall=None,
                details=stored | few_wrong)
    yield bound("bits: on average", lambda v, _: laws.recall_of_bits(v, P, b), of_samples=False, details=stored)
    access = bound("gradient access", lambda v, n: of_nats(v, gradient(v, n)),
                   details={} if V is None or N is None else {"nats": gradient(V, N), **least_nats})
    takes = None if V is None or m is not None else _argmax_samples(V, L, d, target)
    if takes and access.least_N:
        access = dataclasses.replace(access, factor=takes / access.least_N, factor_of="N: argmax, predicted")
    yield access
    yield bound("gradient queries", queries)
    nats = float(laws.gradient_information_bits(d=float(d), m=float(wide), b=b))
    yield bound("gradient in bits", lambda v, _: of_nats(v, nats), of_samples=False,
                details={} if V is None else {"nats": nats, **least_nats})


def most_facts_from_samples(N: int, target: float) -> int | None:
    """The largest V of which any learner of N samples can recall the target on average; None: any V."""
    return _largest_V(lambda v: float(laws.coverage(V=float(v), N=float(N))) >= target)


def most_facts_on_average(P: int, b: float, target: float) -> int | None:
    """The largest V of which P parameters of b bits can recall the target on average; None: any V, or none."""
    return _largest_V(lambda v: laws.recall_of_bits(v, P, b) >= target)


def _argmax_samples(V: int, L: int, d: int, target: float) -> int | None:
    """The least N at which the argmax of the noisy gradient is predicted to reach the target; None where none does."""
    low, high = int(PARAMETERS["N"].low), int(PARAMETERS["N"].high)

    def recall(n: int) -> float:
        return float(one_step_recall(V, L, d, n, noise=1)[0])

    if L == 1 or recall(high) < target:
        return None
    return last_reaching(recall, target, high, low, min(one_step_samples(V, L, d, target, noise=1), high))


def _least_N(reached: Callable[[int], bool]) -> int | None:
    """The least N at which a condition is met that stays met; None where it never is."""
    low, high = int(PARAMETERS["N"].low), int(PARAMETERS["N"].high)
    return bisect(reached, high, low - 1) if reached(high) else None


def _largest_V(reached: Callable[[int], bool]) -> int | None:
    """The largest V at which a condition is met that ends there; None where it is met nowhere, or to the end of
    the domain."""
    low, high = int(PARAMETERS["V"].low), int(PARAMETERS["V"].high)
    return bisect(reached, low, high) if reached(low) and not reached(high) else None
