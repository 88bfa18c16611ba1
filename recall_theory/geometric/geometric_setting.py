"""The settings of geometric recall: models drawn at random, trained, and written down weight by weight."""

from __future__ import annotations

import math
from typing import Any

from ..numerics.formatting import three_digits
from ..settings import BaseSetting, SettingError, declared

MOST_CODED = 10**5  # coordinates of code, words * code_length, that a subject's embedding may superpose
ROUNDED = 4.0  # deviations to each side of 0 over which coordinates are rounded
MOST_TRAINED = 10**8  # numbers in any one array of a training; 400 MB in single precision

SUBJECTS = "subjects, and attributes in the set that all relations share"
RELATIONS = "relations, each a bijection from subjects to attributes"
WORD = "relations in a query: 2 is 'the mother of the wife of x'"


class GeometricSetting(BaseSetting):
    """One problem of geometric recall: N subjects, R relations, and the model that holds the N R facts.

    d: embedding dimension. code_length: k, the coordinates of an attribute's code. Both may be left out for
    the exact construction, which then takes the least that it can do with. hops: relations in a query,
    answered in one pass, or in `hops` passes with `chain_of_thought`, or layer by layer at `depth` above 1.
    noise: on each coordinate of a subject's embedding, drawn once a model, in units of the coordinates' root mean
    square. precision: bits to which each coordinate is rounded then, evenly over four deviations to each side, in
    random superposition. bits: what a coordinate holds, in bits, for the lower bound.

    Raises `SettingError` (a `ValueError`) that names the parameter, the value and the domain; among others where
    the words of `hops` relations would take more than 10^5 coordinates of code.

    >>> s = GeometricSetting(N=1000, R=4, construction="exact", hops=2)
    >>> s.k, s.words, s.width
    (10, 16, 168)
    """

    N: int = declared(SUBJECTS, "integer", 2, 1e15, (2, 4096))
    R: int = declared(RELATIONS, "integer", 1, 1e6, (1, 32))
    d: int | None = declared("embedding dimension; none is what the exact construction takes", "integer", 1, 1e9,
                             (16, 512), default=None)
    code_length: int | None = declared("coordinates k of an attribute's code; none is ceil(log2 N)", "integer", 1, 1e6,
                                       (4, 64), default=None)
    hops: int = declared(WORD, "integer", 1, 64, (1, 6), default=1)
    depth: int = declared("layers, each but the last re-embedding its answer for the next", "integer", 1, 64, (1, 6),
                          default=1)
    chain_of_thought: bool = declared("whether each hop is a pass of its own, its answer written out and read again",
                                      "flag", default=False)
    construction: str = declared("superposition: random codes under random maps; exact: codes of bits side by side",
                                 "choice", default="superposition", choices=("superposition", "exact"))
    noise: float = declared("Gaussian noise on each coordinate of a subject's embedding, in units of their root mean "
                            "square", "real", 0, 1000, (0, 1), default=0.0)
    precision: int | None = declared("bits to which each coordinate of a subject's embedding is rounded; full "
                                     "precision where absent", "integer", 1, 16, default=None)
    bits: float = declared("bits that a coordinate of an embedding holds, for the lower bound", "real", 1 / 1024, 1024,
                           (1, 32), default=16.0)

    def check_together(self) -> None:
        if self.depth > self.hops:
            raise SettingError("depth", f"depth={self.depth} is more than hops={self.hops}: a layer has a relation to "
                               "answer")
        if self.chain_of_thought and self.depth > 1:
            raise SettingError("depth", f"depth={self.depth} contradicts chain of thought, which has one layer")
        coded = self.words * self.k
        if self.hops > 1 and coded > MOST_CODED:
            taken = str(coded) if coded < 10**12 else f"about 10^{len(str(coded)) - 1}"
            raise SettingError("hops", f"hops={self.hops}: words of {self.slots} relations out of {self.R} with codes "
                               f"of length {self.k} take {taken} coordinates, and {MOST_CODED} is the most allowed")
        if self.construction == "superposition":
            for name in ("d", "code_length"):
                if getattr(self, name) is None:
                    raise SettingError(name, f"{name} is missing: random superposition has no size of its own; give "
                                       "it, or ask for the exact construction")
            least_k, least_d = 2, self.k
        else:
            if self.precision is not None:
                raise SettingError("precision", f"precision={self.precision} is for random superposition: coordinates "
                                   "of the exact construction have one bit")
            least_k, least_d = (self.N - 1).bit_length(), self.exact_width
        if self.k < least_k:
            raise SettingError("code_length", f"code_length={self.k} is too short: for {self.N} attributes the "
                               f"{self.construction} construction takes {least_k}")
        if self.width < least_d:
            raise SettingError("d", f"d={self.d} is too small: the {self.construction} construction takes {least_d}")

    def changed(self, **changes: Any) -> GeometricSetting | None:
        """The setting with some parameters changed; None where its words are more than any construction takes."""
        try:
            return self.replace(**changes)
        except SettingError:
            return None

    @property
    def k(self) -> int:
        """The code length in use."""
        return (self.N - 1).bit_length() if self.code_length is None else self.code_length

    @property
    def word_lengths(self) -> tuple[int, ...]:
        """How many relations each pass (or layer) answers at once, in order; they add up to `hops`."""
        each = 1 if self.chain_of_thought else math.ceil(self.hops / self.depth)
        return tuple(min(each, self.hops - answered) for answered in range(0, self.hops, each))

    @property
    def words(self) -> int:
        """How many codes a subject's embedding superposes: R^j for each length j of word in use."""
        return sum(self.R**j for j in set(self.word_lengths))

    @property
    def slots(self) -> int:
        """Relations that one pass may ask, each in a slot of its own."""
        return self.word_lengths[0]

    @property
    def exact_width(self) -> int:
        """The embedding dimension of the exact construction: codes side by side, and a slot a relation asked."""
        return self.words * self.k + self.slots * self.R

    @property
    def width(self) -> int:
        """The embedding dimension in use."""
        return self.exact_width if self.d is None else self.d

    @property
    def noise_deviation(self) -> float:
        """The noise in units of the codes: unit vectors, or signs."""
        return self.noise * (math.sqrt(self.words / self.width) if self.construction == "superposition" else 1.0)

    @property
    def mlp_width(self) -> int:
        """Hidden units of the MLP that selects by relation: two a coordinate of code."""
        return 2 * self.words * self.k


