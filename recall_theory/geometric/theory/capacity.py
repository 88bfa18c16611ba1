"""What N R facts ask of an embedding, and what an embedding of dimension d holds: side by side for both
constructions, the lower bound, and the associative memories of the other paper."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from ...settings import SettingError
from ...theory.formulas import geometric_laws as laws
from ..setting import PARAMETERS, GeometricSetting
from .counting import hops_bits, tables_bits
from .layout import MOST_D, best_within, cheapest, parameters, superposition_dimension
from .seek import last
from .superposition import COARSE, recall

__all__ = ["GeometricCapacity", "Row", "capacity", "crossovers"]

TARGET = 99 / 100
MOST_N, MOST_R = int(PARAMETERS["N"].high), int(PARAMETERS["R"].high)
ROUNDING = 1e-9  # of a bound in bits, so that R log2 N for a power of two is not rounded up


@dataclasses.dataclass(frozen=True)
class Row:
    """One way to hold the facts. Sizes that do not apply, or are beyond every range, are None.

    `facts_in` is where the facts are, `fact_parameters` how many numbers that is, `parameters` all of them.
    """

    name: str
    provenance: str
    N: int | None
    R: int | None
    d: int | None
    code_length: int | None = None
    mlp_width: int | None = None
    fact_parameters: float | None = None
    parameters: float | None = None
    recall: float | None = None
    facts_in: str = "embeddings"

    @property
    def facts_per_parameter(self) -> float | None:
        """Facts over the numbers that hold them."""
        if self.N is None or self.R is None or not self.fact_parameters:
            return None
        return self.N * self.R / self.fact_parameters

    def to_dict(self) -> dict[str, Any]:
        """The row as the JSON output has it."""
        return {**dataclasses.asdict(self), "facts_per_parameter": self.facts_per_parameter}


@dataclasses.dataclass(frozen=True)
class GeometricCapacity:
    """The rows for one question. `asked` is the size that was sought: "d", "N" or "R"; `crossover` as `crossovers`
    has it."""

    asked: str
    given: dict[str, Any]
    rows: tuple[Row, ...]
    crossover: dict[str, int | None]

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory geometric capacity`."""
        return {"schema_version": 1, "asked": self.asked, "given": self.given,
                "rows": [row.to_dict() for row in self.rows], "crossover": self.crossover}


@dataclasses.dataclass(frozen=True)
class Question:
    """Two of N, R and d, how queries are answered, and what settles the code length of random superposition."""

    N: int | None
    R: int | None
    d: int | None
    code_length: int | None
    mlp_width: int | None
    parameters: int | None
    target: float
    hops: int
    depth: int
    chain_of_thought: bool
    bits: float

    @property
    def asked(self) -> str:
        """The size that is sought."""
        return next(name for name in ("d", "N", "R") if getattr(self, name) is None)

    def exact(self, N: int, R: int) -> GeometricSetting | None:
        """The exact construction at these sizes; None where its words are more than any construction takes."""
        try:
            return GeometricSetting(N=N, R=R, hops=self.hops, depth=self.depth, construction="exact",
                                    chain_of_thought=self.chain_of_thought)
        except SettingError:
            return None

    def solved(self, least_d: Callable[[int, int], int | None], fits: Callable[[int, int, int], bool],
               least_N: int = 2) -> tuple[int | None, int | None, int | None]:
        """N, R and d with the unknown one found: the least d, or the last N or R that `fits`."""
        if self.d is None:
            assert self.N is not None and self.R is not None
            return self.N, self.R, least_d(self.N, self.R)
        d = self.d
        if self.N is None:
            assert self.R is not None
            R = self.R
            return last(lambda n: fits(n, R, d), least_N, MOST_N), R, d
        N = self.N
        return N, last(lambda r: fits(N, r, d), 1, MOST_R), d


def capacity(N: int | None = None, R: int | None = None, d: int | None = None, *, code_length: int | None = None,
             mlp_width: int | None = None, parameters: int | None = None, target: float = TARGET, hops: int = 1,
             depth: int = 1, chain_of_thought: bool = False, bits: float = 16.0) -> GeometricCapacity:
    """Two of N, R, d are given: the least d, or the largest N or R, for recall of at least `target`.

    code_length: k of random superposition; where None it is the largest that an MLP of `mlp_width` hidden units
    allows, else the one with the fewest parameters (when d is asked) or k = d, which recalls most (when it is
    given). parameters: a budget of them, for given N and R; random superposition is then laid out, k and d, for the
    best recall that it buys. bits: what a coordinate holds, for the lower bound.

    Raises SettingError where a number is out of range or the question is not one of these.

    >>> found = capacity(N=4096, R=8)
    >>> {row.name: row.d for row in found.rows}["exact construction"]
    104
    """
    given = {"N": N, "R": R, "d": d}
    given = {name: None if value is None else PARAMETERS[name].check(value) for name, value in given.items()}
    unknown = [name for name, value in given.items() if value is None]
    if len(unknown) != 1:
        raise SettingError(unknown[0] if unknown else "d", "capacity takes two of N, R and d, and finds the third")
    if not 0 < target < 1:
        raise SettingError("target", f"target={target!r} is not a number above 0 and below 1")
    if parameters is not None and unknown != ["d"]:
        raise SettingError("parameters", "a budget of parameters is laid out for given N and R; leave d out")
    settled = [name for name, value in (("code_length", code_length), ("mlp_width", mlp_width),
                                        ("parameters", parameters)) if value is not None]
    if len(settled) > 1:
        raise SettingError(settled[-1], f"{' and '.join(settled)} each settle the code length: give one of them")
    if code_length is not None and PARAMETERS["code_length"].check(code_length) < 2:
        raise SettingError("code_length", f"code_length={code_length!r} is too short: random superposition needs 2")
    q = Question(given["N"], given["R"], given["d"], code_length, mlp_width, parameters, target, hops, depth,
                 chain_of_thought, bits)
    GeometricSetting(N=2, R=1, hops=hops, depth=depth, chain_of_thought=chain_of_thought, bits=bits,
                     construction="exact")  # refuses a contradiction
    rows = (_exact(q), _superposed(q), _bounded(q),
            _matrix(q, "best linear memory", "kin",
                    lambda N, R: float(laws.linear_memory_dimension(float(N), float(R)))),
            _matrix(q, "lower bound, any matrix", "derived",
                    lambda N, R: math.sqrt(tables_bits(N, R) / bits * (1 - ROUNDING))))
    return GeometricCapacity(q.asked, dataclasses.asdict(q), rows, crossovers(q.N, q.R))


