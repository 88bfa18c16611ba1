"""One `TrainingSetting` drives training, its controls and the transfer to new facts."""

from __future__ import annotations

import dataclasses
from typing import Any

from ...settings import Parameter, SettingError

__all__ = ["PARAMETERS", "TrainingSetting"]

MOST_NUMBERS = 10**8  # in any one array; 400 MB in single precision
MOST_WORK = 1e15  # multiplications of one training; days of work

PARAMETERS: dict[str, Parameter] = {
    p.name: p
    for p in (
        Parameter("N", "subjects, and attributes in the set that all relations share", "integer",
                  2, 10**4, (8, 64), default=256),
        Parameter("R", "relations, each a bijection from subjects to attributes", "integer", 1, 256, (1, 4),
                  default=3),
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
class TrainingSetting:
    """N subjects, R relations and the layer that is trained on their N R facts.

    d: dimension of the subject embeddings. The MLP has 2 R k hidden units, as many as the exact construction.
    The attributes have fixed codes, which are its unembedding: the bits of their number (k = ceil(log2 N)), or, where
    `code_length` is given, random vectors on the unit sphere of R^k. See `PARAMETERS` for the rest.

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

    def __post_init__(self) -> None:
        for name, parameter in PARAMETERS.items():
            object.__setattr__(self, name, parameter.check(getattr(self, name)))
        if self.largest > MOST_NUMBERS:
            raise SettingError("N", f"N={self.N}, R={self.R}, d={self.width} and codes of {self.k} take an array of "
                               f"{self.largest:.3g} numbers, and {MOST_NUMBERS:.0e} is the most that training takes "
                               "on; lower one of them")
        if self.work > MOST_WORK:
            raise SettingError("steps", f"steps={self.steps}: this training takes {self.work:.3g} multiplications, and "
                               f"{MOST_WORK:.0e} is the most it takes on; lower steps, N, R, d or code_length")

    @property
    def k(self) -> int:
        """The code length in use."""
        return (self.N - 1).bit_length() if self.code_length is None else self.code_length

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
    def largest(self) -> int:
        """Numbers in the largest array: scores, hidden units, weights, or what the linear maps are fitted with."""
        N, R, m = self.N, self.R, self.mlp_width
        return max(R * N * N, R * N * m, m * (self.width + R + self.k), (R * self.k) ** 2)

    @property
    def work(self) -> float:
        """Multiplications of one training, about."""
        forward = self.N * self.R * self.k * (self.N + self.mlp_width) + self.N * self.mlp_width * self.width
        return 3.0 * forward * self.steps

    def to_dict(self) -> dict[str, Any]:
        """The parameters by name, as the JSON output shows them."""
        return dataclasses.asdict(self)

    def replace(self, **changes: Any) -> TrainingSetting:
        """The same setting with some parameters changed, validated again."""
        return dataclasses.replace(self, **changes)