class TrainingSetting(BaseSetting):
    """N entities, R bijections among them, and the transformer that is trained on all queries of `hops` relations.

    d: dimension of the residual stream; width: hidden units of the MLP, the same for every N. With `chain_of_thought`
    the model writes the answer of every hop and attends to it. See its `parameters` for the rest.

    Raises `SettingError` (a `ValueError`) that names the parameter, the value and the domain.

    >>> TrainingSetting(N=64, R=4, hops=2).queries
    1024
    """

    N: int = declared(SUBJECTS, "integer", 2, 10**4, (8, 64), default=128)
    R: int = declared(RELATIONS, "integer", 1, 256, (1, 4), default=4)
    d: int = declared("dimension of the residual stream", "integer", 1, 10**4, (2, 32), default=16)
    hops: int = declared("relations in a query", "integer", 1, 4, (1, 2), default=1)
    chain_of_thought: bool = declared("whether the model writes the answer of each hop and reads it again", "flag",
                                      default=False)
    width: int = declared("hidden units of the MLP", "integer", 1, 10**5, (8, 64), default=128)
    start: float = declared("norm of the entities' embeddings before training, about", "real", 0, 100, (0, 1),
                            default=1.0)
    steps: int = declared("steps of AdamW at most, on all queries or 512 of them at a time", "integer", 1, 10**6,
                          (1, 20), default=2000)
    rate: float = declared("largest learning rate; it falls to zero along a cosine", "real", 1e-9, 1,
                           (1 / 100, 1 / 10), default=0.01)
    weight_decay: float = declared("pull of all trained numbers towards zero, times the learning rate", "real", 0, 1,
                                   (0, 1), default=0.01)

    def check_together(self) -> None:
        largest = self.queries * max(self.N, 3 * self.hops * max(self.d, self.width))
        if largest > MOST_TRAINED:
            raise SettingError("N", f"N={self.N}: {self.queries:.3g} queries take an array of {largest:.3g} numbers, "
                               f"and {MOST_TRAINED:.0e} is the most that training takes on; lower N, R, hops or width")

    @property
    def queries(self) -> int:
        """All that can be asked: every subject with every word of `hops` relations."""
        return self.N * self.R**self.hops

    @property
    def length(self) -> int:
        """Tokens of a sequence: subject, relations, and with chain of thought all answers but the last."""
        return 2 * self.hops if self.chain_of_thought else 1 + self.hops

    @property
    def numbers(self) -> int:
        """All trained numbers."""
        d = self.d
        return (2 * self.N + self.R + self.length) * d + 3 * d * d + 2 * d * self.width + self.width


ROUTES = ("embedding", "wide", "middle", "two-layers", "chain")
MOST_RUN = 10**9  # width x d of a model that is run
MOST_WEIGHTS = 2 * 10**8  # of its embedding, and of its unembedding; 800 MB
MOST_DIGIT = 20  # bits of a digit


