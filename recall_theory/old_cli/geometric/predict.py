"""`recall-theory geometric predict`: one setting in closed form."""

from __future__ import annotations

from typing import Any

from ...geometric.geometric_setting import GEOMETRIC_PARAMETERS, GeometricSetting
from ...report.answer import Answer
from ..command import Command, Output
from ..options import setting_options


def run(output: Output, **values: Any) -> Answer:
    setting = GeometricSetting(**values)
    from ...geometric import predict
    from ...report.geometric.predict import answer

    return answer(predict(setting))


command = Command(
    "predict", run, params=setting_options(required=("N", "R"), leave_out=("bits",), among=GEOMETRIC_PARAMETERS),
    help="Recall of one setting, in closed form: random superposition at finite sizes, or the exact construction; "
         "one hop or several, in one pass, layer by layer, or with chain of thought.",
    examples=["geometric predict --N 1024 --R 8 --code-length 64 --d 512",
              "geometric predict --N 1e12 --R 4 --code-length 128 --d 2048 --hops 2 --chain-of-thought --json"],
)
