"""What facts weigh in bits: capacity against the bits of Val's entries, and what recalled facts tell in bits."""

from __future__ import annotations

import dataclasses

from ..numerics.quantiser import quantiser_noise
from .bounds import most_facts_on_average
from .capacity import LargestV
from .formulas.lower_bounds import stored_bits
from .solve import Model

WIDTHS = (1, 2, 3, 4, 8)  # bits an entry of a table
REPORTED = 2  # bits of knowledge a parameter of trained language models: `kin.bits_per_parameter`


@dataclasses.dataclass(frozen=True)
class StoredBits:
    """Capacity with entries of `bits`, N -> infinity: the largest V that reaches the target, None where none does.

    noise: of the quantiser, over the entries' variance. recall: at that V. facts and information (`bound.bits.stored`,
    what the answers determine of the permutation) a parameter, d^2 of them, and a bit. bound_V: the most facts of any
    model of d^2 parameters of so many bits.
    """

    bits: int
    noise: float
    V: int | None = None
    recall: float | None = None
    facts_per_parameter: float | None = None
    facts_per_bit: float | None = None
    information_per_parameter: float | None = None
    information_per_bit: float | None = None
    bound_V: int | None = None


def capacity_by_bits(L: int, d: int, target: float = 0.99, bits: int | None = None, *,
                     embedding: str = "gaussian", trigger_in_value: bool = True) -> tuple[StoredBits, ...]:
    """A row for each of `WIDTHS`, and for `bits`: an Attention-only layer without orthogonal embeddings.

    >>> [(row.bits, row.V) for row in capacity_by_bits(4, 64, 0.9)][:3]
    [(1, 47), (2, 58), (3, 61)]
    """
    model = {"embedding": embedding, "trigger_in_value": trigger_in_value}
    return tuple(_row(b, LargestV(Model(**model, bits=b), {"d": float(d), "L": float(L)}, target))  # type: ignore[arg-type]
                 for b in sorted({*WIDTHS} | ({bits} if bits else set())))


def _row(bits: int, search: LargestV) -> StoredBits:
    parameters = int(search.fixed["d"]) ** 2
    bound, noise = most_facts_on_average(parameters, bits, search.target), quantiser_noise(bits)
    search.search((None,))
    found = search.found[None]
    if found is None:
        return StoredBits(bits, noise, bound_V=bound)
    many, place = search.predicted[None, found.high]
    recall = float(many.recall[place])
    information = max(0.0, float(stored_bits(V=float(found.high), a=recall * found.high))) / parameters
    return StoredBits(bits, noise, found.high, recall, found.high / parameters, found.high / parameters / bits,
                      information, information / bits, bound)


def most_facts_per_bit(rows: tuple[StoredBits, ...]) -> StoredBits | None:
    """The row with the most facts a bit; None where no row has any."""
    return max((row for row in rows if row.facts_per_bit), key=lambda row: row.facts_per_bit or 0, default=None)
