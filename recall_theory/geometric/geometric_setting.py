"""The settings of geometric recall: of a model that is constructed, and of one that is trained."""

from __future__ import annotations

import dataclasses
import math

from ..settings import BaseSetting, Parameter, SettingError

MOST_CODED = 10**5  # coordinates of code, words * code_length, that a subject's embedding may superpose
MOST_TRAINED = 10**8  # numbers in any one array of a training; 400 MB in single precision
MOST_TRAINING_WORK = 1e15  # of one training; days of work

SUBJECTS = "subjects, and attributes in the set that all relations share"
RELATIONS = "relations, each a bijection from subjects to attributes"

GEOMETRIC_PARAMETERS: dict[str, Parameter] = {
    p.name: p
    for p in (
        Parameter("N", SUBJECTS, "integer", 2, 1e15, (2, 4096)),
        Parameter("R", RELATIONS, "integer", 1, 1e6, (1, 32)),
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
                  "side", "choice", default="superposition", choices=("superposition", "exact")),
        Parameter("bits", "bits that a coordinate of an embedding holds, for the lower bound", "real",
                  1 / 1024, 1024, (1, 32), default=16.0),
    )
}

TRAINING_PARAMETERS: dict[str, Parameter] = {
    p.name: p
    for p in (
        Parameter("N", SUBJECTS, "integer", 2, 10**4, (8, 64), default=256),
        Parameter("R", RELATIONS, "integer", 1, 256, (1, 4), default=3),
        Parameter("d", "embedding dimension; none is R k, that of the exact construction", "integer",
                  1, 10**4, (2, 32), optional=True),
        Parameter("code_length", "coordinates k of random codes on the unit sphere; none is the ceil(log2 N) bits "
                  "of the exact construction", "integer", 2, 10**3, (4, 16), optional=True),
        Parameter("noise", "Gaussian noise on the embeddings while they are trained, in units of their root mean "
                  "square; 0 is plain gradient descent", "real", 0, 10, (0, 1), default=0.3),
        Parameter("start", "standard deviation of the embeddings before training", "real", 0, 100, (0, 1),
                  default=0.01),
        Parameter("steps", "steps of gradient descent (Adam) on all N R facts at once", "integer",
                  1, 10**7, (1, 20), default=1000),
        Parameter("rate", "learning rate at the start; it falls to zero along a cosine", "real", 1e-9, 1,
                  (1 / 100, 1 / 10), default=0.05),
        Parameter("weight_decay", "pull of all trained numbers towards zero, times the learning rate", "real",
                  0, 1, (0, 1), default=0.1),
    )
}


@dataclasses.dataclass(frozen=True)
class GeometricSetting(BaseSetting):
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

    parameters = GEOMETRIC_PARAMETERS

    def check_together(self) -> None:
        if self.depth > self.hops:
            raise SettingError("depth", f"depth={self.depth} is more than hops={self.hops}: a layer that answers "
                               "no relation does nothing")
        if self.chain_of_thought and self.depth > 1:
            raise SettingError("depth", f"depth={self.depth} and chain of thought contradict one another: with it "
                               "each hop is a pass through one layer")
        coded = self.words * self.k
        if self.hops > 1 and coded > MOST_CODED:
            taken = str(coded) if coded < 10**12 else f"about 10^{len(str(coded)) - 1}"
            raise SettingError("hops", f"hops={self.hops}: words of {self.slots} relations out of {self.R} with codes "
                               f"of length {self.k} take {taken} coordinates, and {MOST_CODED} is the most allowed")
        if self.construction == "exact":
            self._check_exact()
        else:
            self._check_superposition()

    def _check_exact(self) -> None:
        bits = _bits_to_count(self.N)
        if self.k < bits:
            raise SettingError("code_length", f"code_length={self.code_length} is too short: {self.N} attributes "
                               f"need codes of at least {bits} bits")
        if self.width < self.exact_width:
            raise SettingError("d", f"d={self.d} is too small: the exact construction takes {self.exact_width}")

    def _check_superposition(self) -> None:
        for name in ("d", "code_length"):
            if getattr(self, name) is None:
                raise SettingError(name, f"{name} is missing: random superposition has no dimension of its own; "
                                   "give it, or ask for the exact construction")
        if self.k < 2:
            raise SettingError("code_length", f"code_length={self.k} is too short: the unit sphere has "
                               "room for more than two codes from length 2 on")
        if self.width < self.k:
            raise SettingError("d", f"d={self.d} is too small: maps with orthonormal columns need d of at least "
                               f"code_length={self.k}")

    @property
    def k(self) -> int:
        """The code length in use."""
        return _bits_to_count(self.N) if self.code_length is None else self.code_length

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
    def slots(self) -> int:
        """Relations that one pass may ask, each in a slot of its own."""
        return max(self.word_lengths)

    @property
    def exact_width(self) -> int:
        """The embedding dimension of the exact construction: codes side by side, and a slot a relation asked."""
        return self.words * self.k + self.slots * self.R

    @property
    def width(self) -> int:
        """The embedding dimension in use."""
        return self.exact_width if self.d is None else self.d

    @property
    def mlp_width(self) -> int:
        """Hidden units of the MLP that selects by relation: two a coordinate of code."""
        return 2 * self.words * self.k


