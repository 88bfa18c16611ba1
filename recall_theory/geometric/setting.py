"""One `GeometricSetting` drives the constructions, their prediction and their simulation."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ..settings import Parameter, SettingError

__all__ = ["CONSTRUCTIONS", "MOST_CODED", "PARAMETERS", "GeometricSetting"]

CONSTRUCTIONS = ("superposition", "exact")
MOST_CODED = 10**5  # coordinates of code, words * code_length, that a subject's embedding may superpose

PARAMETERS: dict[str, Parameter] = {
    p.name: p
    for p in (
        Parameter("N", "subjects, and attributes in the set that all relations share", "integer",
                  2, 1e15, (2, 4096)),
        Parameter("R", "relations, each a bijection from subjects to attributes", "integer", 1, 1e6, (1, 32)),
        Parameter("d", "embedding dimension; none is what the exact construction takes", "integer",
                  1, 1e9, (16, 512), optional=True),
        Parameter("code_length", "coordinates k of an attribute's code; none is ceil(log2 N)", "integer",
                  1, 1e6, (4, 64), optional=True),
        Parameter("hops", "relations in a query: 2 is 'the mother of the wife of x'", "integer",
                  1, 64, (1, 6), default=1),
        Parameter("depth", "layers, each but the last re-embedding its answer for the next", "integer",
                  1, 64, (1, 6), default=1),
        Parameter("chain_of_thought", "whether each hop is a pass of its own, its answer written out and read "
                  "again", "flag", default=False),
        Parameter("construction", "superposition: random codes under random maps; exact: codes of bits side by "
                  "side", "choice", default="superposition", choices=CONSTRUCTIONS),
        Parameter("bits", "bits that a coordinate of an embedding holds, for the lower bound", "real",
                  1 / 1024, 1024, (1, 32), default=16.0),
    )
}


@dataclasses.dataclass(frozen=True)
class GeometricSetting:
    """One problem of geometric recall: N subjects, R relations, and the model that holds the N R facts.

    d: embedding dimension. code_length: k, the coordinates of an attribute's code. Both may be left out for
    the exact construction, which then takes the least that it can do with. hops: relations in a query,
    answered in one pass, or in `hops` passes with `chain_of_thought`, or layer by layer at `depth` above 1.
    bits: what a coordinate holds, in bits, for the lower bound.

    Raises `SettingError` (a `ValueError`) that names the parameter, the value and the domain; among others where
    the words of `hops` relations would take more than 10^5 coordinates of code.

    >>> s = GeometricSetting(N=1000, R=4, construction="exact", hops=2)
    >>> s.k, s.words, s.width
    (10, 16, 168)
    """

    N: int
    R: int
    d: int | None = None
    code_length: int | None = None
    hops: int = 1
    depth: int = 1
    chain_of_thought: bool = False
    construction: str = "superposition"
    bits: float = 16.0

    def __post_init__(self) -> None:
        for name, parameter in PARAMETERS.items():
            object.__setattr__(self, name, parameter.check(getattr(self, name)))
        self._check_passes()
        if self.hops > 1 and self.words * self.k > MOST_CODED:
            raise SettingError("hops", f"hops={self.hops}: words of {max(self.word_lengths)} relations out of "
                               f"{self.R} with codes of length {self.k} take {_about(self.words * self.k)} "
                               f"coordinates, and {MOST_CODED} is the most allowed")
        if self.construction == "exact":
            self._check_exact()
        else:
            self._check_superposition()

    def _check_passes(self) -> None:
        if self.depth > self.hops:
            raise SettingError("depth", f"depth={self.depth} is more than hops={self.hops}: a layer that answers "
                               "no relation does nothing")
        if self.chain_of_thought and self.depth > 1:
            raise SettingError("depth", f"depth={self.depth} and chain of thought contradict one another: with it "
                               "each hop is a pass through one layer")

    def _check_exact(self) -> None:
        if self.k < self.bits_of_N:
            raise SettingError("code_length", f"code_length={self.code_length} is too short: {self.N} attributes "
                               f"need codes of at least {self.bits_of_N} bits")
        if self.d is not None and self.d < self.exact_width:
            raise SettingError("d", f"d={self.d} is too small: the exact construction takes {self.exact_width}")

    def _check_superposition(self) -> None:
        for name in ("d", "code_length"):
            if getattr(self, name) is None:
                raise SettingError(name, f"{name} is missing: random superposition has no dimension of its own; "
                                   "give it, or ask for the exact construction")
        assert self.d is not None and self.code_length is not None
        if self.code_length < 2:
            raise SettingError("code_length", f"code_length={self.code_length} is too short: the unit sphere has "
                               "room for more than two codes from length 2 on")
        if self.d < self.code_length:
            raise SettingError("d", f"d={self.d} is too small: maps with orthonormal columns need d of at least "
                               f"code_length={self.code_length}")

    @property
    def bits_of_N(self) -> int:
        """ceil(log2 N): the bits that tell N attributes apart."""
        return (self.N - 1).bit_length()

    @property
    def k(self) -> int:
        """The code length in use."""
        return self.bits_of_N if self.code_length is None else self.code_length

    @property
    def word_lengths(self) -> tuple[int, ...]:
        """How many relations each pass (or layer) answers at once, in order; they add up to `hops`."""
        each = 1 if self.chain_of_thought else math.ceil(self.hops / self.depth)
        full, rest = divmod(self.hops, each)
        return (each,) * full + ((rest,) if rest else ())

    @property
    def words(self) -> int:
        """How many codes a subject's embedding superposes: R^j for each length j of word in use."""
        return sum(self.R**j for j in set(self.word_lengths))

    @property
    def exact_width(self) -> int:
        """The embedding dimension of the exact construction: codes side by side, and a slot a relation asked."""
        return self.words * self.k + max(self.word_lengths) * self.R

    @property
    def width(self) -> int:
        """The embedding dimension in use."""
        return self.exact_width if self.d is None else self.d

    @property
    def mlp_width(self) -> int:
        """Hidden units of the MLP that selects by relation: two a coordinate of code."""
        return 2 * self.words * self.k

    def to_dict(self) -> dict[str, Any]:
        """The parameters by name, as the JSON output shows them."""
        return dataclasses.asdict(self)

    def replace(self, **changes: Any) -> GeometricSetting:
        """The same setting with some parameters changed, validated again."""
        return dataclasses.replace(self, **changes)


def _about(count: int) -> str:
    """A count that may be of many digits, in a few."""
    return str(count) if count < 10**12 else f"about 10^{len(str(count)) - 1}"
