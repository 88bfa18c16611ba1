"""What N R facts ask of an embedding, and what an embedding of dimension d holds: side by side for both
constructions, the lower bound, and the associative memories of the other paper."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

from ...setting import SettingError
from ..setting import PARAMETERS, GeometricSetting
from . import laws
from .seek import last, least_reaching
from .superposition import COARSE, FINE, Nodes, recall

__all__ = ["GeometricCapacity", "Row", "capacity", "crossovers", "parameters", "superposition_dimension"]

TARGET = 99 / 100
MOST_D = int(PARAMETERS["d"].high)
MOST_N, MOST_R = int(PARAMETERS["N"].high), int(PARAMETERS["R"].high)
FACTS = "embeddings"
CONSTANT = 1 / 1024  # relative width to which the best code length is sought


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
    facts_in: str = FACTS

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
    """The rows for one question. `asked` is the size that was sought: "d", "N" or "R"."""

    asked: str
    given: dict[str, Any]
    rows: tuple[Row, ...]
    crossover: dict[str, int | None]

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory geometric capacity`."""
        return {"schema_version": 1, "asked": self.asked, "given": self.given,
                "rows": [row.to_dict() for row in self.rows], "crossover": self.crossover}


@dataclasses.dataclass(frozen=True)
class Shape:
    """How queries are answered: hops, depth, chain of thought. With R it gives the number of words."""

    hops: int = 1
    depth: int = 1
    chain_of_thought: bool = False

    def of(self, N: int, R: int) -> GeometricSetting:
        """The exact construction of that shape."""
        return GeometricSetting(N=N, R=R, hops=self.hops, depth=self.depth, chain_of_thought=self.chain_of_thought,
                                construction="exact")


def parameters(N: int, words: int, slots: int, k: int, d: int) -> float:
    """Numbers in a model: N embeddings of dimension d, an MLP of width 2 words k that reads them and `slots`
    coordinates of relations and writes a code, its bias, and the unembedding."""
    width = 2.0 * words * k
    return N * float(d) + width * (d + slots + 1 + k) + N * float(k)


def capacity(N: int | None = None, R: int | None = None, d: int | None = None, *, code_length: int | None = None,
             mlp_width: int | None = None, budget: int | None = None, target: float = TARGET, hops: int = 1,
             depth: int = 1, chain_of_thought: bool = False, bits: float = 16.0) -> GeometricCapacity:
    """Two of N, R, d are given: the least d, or the largest N or R, for recall of at least `target`.

    code_length: k of random superposition; where None it is the largest that an MLP of `mlp_width` hidden units
    allows, else the one with the fewest parameters (when d is asked) or k = d, which recalls most (when it is
    given). budget: parameters in all; with it N and R must be given, and random superposition is laid out, k and d, for
    the best recall that the budget buys. bits: what a coordinate holds, for the lower bound.

    Raises SettingError where a number is out of range or the question is not one of these.

    >>> found = capacity(N=4096, R=8)
    >>> {row.name: row.d for row in found.rows}["exact construction"]
    104
    """
    given = {"N": N, "R": R, "d": d}
    for name, value in given.items():
        if value is not None:
            given[name] = PARAMETERS[name].check(value)
    unknown = [name for name, value in given.items() if value is None]
    if len(unknown) != 1:
        raise SettingError(unknown[0] if unknown else "d", "capacity takes two of N, R and d, and finds the third")
    asked = unknown[0]
    if not 0 < target < 1:
        raise SettingError("target", f"target={target!r} is not a number above 0 and below 1")
    if budget is not None and asked != "d":
        raise SettingError("parameters", f"parameters={budget}: a budget is laid out for given N and R; leave d out")
    if budget is not None and (code_length is not None or mlp_width is not None):
        raise SettingError("parameters", f"parameters={budget} settles code length and width: leave those out")
    if code_length is not None and mlp_width is not None:
        raise SettingError("mlp_width", "code_length and mlp_width both settle the code length: give one of them")
    if code_length is not None and code_length < 2:
        raise SettingError("code_length", f"code_length={code_length!r} is too short: random superposition needs 2")
    shape = Shape(hops, depth, chain_of_thought)
    how = _How(shape, code_length, mlp_width, budget, target)
    rows = (_exact(asked, given, shape), _superposed(asked, given, how), _bounded(asked, given, shape, bits),
            *_associative(asked, given))
    told = {**given, "target": target, "code_length": code_length, "mlp_width": mlp_width, "parameters": budget,
            "hops": hops, "depth": depth, "chain_of_thought": chain_of_thought, "bits": bits}
    return GeometricCapacity(asked, told, rows, crossovers(given["N"], given["R"]))