class Construction(BaseSetting):
    """One construction and its sizes, which are known at any size.

    Raises `SettingError` that names the parameter, the value and the domain.

    >>> c = Construction(N=256, R=8, hops=2, route="middle")
    >>> c.k, c.d, c.width
    (8, 80, 1024)
    """

    N: int = declared(SUBJECTS, "integer", 2, 1e15, (2, 4096))
    R: int = declared(RELATIONS, "integer", 1, 1e6, (1, 32))
    hops: int = declared(WORD, "integer", 1, 64, (1, 6), default=1)
    route: str = declared("where the hops are: in the embedding; in a wide MLP; half in the embedding and half in the "
                          "unembedding, by one MLP layer or two; or one after the other, by chain of thought",
                          "choice", default="embedding", choices=ROUTES)
    sets: str = declared("whether all relations share one set of N attributes, or each has its own", "choice",
                         default="shared", choices=("shared", "disjoint"))
    codes: str = declared("digits: an attribute's number, side by side; circle: an angle", "choice", default="digits",
                          choices=("digits", "circle"))
    bits: int = declared("bits of a digit", "integer", 1, MOST_DIGIT, default=1)

    def check_together(self) -> None:
        if self.sets == "disjoint" and self.hops > 1:
            raise SettingError("sets", f"sets=disjoint and hops={self.hops} contradict one another: several hops need "
                               "attributes that are subjects")
        if self.sets == "disjoint" and self.route == "two-layers":
            raise SettingError("route", "route=two-layers takes sets=shared: one MLP layer answers one hop")
        if self.codes == "circle" and self.bits > 1:
            raise SettingError("bits", f"bits={self.bits} is for digits; codes on a circle have none")
        if self.route == "wide" and (self.bits > 1 or self.codes == "circle"):
            raise SettingError("route", "route=wide takes codes of one-bit digits")

    @property
    def k(self) -> int:
        """Coordinates of a code."""
        return 2 if self.codes == "circle" else -(-(self.N - 1).bit_length() // self.bits)

    @property
    def ahead(self) -> int:
        """Hops in the embedding."""
        half = -(-self.hops // 2)
        return {"embedding": self.hops, "wide": 0, "middle": half, "two-layers": half, "chain": 1}[self.route]

    @property
    def behind(self) -> int:
        """Hops in the unembedding, backwards."""
        return self.hops - self.ahead if self.route in ("middle", "two-layers") else 0

    @property
    def slots(self) -> int:
        """Relations that one pass reads."""
        return 1 if self.route == "chain" else self.hops

    @property
    def coded(self) -> int:
        """Coordinates of an embedding that hold codes."""
        return self.k * self.R**self.ahead

    @property
    def d(self) -> int:
        """Coordinates of a token."""
        return self.coded + self.slots * self.R + (2 * self.hops + 1 if self.route == "chain" else 0)

    @property
    def blocks(self) -> int:
        """Codes that the MLP writes beside one another, of which the unembedding reads the one asked for."""
        return self.R if self.sets == "disjoint" else self.R**self.behind

    @property
    def has_norms(self) -> bool:
        """Whether codes differ in length, so that the unembedding needs a constant input."""
        return self.codes == "digits" and self.bits > 1

    @property
    def width(self) -> int:
        """Hidden units of the MLP, in both of its layers where it has two."""
        if self.route == "wide":
            return self.N * self.R**self.hops
        words, handed_on = self.R**self.slots, 0
        if self.route == "two-layers":  # the first hands on the relations that the second reads
            words, handed_on = self.R**self.ahead + self.R**self.behind, self.behind * self.R
        return 2 * words * self.k + handed_on + self.has_norms * self.blocks

    @property
    def answers(self) -> int:
        """Attributes."""
        return self.N * (self.R if self.sets == "disjoint" else 1)

    @property
    def spacing(self) -> float:
        """The least distance of two codes."""
        return 2.0 if self.codes == "digits" else 2 * math.sin(math.pi / self.N)

    @property
    def largest(self) -> float:
        """The size of the largest coordinate of a code."""
        return 1.0 if self.codes == "circle" else 2.0**self.bits - 1

    @property
    def margin(self) -> float:
        """By how much the right logit is the largest, at least, in exact arithmetic and without leak."""
        apart = self.spacing**2 / 2
        if self.sets == "shared" or self.R == 1:
            return apart
        right = self.k if self.codes == "digits" else 1.0  # logit, where those of other relations are 0
        return min(apart, right / 2 if self.has_norms else right)

    @property
    def refused(self) -> str | None:
        """Why a model of this size is not run; None where it is."""
        largest = max(self.N * self.d, self.answers * self.blocks * (self.k + self.has_norms))
        if self.width * self.d >= MOST_RUN:
            return f"width x d is {three_digits(self.width * self.d)}, and below {MOST_RUN:.0e} models are run"
        if largest > MOST_WEIGHTS:
            return (f"its embedding or unembedding has {three_digits(largest)} numbers, and {MOST_WEIGHTS:.0e} is the "
                    "most")
        return None
