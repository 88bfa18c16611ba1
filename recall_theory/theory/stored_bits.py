"""What facts weigh in bits: capacity against the bits of Val's entries, and what recalled facts tell in bits."""

from __future__ import annotations

import dataclasses
from typing import Any

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
    V: int | None
    recall: float | None
    facts_per_parameter: float | None
    facts_per_bit: float | None
    information_per_parameter: float | None
    information_per_bit: float | None
    bound_V: int | None


def capacity_by_bits(L: int, d: int, target: float = 0.99, bits: int | None = None, *,
                     embedding: str = "gaussian", trigger_in_value: bool = True) -> tuple[StoredBits, ...]:
    """A row for each of `WIDTHS`, and for `bits`: an Attention-only layer without orthogonal embeddings.

    >>> [(row.bits, row.V) for row in capacity_by_bits(4, 64, 0.9)][:3]
    [(1, 45), (2, 56), (3, 60)]
    """
    widths = sorted({*WIDTHS} if bits is None else {*WIDTHS, bits})
    return tuple(_row(b, L, d, target, {"embedding": embedding, "trigger_in_value": trigger_in_value}) for b in widths)


def _row(bits: int, L: int, d: int, target: float, model: dict[str, Any]) -> StoredBits:
    parameters = d * d
    bound = most_facts_on_average(parameters, bits, target)
    search = LargestV(Model(**model, bits=bits), {"d": float(d), "L": float(L)}, target)
    search.search((None,))
    found = search.found[None]
    if found is None:
        return StoredBits(bits, quantiser_noise(bits), None, None, None, None, None, None, bound)
    V = found.high
    many, place = search.predicted[None, V]
    recall = float(many.recall[place])
    information = max(0.0, float(stored_bits(V=float(V), a=recall * V)))
    return StoredBits(bits, quantiser_noise(bits), V, recall, V / parameters, V / parameters / bits,
                      information / parameters, information / parameters / bits, bound)


def most_facts_per_bit(rows: tuple[StoredBits, ...]) -> StoredBits | None:
    """The row with the most facts a bit; None where no row has any."""
    some = [row for row in rows if row.facts_per_bit is not None]
    return max(some, key=lambda row: row.facts_per_bit or 0) if some else None
