"""`recall-theory geometric hops`: capacity against depth, with and without chain of thought."""

from __future__ import annotations

from typing import Any

from ...geometric.geometric_setting import GEOMETRIC_PARAMETERS
from ...report.answer import Answer
from ..command import Command, Output
from ..options import option


def run(output: Output, N: int, R: int, hops: int, bits: float) -> Answer:
    from ...geometric import hops as tradeoff
    from ...report.geometric.hops import answer

    return answer(tradeoff(N, R, hops, bits))


def _params() -> list[Any]:
    return [option("N", required=True, among=GEOMETRIC_PARAMETERS),
            option("R", required=True, among=GEOMETRIC_PARAMETERS),
            option("hops", among=GEOMETRIC_PARAMETERS, default=2), option("bits", among=GEOMETRIC_PARAMETERS)]


command = Command(
    "hops", run, params=_params(),
    help="What a query of several relations takes, at every depth and with chain of thought: the exact construction's "
         "sizes, the table by which layers re-embed an answer, and the bound by counting, with the exact count where N "
         "and R are small enough to enumerate.",
    examples=["geometric hops --N 1024 --R 4 --hops 3", "geometric hops --N 4 --R 2 --hops 2 --bits 1 --json"],
)
