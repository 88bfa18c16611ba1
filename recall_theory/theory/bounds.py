"""All bounds at one setting, or solved for the least N or the largest V that they leave."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from ..numerics.formatting import NOTHING, SCHEMA_VERSION, count, number
from ..numerics.thresholds import bisect, last_reaching
from ..settings import PARAMETERS, SIZES, SettingError, activation_in_use, check_at_most, check_proportion
from .formulas import lower_bounds as laws

BITS = 16  # bits a parameter
MOST_BITS = 1024
TARGET = 99 / 100
BRIEF = 10**6  # bits, from where on they are given to three digits
MODEL = "any model of P parameters of b bits, however it is trained"
LARGER = "a model that keeps more: the samples, or numbers of more bits"


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
    parameters = d * (m or d) + d
    parts = (_coverage(V, N, target), *_bits(V, parameters, bits, target), _gradient(V, L, d, N, m, target),
             _queries(V, L, d, N, m, target), _gradient_bits(V, d, m, bits, target))
    return Bounds(given, target, float(bits), parameters, parts)


def _coverage(V: int | None, N: int | None, target: float) -> Bound:
    recall = None if V is None or N is None else float(laws.coverage(V=float(V), N=float(N)))
    return Bound(
        "coverage", "N samples", "recall <= 1 - (1 - 1/V)^N + min(1, V (1 - 1/V)^N)/V", "exact",
        "any learner that sees N samples",
        "a learner that knows more of the permutation than the samples tell", ("bound.coverage",),
        recall=recall, allows=None if recall is None else recall >= target,
        least_N=None if V is None else _least_N(lambda n: float(laws.coverage(V=float(V), N=float(n))) >= target),
        largest_V=None if N is None else most_facts_from_samples(N, target), factor=1.0, factor_of="N: attained")


def most_facts_from_samples(N: int, target: float) -> int | None:
    """The largest V of which any learner of N samples can recall the target on average; None: any V."""
    return _largest_V(lambda v: float(laws.coverage(V=float(v), N=float(N))) >= target)


def most_facts_on_average(P: int, b: float, target: float) -> int | None:
    """The largest V of which P parameters of b bits can recall the target on average; None: any V, or none."""
    most = laws.bits_bound(P, b)
    return _largest_V(lambda v: float(laws.average_recall(V=float(v), P=float(P), b=float(b), a=float(most))) >= target)


def _bits(V: int | None, P: int, b: float, target: float) -> tuple[Bound, ...]:
    """All right, all but e = (1 - target) V right, and on average."""
    most, has = laws.bits_bound(P, b), P * b
    sees = f"all, keeps {number(has, 3) if has >= BRIEF else count(has)} bits"

    def errors(v: int) -> int:
        return math.floor((1 - target) * v)

    all_right, few_wrong, recall = None, None, None
    takes: list[dict[str, float]] = [{"bits": has}, {"bits": has}, {"bits": has}]
    if V is not None:
        takes[0]["takes"] = float(laws.permutation_bits(V=float(V)))
        takes[1] |= {"errors": errors(V), "takes": float(laws.bits_with_errors(V=float(V), errors=float(errors(V))))}
        all_right, few_wrong = most >= V, most >= V - errors(V)
        recall = float(laws.average_recall(V=float(V), P=float(P), b=float(b), a=float(most)))
    return (
        Bound("bits: all right", sees, "P b >= log2 V!", "exact", MODEL, LARGER, ("bound.bits",), allows=all_right,
              largest_V=most, factor=1.0, factor_of="V: attained by a code", details=takes[0]),
        Bound("bits: few wrong", sees, "P b >= log2 (V - e)!, at most e of V wrong, any answers", "rigorous", MODEL,
              LARGER,
              ("bound.bits.errors",), allows=few_wrong,
              largest_V=_largest_V(lambda v: v - errors(v) <= most), details=takes[1]),
        Bound("bits: on average", sees, "recall <= (1/V) sum_a min(1, 2^(P b)/a!)", "rigorous", MODEL, LARGER,
              ("bound.bits.average",), recall=recall, allows=None if recall is None else recall >= target,
              largest_V=most_facts_on_average(P, b, target), details=takes[2]),
    )


def _gradient(V: int | None, L: int, d: int, N: int | None, m: int | None, target: float) -> Bound:
    def recall(v: int, n: int) -> float:
        return min(1.0, float(laws.most_right(nats=_information(v, L, d, n, m))) / v)

    most = None if V is None or N is None else recall(V, N)
    least = None if V is None or L == 1 else _enough(V, L, d, m, target)
    takes = None if V is None or m is not None else _argmax_samples(V, L, d, target)
    return Bound(
        "gradient access", "gradient + noise", "a ln a - a + 1 <= I <= (D/2) ln(1 + N/((V-1)(L-1))), recall <= a/V, "
        + ("D = min(d, V-1)^2" if m is None else "D = min(d, V-1) min(m, V-1)"), "rigorous",
        "one-step readings: learners that see the mean first gradient in noise of its own sampling covariance",
        "the exact gradient, which tells all counts even at d = 1; three steps, which look at the samples again",
        ("bound.gradient" if m is None else "bound.gradient.mlp", "bound.information.recall"),
        recall=most, allows=None if most is None else most >= target,
        least_N=least, largest_V=None if N is None else _largest_V(lambda v: recall(v, N) >= target),
        factor=takes / least if takes and least else None, factor_of="N: argmax, predicted" if takes else "",
        details={} if V is None or N is None else {"nats": _information(V, L, d, N, m),
                                                   "takes": float(laws.least_information(a=max(1.0, target * V)))})


def _queries(V: int | None, L: int, d: int, N: int | None, m: int | None, target: float) -> Bound:
    """Statistical queries of each entry of the gradient's mean: the better of two bounds."""
    def recall(v: int, n: int) -> float:
        if L == 1:
            return 1.0
        asked = {"V": float(v), "L": float(L), "N": float(n), "P": float(min(d, v - 1) * min(m or d, v - 1))}
        nats = max(0.0, float(laws.queries_information(**asked)))
        return min(1.0, float(laws.queries_recall(**asked)), float(laws.most_right(nats=nats)) / v)

    most = None if V is None or N is None else recall(V, N)
    return Bound(
        "gradient queries", "gradient +- error", "recall <= 1/V + D N/((V-1)(L-1)), or a/V with I <= (D/2) "
        "ln(2 pi e [N/((V-1)(L-1)) + 1/12])", "rigorous", "learners of statistical queries: each of the D coordinates "
        "of the first gradient's mean is told within its sampling error, however it is wrong",
        "the gradient of the samples itself, whose errors are not the worst ones; the samples",
        ("bound.gradient.queries", "bound.gradient.queries.information"), recall=most,
        allows=None if most is None else most >= target,
        least_N=None if V is None or L == 1 else _least_N(lambda n: recall(V, n) >= target),
        largest_V=None if N is None else _largest_V(lambda v: recall(v, N) >= target))