@dataclasses.dataclass(frozen=True)
class _How:
    """What settles the code length of random superposition."""

    shape: Shape
    code_length: int | None
    mlp_width: int | None
    budget: int | None
    target: float

    def k_within(self, words: int) -> int | None:
        """The code length that is given, or the largest within the MLP's width; None where neither is."""
        if self.mlp_width is not None:
            return self.mlp_width // (2 * words)
        return self.code_length


Given = dict[str, Any]


def _exact(asked: str, given: Given, shape: Shape) -> Row:
    def fits(N: int, R: int) -> bool:
        return _width(shape, N, R) <= given["d"]

    N, R, d = given["N"], given["R"], given["d"]
    if asked == "d":
        d = _width(shape, N, R)
    elif asked == "N":
        # The width depends on ceil(log2 N) alone: the largest N is a power of two.
        power = last(lambda e: fits(2**e, R), 1, 49)
        N = None if power is None else 2**power
    else:
        R = last(lambda r: fits(N, r), 1, MOST_R)
    if N is None or R is None or d is None or d > MOST_D:
        return Row("exact construction", "derived", N, R, d)
    s = shape.of(N, R)
    slots = max(s.word_lengths) * R
    return Row("exact construction", "derived", N, R, d, s.k, s.mlp_width, N * float(d - slots),
               parameters(N, s.words, slots, s.k, d - slots), 1.0)


def _width(shape: Shape, N: int, R: int) -> float:
    """The dimension of the exact construction; infinite where its words are too many."""
    try:
        return shape.of(N, R).exact_width
    except SettingError:
        return math.inf


def _words(shape: Shape, N: int, R: int) -> int | None:
    try:
        return shape.of(N, R).words
    except SettingError:
        return None


def _superposed(asked: str, given: Given, how: _How) -> Row:
    name = "random superposition"
    N, R, d = given["N"], given["R"], given["d"]
    passes = len(how.shape.of(2, 1).word_lengths)
    aim = how.target ** (1 / passes)  # of one pass, for the whole query to be right

    def reached(N: int, R: int) -> bool:
        words = _words(how.shape, N, R)
        if words is None:
            return False
        k = min(how.k_within(words) or d, d)
        return k >= 2 and recall(N, words, k, d, COARSE) >= aim

    k: int | None = None
    if asked == "d":
        words = _words(how.shape, N, R)
        if words is None:
            return Row(name, "derived", N, R, None)
        k, d = _layout(N, R, words, how, aim)
    elif asked == "N":
        N = last(lambda n: reached(n, R), 2, MOST_N)
    else:
        R = last(lambda r: reached(N, r), 1, MOST_R)
    if N is None or R is None or d is None:
        return Row(name, "derived", N, R, d, k)
    words = how.shape.of(N, R).words
    slots = max(how.shape.of(N, R).word_lengths) * R
    k = k or min(how.k_within(words) or d, d)
    whole = float(laws.chain(recall(N, words, k, d), passes, N))
    return Row(name, "derived", N, R, d, k, 2 * words * k, N * float(d), parameters(N, words, slots, k, d), whole)


def _layout(N: int, R: int, words: int, how: _How, aim: float) -> tuple[int | None, int | None]:
    """Code length and dimension: the least d for a code length that is settled, else the fewest parameters for the
    target, or the best recall for a budget."""
    slots = max(how.shape.of(N, R).word_lengths) * R
    k = how.k_within(words)
    if k is not None:
        return (k, superposition_dimension(N, words, k, aim)) if k >= 2 else (None, None)
    if how.budget is not None:
        return _best_within(N, words, slots, how.budget)

    def cost(k: int) -> float:
        d = superposition_dimension(N, words, k, aim, COARSE)
        return math.inf if d is None else parameters(N, words, slots, k, d)

    bend = 2 * math.log(N)
    k = _least(cost, 2, max(8, round(64 * bend)))
    return k, superposition_dimension(N, words, k, aim)


def superposition_dimension(N: int, words: int, k: int, target: float, nodes: Nodes = FINE) -> int | None:
    """The least d at which random superposition recalls with probability `target`; None beyond 10^9.

    >>> superposition_dimension(1024, 8, 64, 0.99)
    261
    """
    bend = 2 * math.log(N)
    guess = (words - 1) * bend / max(1 - bend / k, 1 / 8)
    return least_reaching(lambda d: recall(N, words, k, d, nodes), target, k, MOST_D, guess)


