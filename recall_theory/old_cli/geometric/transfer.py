"""`recall-theory geometric transfer`: a trained MLP recalls new facts through new embeddings."""

from __future__ import annotations

from typing import Any

from ...report.answer import Answer
from ..command import Command, Output
from .train import findings, params


def run(output: Output, **values: Any) -> Answer:
    from ...geometric import transfer

    return findings("transfer", transfer, output, **values)


command = Command(
    "transfer", run, params=params(),
    help="New facts for a trained MLP, which stays bitwise unchanged: embeddings by the linear map of codes that the "
         "trained ones follow, or trained alone; the same with the MLP's numbers shuffled as the control.",
    examples=["geometric transfer",
              "geometric transfer --N 512 --R 4 --seeds 8 --seed 1 --csv --output transfer.csv"],
)
