"""`recall-theory geometric construct`: a layer written down weight by weight, and run."""

from __future__ import annotations

from typing import Any

import click

from ...geometric.geometric_setting import GEOMETRIC_PARAMETERS, GeometricSetting
from ...report.answer import Answer
from ..command import Command, Output
from ..errors import BadInput, shown
from ..options import option, setting_options
from ..simulate import drawn_seed


def run(output: Output, seed: int | None, weights: str | None, show: bool, **values: Any) -> Answer:
    setting = GeometricSetting(**values)
    from ...geometric.construction import build
    from ...geometric.geometric_simulation import recall_of
    from ...geometric.geometric_transformer import check_weights_file
    from ...report.geometric.construct import answer

    if weights is not None:
        check_weights_file(weights)
    import numpy as np

    if seed is None:
        seed = drawn_seed(output)
    rng = np.random.default_rng(seed)
    model = build(setting, rng)
    arrays = model.weights() if show or weights is not None else {}
    if weights is not None:
        try:
            model.save(weights)
        except (OSError, ValueError) as error:
            raise BadInput(f"--weights {shown(weights)} can't be written: {error}") from None
    return answer(model, seed, recall_of(model, rng), arrays if show else None, weights)


def _params() -> list[click.Parameter]:
    return [
        *setting_options(required=("N", "R"), leave_out=("bits", "construction"), among=GEOMETRIC_PARAMETERS),
        option("construction", among=GEOMETRIC_PARAMETERS, default="exact"),
        option("seed"),
        click.Option(["--weights", "weights"], metavar="FILE", help="write every weight to FILE.npz or FILE.json"),
        click.Option(["--show", "show"], is_flag=True, help="Print every weight (a small model)."),
    ]


command = Command(
    "construct", run, params=_params(),
    help="Write down a transformer layer that holds random facts in its subject embeddings: attention, ReLU MLP, "
         "unembedding. It is then run on its facts, on all of them or at most 2^16. The exact construction "
         "recalls every one.",
    examples=["geometric construct --N 5 --R 2 --seed 1 --show",
              "geometric construct --N 100 --R 3 --hops 2 --seed 1 --weights layer.npz --json"],
)
