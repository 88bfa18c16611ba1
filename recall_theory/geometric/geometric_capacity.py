"""What N R facts require of an embedding, and what an embedding of dimension d holds: side by side for both
constructions, the lower bound, and the associative memories of the other paper."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

from ..errors import SettingError
from ..numerics.formatting import SCHEMA_VERSION
from ..numerics.thresholds import bisect, last_reaching
from ..settings import check_proportion
from ..theory.accuracy import LAW
from ..theory.formulas import geometric_laws as laws
from .geometric_setting import MOST_DIGIT, GeometricSetting
from .hop_depth import BITS_ROUNDING, hops_bits, tables_bits
from .superposition import (
    COARSE,
    MOST_D,
    best_within,
    cheapest,
    parameter_count,
    superposition_dimension,
    superposition_recall,
)

TARGET = 99 / 100
# The most N whose codes on a circle, kept and scored in a format, were all told apart; all smaller N were too, but in
# float32 only powers of two and three others were tried, and 16,384 fails. validation/geometric_circle.py.
CIRCLE = {"bfloat16": 50, "float16": 116, "float32": 8192}
MOST_N, MOST_R = int(GeometricSetting.parameters["N"].high), int(GeometricSetting.parameters["R"].high)

Layout = tuple[int, int] | None  # code length and d; None where none will do


@dataclasses.dataclass(frozen=True)
class CapacityRow:
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
class Question:
    """Two of N, R and d, what settles the code length of random superposition, and an exact construction that answers
    queries in the `shape` asked for, of any N and R."""

    N: int | None
    R: int | None
    d: int | None
    code_length: int | None
    mlp_width: int | None
    parameters: int | None
    target: float
    shape: GeometricSetting

    def solve(self, least_d: Callable[[int, int], float], least_N: int = 2) -> tuple[int | None, ...]:
        """N, R and d, the unknown one computed, where N R facts require d of at least `least_d(N, R)`, infinity beyond
        what it covers; None where nothing will do."""
        N, R, d = self.N, self.R, self.d
        if d is None:
            assert N is not None and R is not None
            least = least_d(N, R)
            return N, R, math.ceil(least) if least < math.inf else None
        if N is None:
            assert R is not None
            return last_reaching(lambda n: least_d(n, R) <= d, 1, least_N, MOST_N, guess=least_N), R, d
        return N, last_reaching(lambda r: least_d(N, r) <= d, 1, 1, MOST_R, guess=1), d


@dataclasses.dataclass(frozen=True)
class GeometricCapacity:
    """The rows for one question: `asked` is the size that was sought, "d", "N" or "R", `given` the arguments of
    `capacity` by name, and `crossover` as `crossovers` has it."""

    asked: str
    given: dict[str, Any]
    rows: tuple[CapacityRow, ...]
    crossover: dict[str, int | None]

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory geometric capacity`."""
        rows = [row.to_dict() for row in self.rows]
        return {"schema_version": SCHEMA_VERSION, "law": LAW, **vars(self), "rows": rows}


