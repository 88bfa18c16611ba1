"""All memories side by side: the facts that each holds at one d, or the d that each needs for so many facts."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri

from ...numerics.thresholds import bisect, last_reaching
from ...settings import SettingError, check_integer, check_proportion
from ..bounds import BITS
from ..domain import Batch
from ..formulas import memory_laws as laws
from ..formulas.leading_laws import recall_interference
from ..formulas.lower_bounds import bits_bound, permutation_bits
from ..formulas.registry import formulas
from ..recall import recall_and_accuracy
from ..seed import SeedLaws
from ..solve import RATIO_OF_LIMIT
from .hebbian_memory import LARGEST_D, MOST_FACTS, MOST_STORED, SIZE_PRECISION, hebbian_capacity, hebbian_dimension

NEURONS_A_DIMENSION = 4  # of the MLP over d, as transformers have it
DIGITS_OF_CAPACITY = 4  # after the first one: capacities of more are rounded down to these
FAR = 32  # times the leading law's answer: beyond it an attention layer's is not sought

Criterion = Literal["almost all", "all"]
Size = Callable[[Any], Any]  # facts by d, d by facts, or numbers by d
Pair = tuple[Size, Size]


@dataclasses.dataclass(frozen=True)
class Memory:
    """One memory: how many facts it holds at dimension d, of which its `parameters` are so many numbers.

    `criterion` says whether almost all facts (the target's share) or all must be right; `law` is the leading law and
    `leading` what it alone gives for the quantity that was asked; `provenance` and `reference` are those of the number
    shown. facts and d are None where the memory cannot. `embedding` and `rank` say which Hebbian memory to simulate;
    None for the others.
    """

    name: str
    criterion: Criterion
    facts: int | None
    d: int | None
    parameters: float | None
    law: str
    leading: float
    provenance: Literal["quoted", "secondary", "derived", "kin"]
    reference: str
    embedding: str | None = None
    rank: int | None = None

    @property
    def facts_per_parameter(self) -> float | None:
        """Facts over parameters; None where there is no number."""
        return None if self.facts is None or not self.parameters else self.facts / self.parameters

    def to_dict(self) -> dict[str, Any]:
        """The JSON of one row."""
        return dataclasses.asdict(self) | {"facts_per_parameter": self.facts_per_parameter}


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The memories at a given `d`, or for a given number of `facts` (the other is None)."""

    d: int | None
    facts: int | None
    target: float
    memories: tuple[Memory, ...]


def compare_memories(*, d: int | None = None, m: int | None = None, facts: int | None = None,
                     rank: int | None = None, target: float = 0.99) -> Comparison:
    """Every memory at embedding dimension d, or what d each needs for so many facts (give one of the two).

    `target` is the share of facts that must be right where almost all count, and the probability that all are where
    all count. `rank` adds a Hebbian memory of that rank, from 1 to d; `m` is the width of the MLP memory (4 d where
    None). d is from 1 to 10^9, facts from 2 to 10^15.

    Raises `SettingError`.

    >>> found = compare_memories(d=256)
    >>> [row.facts for row in found.memories if row.name.startswith("Hebbian, Gaussian")]
    [1499, 702]
    """
    if (d is None) == (facts is None):
        raise SettingError("d", "give d or facts, one of the two")
    d = None if d is None else check_integer("d", d, 1, LARGEST_D)
    facts = None if facts is None else check_integer("facts", facts, 2, MOST_FACTS)
    m = None if m is None else check_integer("m", m, 1, LARGEST_D)
    rank = None if rank is None else check_integer("rank", rank, 1, LARGEST_D if d is None else d)
    check_proportion("target", target)
    return Comparison(d, facts, target, tuple(_memories(d, facts, target, rank, m)))


def _memories(d: int | None, facts: int | None, target: float, rank: int | None, m: int | None) -> Iterator[Memory]:
    """Every row of the table, at a given d or for so many facts."""
    def row(name: str, criterion: Criterion, law: str, formula: str, leading: Pair, *, known: Pair | None = None,
            parameters: Size = lambda d: float(d)**2, **of_hebbian: Any) -> Memory:
        """`leading` is its law, solved for the facts at d and for the d that facts take; `known` what is known beyond
        it."""
        holds, size = facts, d
        if d is not None:
            of_law = float(leading[0](float(d)))
            holds = known[0](d) if known else int(of_law) if of_law >= 2 else None
        else:
            of_law = float(leading[1](float(facts or 0)))
            size = known[1](facts) if known else math.ceil(of_law)
        source = formulas[formula]
        return Memory(name, criterion, holds, size, None if size is None else parameters(size), law, of_law,
                      source.provenance, source.reference, **of_hebbian)

    def hebbian(embedding: str, criterion: Criterion, rank: int | None = None) -> Memory:
        name = f"Hebbian, {embedding}"
        how: dict[str, Any] = {"embedding": embedding.lower(), "rank": rank}
        more: dict[str, Any] = {**how, "known": (
            lambda d: hebbian_capacity(d, target, all_right=criterion == "all", **how),
            lambda n: hebbian_dimension(n, target, all_right=criterion == "all", **how))}
        if rank is not None:
            return row(f"{name}, rank {rank:,}", criterion, "d r = 2 n ln n", "memory.rank.most",
                       (lambda d: laws.rank_most(d, rank), lambda n: 2 * n * math.log(n) / rank),
                       parameters=lambda d: 2.0 * d * rank, **more)
        c, which, law = (8, "all", laws.hebbian_all) if criterion == "all" else (2, "most", laws.hebbian_most)
        return row(name, criterion, f"d^2 = {c} n ln n", f"memory.hebbian.{which}", (law, _root(c)), **more)

    def width(d: float) -> float:
        return NEURONS_A_DIMENSION * d if m is None else m

    def trained(n: float) -> float:
        size = 7 / 20 * n * math.log(n)
        return math.sqrt(size / NEURONS_A_DIMENSION) if m is None else size / m

    yield hebbian("Gaussian", "almost all")
    yield hebbian("sphere", "almost all")
    if rank is not None:
        yield hebbian("Gaussian", "almost all", rank)
    yield hebbian("Gaussian", "all")
    yield hebbian("sphere", "all")
    yield row("best linear memory", "all", "d^2 = 2 n ln n", "memory.linear.load", (laws.linear_best, _root(2)),
              known=(linear_capacity, linear_dimension))
    yield row("trained linear memory, a fit", "almost all", "d^2 = 1.3 n ln n", "memory.linear.trained",
              (laws.linear_trained, _root(13 / 10)))
    yield row(f"trained MLP memory, m = {'4 d' if m is None else f'{m:,}'}, a fit", "almost all", "m d = 0.35 n ln n",
              "memory.mlp.trained", (lambda d: laws.mlp_trained(d, float(width(d))), trained),
              parameters=lambda d: 2.0 * d * width(d))
    attention = functools.partial(recall_interference, e=1, tau=1)
    yield row("attention layer, three steps, N -> inf", "almost all", "d^2 = 4 n ln n", "law.recall.interference",
              (attention, _root(4)), known=(lambda d: attention_capacity(d, target, float(attention(float(d)))),
                                            lambda n: attention_dimension(n, target, _root(4)(n))))
    yield row("orthogonal embeddings", "all", "d = n", "memory.orthogonal", (float, float))
    of_bits = (lambda d: bits_bound(float(d)**2, BITS), lambda n: math.ceil(math.sqrt(permutation_bits(n) / BITS)))
    yield row(f"any memory of d^2 numbers of {BITS} bits, a bound", "all", f"{BITS} d^2 = log2 n!", "bound.bits",
              of_bits, known=of_bits)


def _root(constant: float) -> Size:
    """d of the law d^2 = constant n ln n."""
    return lambda n: math.sqrt(constant * n * math.log(n))


# --- the best linear memory: some d x d matrix ranks every right output first --------------------------

def linear_load(share: float) -> float:
    """Greatest load n/d^2 at which some linear memory lets each fact lead the average of the strongest `share` of its
    competitors (the tail-average margin).

    share: above 0 and at most 1; at 1 the load is 2, at 1/(n - 1) the strongest competitor alone counts.
    Raises ValueError outside. Provenance: kin, see `formulas["memory.linear.load"]`.

    >>> linear_load(1.0), round(linear_load(1e-3), 4)
    (2.0, 0.0811)
    """
    if not 0 < share <= 1:
        raise ValueError(f"share, of the competitors, must be above 0 and at most 1: got {share:g}")
    return 2.0 if share == 1 else float(laws.linear_load(-ndtri(share)))


def linear_capacity(d: float) -> int:
    """The most facts n whose load n/d^2 is at most `linear_load(1/(n - 1))`, at least 2.

    A law for large d: at small d true capacities scatter, and the extrapolation from a fixed share of competitors to
    one of them is not proved.

    >>> linear_capacity(256), round(float(laws.linear_best(256)))
    (4342, 3956)
    """
    return last_reaching(lambda n: math.log(linear_load(1 / (n - 1))) - math.log(n / d**2), 0, 2, MOST_STORED,
                         float(laws.linear_best(float(d))), relative=SIZE_PRECISION, scale=float) or 2


def linear_dimension(n: float) -> int:
    """The least d at which `linear_capacity` allows n facts (at least 2): n/d^2 <= linear_load(1/(n - 1)).

    >>> linear_dimension(4342), linear_dimension(2)
    (256, 1)
    """
    load = linear_load(1 / (n - 1))
    return bisect(lambda d: n <= d * d * load, math.ceil(math.sqrt(n / load)) + 1, 0)


# --- the attention layer: three steps, training attention right, as many samples as it takes -----------

def recall_at(V: float, d: float) -> float:
    """Recall of V facts at dimension d, mean over seeds."""
    sure = np.zeros(1)
    return float(recall_and_accuracy(SeedLaws(Batch.of(V, 1, d, RATIO_OF_LIMIT * V)), sure, sure)["recall"][0])


def attention_capacity(d: int, target: float, leading: float) -> int | None:
    """The most facts of which a share `target` is recalled at dimension d; None below 2. `leading` is a law's answer.

    >>> attention_capacity(256, 0.99, 2136)
    704
    """
    unit = 10 ** max(0, math.floor(math.log10(max(leading, 1))) - DIGITS_OF_CAPACITY)
    most = last_reaching(lambda n: recall_at(n * unit, d), target, 2, math.ceil(max(FAR * leading / unit, 16)),
                         leading / unit)
    return None if most is None else most * unit


def attention_dimension(facts: int, target: float, leading: float) -> int | None:
    """The least dimension at which a share `target` of so many facts is recalled.

    >>> attention_dimension(702, 0.99, 135)
    256
    """
    return last_reaching(lambda d: recall_at(facts, d), target, math.ceil(max(FAR * leading, 16)), 1, leading)