def _best_within(N: int, words: int, slots: int, budget: int) -> tuple[int | None, int | None]:
    """The code length and dimension of the best recall that so many parameters buy."""

    def room(k: int) -> int:
        return math.floor((budget - parameters(N, words, slots, k, 0)) / (N + 2 * words * k))

    longest = last(lambda k: room(k) >= k, 2, int(PARAMETERS["code_length"].high))
    if longest is None:
        return None, None
    k = _least(lambda k: -recall(N, words, k, min(room(k), MOST_D), COARSE), 2, longest)
    return k, min(room(k), MOST_D)


def _least(cost: Callable[[int], float], low: int, high: int) -> int:
    """An integer at which a cost with one valley in log k is least, by golden sections."""
    cost = functools.cache(cost)
    golden = (math.sqrt(5) - 1) / 2
    a, b = math.log(low), math.log(high)
    while b - a > CONSTANT and round(math.exp(b)) - round(math.exp(a)) > 2:
        left, right = b - golden * (b - a), a + golden * (b - a)
        if cost(round(math.exp(left))) <= cost(round(math.exp(right))):
            b = right
        else:
            a = left
    around = range(max(low, round(math.exp(a))), min(high, round(math.exp(b))) + 1)
    return min(around, key=cost) if len(around) <= 4 else round(math.exp((a + b) / 2))


def _bounded(asked: str, given: Given, shape: Shape, bits: float) -> Row:
    """The lower bound on d where the facts are in subject embeddings alone."""
    from .counting import hops_bits

    name, (N, R, d) = "lower bound", (given["N"], given["R"], given["d"])
    # Layers that re-embed carry facts in their lookup: then each subject is bound by one hop's facts alone.
    one_pass = 1 if shape.chain_of_thought or shape.depth > 1 else shape.hops

    def need(N: int, R: int) -> int | None:
        found = hops_bits(N, R, one_pass)
        return None if found is None else math.ceil(found / bits - 1e-12)

    def allows(N: int, R: int) -> bool:
        least = need(N, R)
        return least is not None and least <= d

    if asked == "d":
        d = need(N, R)
    elif asked == "N":
        # The bound speaks of N that the tree of words fits into.
        N = last(lambda n: allows(n, R), max(2, sum(R**j for j in range(one_pass))), MOST_N)
    else:
        R = last(lambda r: allows(N, r), 1, MOST_R)
        if R is not None and R < MOST_R and need(N, R + 1) is None:
            R = None  # the bound ends before it binds
    numbers = None if N is None or d is None else N * float(d)
    return Row(name, "derived", N, R, d, fact_parameters=numbers)


def _associative(asked: str, given: Given) -> list[Row]:
    """The linear associative memories that hold N R pairs in a d x d matrix."""
    rows = []
    for name, law in (("best linear memory", laws.linear_memory_dimension),
                      ("Hebbian memory, every fact", laws.hebbian_dimension)):
        N, R, d = given["N"], given["R"], given["d"]
        if asked == "d":
            d = math.ceil(law(float(N), float(R)))
        elif asked == "N":
            N = last(lambda n: float(law(float(n), float(R))) <= d, 2, MOST_N)
        else:
            R = last(lambda r: float(law(float(N), float(r))) <= d, 1, MOST_R)
        rows.append(Row(name, "kin", N, R, d, fact_parameters=float(d) ** 2, facts_in="matrix"))
    return rows


def crossovers(N: int | None, R: int | None) -> dict[str, int | None]:
    """Where the exact construction asks for a smaller d than the best linear memory of the same facts: from which N
    on at this R, and up to which R at this N. None where it nowhere does, or for a size that is not given.

    >>> crossovers(4096, 8)
    {'from_N': 27, 'to_R': 722}
    """
    def smaller(N: int, R: int) -> bool:
        return Shape().of(N, R).exact_width <= float(laws.linear_memory_dimension(float(N), float(R)))

    from_N = None
    if R is not None:
        below = last(lambda n: not smaller(n, R), 2, MOST_N)
        from_N = 2 if below is None else None if below == MOST_N else below + 1
    return {"from_N": from_N, "to_R": None if N is None else last(lambda r: smaller(N, r), 1, MOST_R)}