@dataclasses.dataclass(frozen=True)
class TrainingSetting(BaseSetting):
    """N subjects, R relations and the layer that is trained on their N R facts.

    d: dimension of the subject embeddings. The MLP has 2 R k hidden units, as many as the exact construction.
    The attributes have fixed codes, which are its unembedding: the bits of their number (k = ceil(log2 N)), or, where
    `code_length` is given, random vectors on the unit sphere of R^k. See `TRAINING_PARAMETERS` for the rest.

    Raises `SettingError` (a `ValueError`) that names the parameter, the value and the domain.

    >>> s = TrainingSetting(N=100, R=4)
    >>> s.k, s.width, s.mlp_width
    (7, 28, 56)
    """

    N: int = 256
    R: int = 3
    d: int | None = None
    code_length: int | None = None
    noise: float = 0.3
    start: float = 0.01
    steps: int = 1000
    rate: float = 0.05
    weight_decay: float = 0.1

    parameters = TRAINING_PARAMETERS

    def check_together(self) -> None:
        N, R, m = self.N, self.R, self.mlp_width
        # Scores, hidden units, weights, and what the linear maps are fitted with.
        largest = max(R * N * N, R * N * m, self.mlp_numbers, (R * self.k) ** 2)
        if largest > MOST_TRAINED:
            raise SettingError("N", f"N={N}, R={R}, d={self.width} and codes of {self.k} take an array of "
                               f"{largest:.3g} numbers, and {MOST_TRAINED:.0e} is the most that training takes on; "
                               "lower one of them")
        if self.multiplications > MOST_TRAINING_WORK:
            raise SettingError("steps", f"steps={self.steps}: this training takes {self.multiplications:.3g} "
                               f"multiplications, and {MOST_TRAINING_WORK:.0e} is the most it takes on; lower steps, "
                               "N, R, d or code_length")

    @property
    def k(self) -> int:
        """The code length in use."""
        return _bits_to_count(self.N) if self.code_length is None else self.code_length

    @property
    def width(self) -> int:
        """The embedding dimension in use."""
        return self.R * self.k if self.d is None else self.d

    @property
    def mlp_width(self) -> int:
        """Hidden units of the MLP: two a coordinate of code and relation."""
        return 2 * self.R * self.k

    @property
    def numbers_a_unit(self) -> int:
        """Trained numbers of one hidden unit: it reads d coordinates and the relation, and writes k."""
        return self.width + self.R + self.k

    @property
    def mlp_numbers(self) -> int:
        """Trained numbers of the MLP."""
        return self.mlp_width * self.numbers_a_unit

    @property
    def numbers(self) -> int:
        """All trained numbers, embeddings and MLP."""
        return self.N * self.width + self.mlp_numbers

    @property
    def multiplications(self) -> float:
        """Multiplications of one training, about."""
        N, m = self.N, self.mlp_width
        return 3.0 * (N * self.R * self.k * (N + m) + N * m * self.width) * self.steps


def _bits_to_count(N: int) -> int:
    """ceil(log2 N): the bits that tell N attributes apart."""
    return (N - 1).bit_length()