def _gradient_bits(V: int | None, d: int, m: int | None, b: float, target: float) -> Bound:
    """The plain gradient, its entries in b bits."""
    nats = float(laws.gradient_information_bits(d=float(d), m=float(m or d), b=b))

    def recall(v: int) -> float:
        return min(1.0, float(laws.most_right(nats=nats)) / v)

    most = None if V is None else recall(V)
    return Bound(
        "gradient in bits", f"gradient, {number(b)} bits", "a ln a - a + 1 <= I <= "
        + ("d^2 b ln 2" if m is None else "d m b ln 2") + ", recall <= a/V; the scale fixed, or its bits counted too",
        "rigorous", "learners that see the first gradient once, its entries in b bits, and no noise added",
        "more bits: the exact gradient tells all counts even at d = 1",
        ("bound.gradient.bits", "bound.information.recall"), recall=most,
        allows=None if most is None else most >= target,
        largest_V=_largest_V(lambda v: recall(v) >= target),
        details={} if V is None else {"nats": nats, "takes": float(laws.least_information(a=max(1.0, target * V)))})


def _argmax_samples(V: int, L: int, d: int, target: float) -> int | None:
    """The least N at which the argmax of the noisy gradient is predicted to reach the target; None where none does."""
    from .one_step_memory import one_step_recall, one_step_samples

    low, high = int(PARAMETERS["N"].low), int(PARAMETERS["N"].high)

    def recall(n: int) -> float:
        return float(one_step_recall(V, L, d, n, noise=1)[0])

    if L == 1 or recall(high) < target:
        return None
    return last_reaching(recall, target, high, low, min(one_step_samples(V, L, d, target, noise=1), high))


def _information(V: int, L: int, d: int, N: int, m: int | None) -> float:
    """Nats about the permutation that a noisy first gradient holds at most; infinite where no token is noise."""
    if L == 1:
        return math.inf
    return float(laws.gradient_information_mlp(V=float(V), L=float(L), d=float(d), N=float(N), m=float(m or d)))


def _enough(V: int, L: int, d: int, m: int | None, target: float) -> int | None:
    """The least N at which a noisy first gradient tells enough: its information solved for N."""
    exponent = (2 * float(laws.least_information(a=max(1.0, target * V)))
                / (min(d, V - 1) * min(m or d, V - 1)))
    most = PARAMETERS["N"].high
    if exponent > math.log(most):
        return None
    least = max(1, math.ceil((V - 1) * (L - 1) * math.expm1(exponent)))
    return least if least <= most else None


def _least_N(reached: Callable[[int], bool]) -> int | None:
    """The least N at which a condition is met that stays met; None where it never is."""
    low, high = int(PARAMETERS["N"].low), int(PARAMETERS["N"].high)
    return bisect(reached, high, low - 1) if reached(high) else None


def _largest_V(reached: Callable[[int], bool]) -> int | None:
    """The largest V at which a condition is met that ends there; None where it is met nowhere, or to the end of
    the domain."""
    low, high = int(PARAMETERS["V"].low), int(PARAMETERS["V"].high)
    return bisect(reached, low, high) if reached(low) and not reached(high) else None