def capacity(N: int | None = None, R: int | None = None, d: int | None = None, *, code_length: int | None = None,
             mlp_width: int | None = None, parameters: int | None = None, target: float = TARGET, hops: int = 1,
             depth: int = 1, chain_of_thought: bool = False, bits: float = 16.0) -> GeometricCapacity:
    """Two of N, R, d are given: the least d, or the largest N or R, for recall of at least `target`.

    code_length: k of random superposition; where None it is the largest that an MLP of `mlp_width` hidden units
    allows, else the one with the fewest parameters (when d is asked) or k = d, which recalls most (when it is
    given). parameters: a budget of them, for given N and R; random superposition is then laid out, k and d, for the
    best recall that it buys. bits: what a coordinate holds, for the lower bound.

    Raises SettingError where a number is out of range or the question is not one of these.

    >>> answer = capacity(N=4096, R=8)
    >>> {row.name: row.d for row in answer.rows}["exact construction"]
    104
    """
    sizes = {name: None if value is None else GeometricSetting.parameters[name].check(value)
             for name, value in {"N": N, "R": R, "d": d}.items()}
    unknown = [name for name, value in sizes.items() if value is None]
    if len(unknown) != 1:
        raise SettingError(unknown[0] if unknown else "d", "capacity takes two of N, R and d, and finds the third")
    target = check_proportion("target", target)
    if parameters is not None and unknown != ["d"]:
        raise SettingError("parameters", "a budget of parameters is laid out for given N and R; leave d out")
    settling = {"code_length": code_length, "mlp_width": mlp_width, "parameters": parameters}
    settled = [name for name, value in settling.items() if value is not None]
    if len(settled) > 1:
        raise SettingError(settled[-1], f"{' and '.join(settled)} each settle the code length: give one of them")
    if code_length is not None and GeometricSetting.parameters["code_length"].check(code_length) < 2:
        raise SettingError("code_length", f"code_length={code_length!r} is too short: random superposition needs 2")
    how: dict[str, Any] = {"hops": hops, "depth": depth, "chain_of_thought": chain_of_thought, "bits": bits}
    q = Question(**sizes, **settling, target=target, shape=GeometricSetting(N=2, R=1, construction="exact", **how))
    digit = min(max(int(bits), 1), MOST_DIGIT)  # of as many whole bits as a coordinate has
    rows = (
        _coded(q, "exact construction", lambda N: (N - 1).bit_length()),
        _superposed(q),
        _bounded(q),
        _matrix(q, "best linear memory", "kin", _linear_memory_dimension),
        _matrix(q, "bound, any matrix", "derived",
                lambda N, R: math.sqrt(tables_bits(N, R) / bits * (1 - BITS_ROUNDING))),
        _coded(q, f"digits of {digit} bits", lambda N: -(-(N - 1).bit_length() // digit)),
        _coded(q, "codes on a circle, float32", lambda N: 2 if N <= CIRCLE["float32"] else None),
    )
    given = {**sizes, **settling, "target": target, **how}
    return GeometricCapacity(unknown[0], given, rows, crossovers(q.N, q.R))


def _coded(q: Question, name: str, code_length: Callable[[int], int | None]) -> CapacityRow:
    """Codes side by side, of a length that N tells; None where there are none."""
    def layout(N: int, R: int) -> Layout:
        s, k = q.shape.changed(N=N, R=R), code_length(N)
        if s is None or k is None or s.words * k + s.slots * R > MOST_D:
            return None
        return k, s.words * k + s.slots * R

    return _constructed(q, name, layout)


def _superposed(q: Question) -> CapacityRow:
    """Random superposition, each pass of a query right often enough for all of it to be."""
    @functools.cache
    def layout(N: int, R: int) -> Layout:
        s = q.shape.changed(N=N, R=R)
        if s is None:
            return None
        aim = q.target ** (1 / len(s.word_lengths))
        if q.parameters is not None:
            return best_within(N, s.words, s.slots * R, q.parameters)
        if q.d is None and q.code_length is None and q.mlp_width is None:
            return cheapest(N, s.words, s.slots * R, aim)
        most_d = q.d or MOST_D
        k = min(most_d, q.code_length or most_d if q.mlp_width is None else q.mlp_width // (2 * s.words))
        if k < 2:
            return None
        if q.d is not None:
            return (k, q.d) if superposition_recall(N, s.words, k, q.d, COARSE) >= aim else None
        least = superposition_dimension(N, s.words, k, aim)
        return None if least is None else (k, least)

    return _constructed(q, "random superposition", layout)


def _constructed(q: Question, name: str, layout: Callable[[int, int], Layout]) -> CapacityRow:
    """The row of a construction from the code length and d that N and R require."""
    N, R, d = q.solve(lambda N, R: (layout(N, R) or (0, math.inf))[1])
    if N is None or R is None or d is None:
        return CapacityRow(name, "derived", N, R, d)
    s, found = q.shape.changed(N=N, R=R), layout(N, R)
    assert s is not None and found is not None
    k, coded, recall = found[0], s.words * found[0], 1.0
    if name == "random superposition":
        coded = d
        recall = float(laws.chain(superposition_recall(s.N, s.words, k, d), len(s.word_lengths), s.N))
    return CapacityRow(name, "derived", N, R, d, k, 2 * s.words * k, s.N * float(coded),
                       parameter_count(s.N, s.words, s.slots * s.R, k, coded), recall)


def _bounded(q: Question) -> CapacityRow:
    """The lower bound on d where the facts are in subject embeddings alone, for the answers of one pass."""
    # Layers that re-embed have facts in their lookup: what is left is that embeddings know one hop.
    hops = 1 if q.shape.chain_of_thought or q.shape.depth > 1 else q.shape.hops

    def least_d(N: int, R: int) -> float:
        bits = hops_bits(N, R, hops)
        return math.inf if bits is None else bits / q.shape.bits - BITS_ROUNDING

    # The bound speaks of N that the tree of words fits into.
    tree = 2 if q.R is None else max(2, sum(q.R**j for j in range(hops)))
    N, R, d = q.solve(least_d, tree) if tree <= MOST_N else (q.N, q.R, q.d)
    if q.R is None and N is not None and R is not None and R < MOST_R and least_d(N, R + 1) == math.inf:
        R = None  # the bound ends before it binds
    numbers = None if N is None or d is None else N * float(d)
    return CapacityRow("bound, subject embeddings alone", "derived", N, R, d, fact_parameters=numbers)


def _matrix(q: Question, name: str, provenance: str, law: Callable[[int, int], float]) -> CapacityRow:
    """A memory that holds the N R facts as pairs in a d x d matrix, d by a law."""
    N, R, d = q.solve(law)
    return CapacityRow(name, provenance, N, R, d, fact_parameters=None if d is None else float(d) ** 2,
                       facts_in="matrix")


def _linear_memory_dimension(N: int, R: int) -> float:
    return float(laws.linear_memory_dimension(float(N), float(R)))


def crossovers(N: int | None, R: int | None) -> dict[str, int | None]:
    """Where the exact construction takes no larger d than the best linear memory of the same facts: from which N
    on, without exception, at this R, and up to which R at this N. None where it nowhere does, or for a size that is not
    given.

    >>> crossovers(4096, 8)
    {'from_N': 35, 'to_R': 722}
    """
    def larger(N: int, R: int) -> bool:
        return R * ((N - 1).bit_length() + 1) > _linear_memory_dimension(N, R)

    from_N = to_R = None
    if R is not None:
        # The exact d jumps past a power of two, and is the same up to the next one, while the other grows.
        jumps = [2**e + 1 for e in range(MOST_N.bit_length())]
        jump = next((n for n in reversed(jumps) if larger(n, R)), None)
        last = 1 if jump is None else bisect(lambda n: larger(n, R), jump, min(2 * jump - 1, MOST_N + 1))
        from_N = last + 1 if last < MOST_N else None
    if N is not None:
        to_R = last_reaching(lambda r: not larger(N, r), 1, 1, MOST_R, guess=1)
    return {"from_N": from_N, "to_R": to_R}
