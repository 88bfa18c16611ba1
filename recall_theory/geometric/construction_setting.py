"""A transformer written down weight by weight: which one, and its sizes, at any size."""

from __future__ import annotations

import dataclasses
import math

from ..settings import BaseSetting, Parameter, SettingError
from .geometric_setting import GEOMETRIC_PARAMETERS

ROUTES = ("embedding", "wide", "middle", "chain")
MOST_RUN = 10**9  # width x d of a model that is run
MOST_WEIGHTS = 2 * 10**8  # of its embedding, and of its unembedding; 800 MB
MOST_DIGIT = 20  # bits of a digit

CONSTRUCTION_PARAMETERS: dict[str, Parameter] = {
    **{name: GEOMETRIC_PARAMETERS[name] for name in ("N", "R", "hops")},
    **{p.name: p for p in (
        Parameter("route", "where the hops are: in the embedding; in a wide MLP; half in the embedding and half in the "
                  "unembedding; or one after the other, by chain of thought", "choice", default="embedding",
                  choices=ROUTES),
        Parameter("sets", "whether all relations share one set of N attributes, or each has its own", "choice",
                  default="shared", choices=("shared", "disjoint")),
        Parameter("codes", "digits: an attribute's number, side by side; circle: an angle", "choice",
                  default="digits", choices=("digits", "circle")),
        Parameter("bits", "bits of a digit", "integer", 1, MOST_DIGIT, default=1),
    )},
}


@dataclasses.dataclass(frozen=True)
class Construction(BaseSetting):
    """One construction and its sizes, which are known at any size.

    Raises `SettingError` that names the parameter, the value and the domain.

    >>> c = Construction(N=256, R=8, hops=2, route="middle")
    >>> c.k, c.d, c.width
    (8, 80, 1024)
    """

    N: int
    R: int
    hops: int = 1
    route: str = "embedding"
    sets: str = "shared"
    codes: str = "digits"
    bits: int = 1

    parameters = CONSTRUCTION_PARAMETERS

    def check_together(self) -> None:
        if self.sets == "disjoint" and self.hops > 1:
            raise SettingError("sets", f"sets=disjoint and hops={self.hops} contradict one another: several hops need "
                               "attributes that are subjects")
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
        return {"embedding": self.hops, "wide": 0, "middle": -(-self.hops // 2), "chain": 1}[self.route]

    @property
    def behind(self) -> int:
        """Hops in the unembedding, backwards."""
        return self.hops - self.ahead if self.route == "middle" else 0

    @property
    def slots(self) -> int:
        """Relations that one pass reads."""
        return 1 if self.route == "chain" else self.hops

    @property
    def words(self) -> int:
        """Words of relations that one pass answers."""
        return self.R**self.slots

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
        """Hidden units of the MLP."""
        if self.route == "wide":
            return self.N * self.words
        return 2 * self.words * self.k + self.has_norms * self.blocks

    @property
    def answers(self) -> int:
        """Attributes."""
        return self.N * (self.R if self.sets == "disjoint" else 1)

    @property
    def spacing(self) -> float:
        """The least distance of two codes."""
        return 2.0 if self.codes == "digits" else 2 * math.sin(math.pi / self.N)

    @property
    def margin(self) -> float:
        """By how much the right logit is the largest, at least, in exact arithmetic and without leak."""
        other_relation = self.k / 2 if self.has_norms else float(self.k) if self.codes == "digits" else 1.0
        apart = self.spacing**2 / 2
        return min(apart, other_relation) if self.sets == "disjoint" and self.R > 1 else apart

    @property
    def refused(self) -> str | None:
        """Why a model of this size is not run; None where it is."""
        largest = max(self.N * self.d, self.answers * self.blocks * (self.k + self.has_norms))
        if self.width * self.d >= MOST_RUN:
            return f"width x d is {self.width * self.d:.3g}, and below {MOST_RUN:.0e} models are run"
        if largest > MOST_WEIGHTS:
            return f"its embedding or unembedding has {largest:.3g} numbers, and {MOST_WEIGHTS:.0e} is the most"
        return None
