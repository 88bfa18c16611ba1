"""All memories side by side: the facts that each holds at one d, or the d that each needs for so many facts."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, Literal

from ...settings import SettingError, check_integer, check_proportion
from ..formulas import memory_laws as laws
from ..formulas.leading_laws import recall_interference
from ..formulas.lower_bounds import bits_bound, permutation_bits
from .attention_memory import attention_capacity, attention_dimension
from .hebbian_memory import MOST_FACTS, WIDEST, hebbian_capacity, hebbian_dimension
from .linear_memory import linear_capacity, linear_dimension

__all__ = ["Comparison", "Memory", "compare_memories"]

BITS = 16  # a parameter, for the bound
WIDTH = 4  # of the MLP over d, as transformers have it

Criterion = Literal["almost all", "all"]


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
    d = None if d is None else check_integer("d", d, 1, WIDEST)
    facts = None if facts is None else check_integer("facts", facts, 2, MOST_FACTS)
    m = None if m is None else check_integer("m", m, 1, WIDEST)
    rank = None if rank is None else check_integer("rank", rank, 1, WIDEST if d is None else d)
    check_proportion("target", target)
    ask = _At(d, facts, target, rank, m)
    return Comparison(d, facts, target, tuple(ask.rows()))


@dataclasses.dataclass(frozen=True)
class _At:
    """What is asked, and how each memory answers: by its capacity at d, or by the dimension that the facts take."""

    d: int | None
    facts: int | None
    target: float
    rank: int | None
    m: int | None

    def rows(self) -> list[Memory]:
        found = [
            self._hebbian("Gaussian", "almost all"),
            self._hebbian("sphere", "almost all"),
            self._hebbian("Gaussian", "all"),
            self._hebbian("sphere", "all"),
        ]
        if self.rank is not None:
            found.insert(2, self._rank(self.rank))
        found += [
            self._row("best linear memory", "all", linear_capacity, linear_dimension, laws.linear_best,
                      lambda n: math.sqrt(2 * n * math.log(n)), "d^2 = 2 n ln n", "memory.linear.load"),
            self._law("trained linear memory, a fit", "almost all", laws.linear_trained, 13 / 10, "d^2 = 1.3 n ln n",
                      "memory.linear.trained"),
            self._mlp(),
            self._attention(),
            self._row("orthogonal embeddings", "all", lambda d: d if d >= 2 else None, int, float, float, "d = n",
                      "memory.orthogonal"),
            self._row(f"any memory of d^2 numbers of {BITS} bits, a bound", "all",
                      lambda d: bits_bound(float(d) ** 2, BITS), _bits_dimension,
                      lambda d: float(bits_bound(float(d) ** 2, BITS)), lambda n: float(_bits_dimension(n)),
                      f"{BITS} d^2 = log2 n!", "bound.bits"),
        ]
        return found

    def _row(self, name: str, criterion: Criterion, capacity: Callable[[int], int | None],
             dimension: Callable[[int], int | None], leading_facts: Callable[[float], Any],
             leading_d: Callable[[float], float], law: str, formula: str,
             parameters: Callable[[int], float] = lambda d: float(d) ** 2, embedding: str | None = None,
             rank: int | None = None) -> Memory:
        from ..formulas.registry import formulas

        facts, d = self.facts, self.d
        if d is not None:
            facts = capacity(d)
            leading = float(leading_facts(float(d)))
        elif facts is not None:
            d = dimension(facts)
            leading = float(leading_d(float(facts)))
        source = formulas[formula]
        return Memory(name, criterion, facts, d, None if d is None else parameters(d), law, leading, source.provenance,
                      source.reference, embedding, rank)

    def _hebbian(self, embedding: str, criterion: Criterion) -> Memory:
        every = criterion == "all"
        how: dict[str, Any] = {"embedding": embedding.lower(), "all_right": every}
        c = 8 if every else 2
        return self._row(
            f"Hebbian, {embedding}", criterion,
            lambda d: hebbian_capacity(d, self.target, **how), lambda n: hebbian_dimension(n, self.target, **how),
            laws.hebbian_all if every else laws.hebbian_most, lambda n: math.sqrt(c * n * math.log(n)),
            f"d^2 = {c} n ln n", "memory.hebbian.all" if every else "memory.hebbian.most",
            embedding=embedding.lower())

    def _rank(self, rank: int) -> Memory:
        return self._row(
            f"Hebbian, Gaussian, rank {rank:,}", "almost all",
            lambda d: hebbian_capacity(d, self.target, rank=rank),
            lambda n: hebbian_dimension(n, self.target, rank=rank),
            lambda d: laws.rank_most(d, rank), lambda n: 2 * n * math.log(n) / rank, "d r = 2 n ln n",
            "memory.rank.most", lambda d: 2.0 * d * rank, "gaussian", rank)

    def _attention(self) -> Memory:
        law = functools.partial(recall_interference, e=1, tau=1)

        def leading_d(n: float) -> float:
            return math.sqrt(4 * n * math.log(n))

        return self._row("attention layer, three steps, N -> inf", "almost all",
                         lambda d: attention_capacity(d, self.target, float(law(float(d)))),
                         lambda n: attention_dimension(n, self.target, leading_d(n)), law, leading_d,
                         "d^2 = 4 n ln n", "law.recall.interference")

    def _law(self, name: str, criterion: Criterion, law: Callable[[float], Any], constant: float, text: str,
             formula: str) -> Memory:
        """A row whose only number is the leading law."""
        return self._row(name, criterion, lambda d: _whole(law(float(d))),
                         lambda n: math.ceil(math.sqrt(constant * n * math.log(n))), law,
                         lambda n: math.sqrt(constant * n * math.log(n)), text, formula)

    def _mlp(self) -> Memory:
        def width(d: float) -> float:
            return WIDTH * d if self.m is None else self.m

        def dimension(n: float) -> float:
            size = 7 / 20 * n * math.log(n)
            return math.sqrt(size / WIDTH) if self.m is None else size / self.m

        name = f"trained MLP memory, m = {'4 d' if self.m is None else f'{self.m:,}'}, a fit"
        return self._row(name, "almost all", lambda d: _whole(laws.mlp_trained(float(d), float(width(d)))),
                         lambda n: math.ceil(dimension(n)), lambda d: laws.mlp_trained(d, width(d)), dimension,
                         "m d = 0.35 n ln n", "memory.mlp.trained", lambda d: 2.0 * d * width(d))


def _whole(n: float) -> int | None:
    """A number of facts as an integer; None below two."""
    return int(n) if n >= 2 else None


def _bits_dimension(n: float) -> int:
    """The least d with 16 d^2 >= log2 n!."""
    return math.ceil(math.sqrt(float(permutation_bits(float(n))) / BITS))