def _exact(q: Question) -> Row:
    def width(N: int, R: int) -> int | None:
        s = q.exact(N, R)
        return None if s is None or s.exact_width > MOST_D else s.exact_width

    def fits(N: int, R: int, d: int) -> bool:
        least = width(N, R)
        return least is not None and least <= d

    N, R, d = q.solved(width, fits)
    s = None if N is None or R is None else q.exact(N, R)
    if s is None or d is None:
        return Row("exact construction", "derived", N, R, d)
    slots = max(s.word_lengths) * s.R
    return Row("exact construction", "derived", N, R, d, s.k, s.mlp_width, s.N * float(s.words * s.k),
               parameters(s.N, s.words, slots, s.k, s.words * s.k), 1.0)


def _superposed(q: Question) -> Row:
    passes = len(GeometricSetting(N=2, R=1, hops=q.hops, depth=q.depth, chain_of_thought=q.chain_of_thought,
                                  construction="exact").word_lengths)
    aim = q.target ** (1 / passes)  # of one pass, for the whole query to be right

    def length(words: int, d: int) -> int:
        return min(q.code_length or d, d) if q.mlp_width is None else min(q.mlp_width // (2 * words), d)

    def fits(N: int, R: int, d: int) -> bool:
        s = q.exact(N, R)
        if s is None or (k := length(s.words, d)) < 2:
            return False
        return recall(N, s.words, k, d, COARSE) >= aim

    chosen: list[int] = []

    def least(N: int, R: int) -> int | None:
        s = q.exact(N, R)
        if s is None:
            return None
        slots = max(s.word_lengths) * R
        if q.parameters is not None:
            k, d = best_within(N, s.words, slots, q.parameters)
        elif q.code_length is None and q.mlp_width is None:
            k, d = cheapest(N, s.words, slots, aim)
        else:
            k = length(s.words, MOST_D)
            d = superposition_dimension(N, s.words, k, aim) if k >= 2 else None
        chosen[:] = [] if k is None else [k]
        return d

    N, R, d = q.solved(least, fits)
    s = None if N is None or R is None else q.exact(N, R)
    if s is None or d is None:
        return Row("random superposition", "derived", N, R, d)
    k = chosen[0] if chosen else length(s.words, d)
    whole = float(laws.chain(recall(s.N, s.words, k, d), passes, s.N))
    return Row("random superposition", "derived", N, R, d, k, 2 * s.words * k, s.N * float(d),
               parameters(s.N, s.words, max(s.word_lengths) * s.R, k, d), whole)


def _bounded(q: Question) -> Row:
    """The lower bound on d where the facts are in subject embeddings alone, for the answers of one pass."""
    # Layers that re-embed have facts in their lookup: what is left is that embeddings know one hop.
    hops = 1 if q.chain_of_thought or q.depth > 1 else q.hops

    def need(N: int, R: int) -> int | None:
        found = hops_bits(N, R, hops)
        return None if found is None else math.ceil(found / q.bits - ROUNDING)

    def fits(N: int, R: int, d: int) -> bool:
        least = need(N, R)
        return least is not None and least <= d

    # The bound speaks of N that the tree of words fits into.
    tree = 2 if q.R is None else max(2, sum(q.R**j for j in range(hops)))
    N, R, d = q.solved(need, fits, tree) if tree <= MOST_N else (q.N, q.R, q.d)
    if q.asked == "R" and N is not None and R is not None and R < MOST_R and need(N, R + 1) is None:
        R = None  # the bound ends before it binds
    numbers = None if N is None or d is None else N * float(d)
    return Row("lower bound, embeddings", "derived", N, R, d, fact_parameters=numbers)


def _matrix(q: Question, name: str, provenance: str, law: Callable[[int, int], float]) -> Row:
    """A memory that holds the N R facts as pairs in a d x d matrix, d by a law."""
    N, R, d = q.solved(lambda N, R: math.ceil(law(N, R)), lambda N, R, d: law(N, R) <= d)
    return Row(name, provenance, N, R, d, fact_parameters=None if d is None else float(d) ** 2, facts_in="matrix")


def crossovers(N: int | None, R: int | None) -> dict[str, int | None]:
    """Where the exact construction asks for no larger d than the best linear memory of the same facts: from which N
    on at this R, and up to which R at this N. None where it nowhere does, or for a size that is not given.

    >>> crossovers(4096, 8)
    {'from_N': 27, 'to_R': 722}
    """
    def smaller(N: int, R: int) -> bool:
        exact = R * ((N - 1).bit_length() + 1)
        return exact <= float(laws.linear_memory_dimension(float(N), float(R)))

    below = None if R is None else last(lambda n: not smaller(n, R), 2, MOST_N)
    from_N = None if R is None or below == MOST_N else 2 if below is None else below + 1
    return {"from_N": from_N, "to_R": None if N is None else last(lambda r: smaller(N, r), 1, MOST_R)}
