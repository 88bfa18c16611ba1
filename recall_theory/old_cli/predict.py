"""`recall-theory predict`: one setting in closed form."""

from __future__ import annotations

from typing import Any

from ..report.answer import Answer
from ..settings import Setting
from .command import Command, Output
from .options import setting_options


def run(output: Output, **values: Any) -> Answer:
    setting = Setting(**values)
    from ..report.predict import answer
    from ..theory.predict import predict

    return answer(predict(setting))


command = Command(
    "predict", run, params=setting_options(),
    help="Attention, recall and accuracy of one setting, in closed form: with the noise budget, what a "
         "factor of two would do, and the leading laws beside it.",
    examples=["predict --V 1024 --L 64 --d 256 --N 65536",
              "predict --V 1e6 --L 32 --d 4096 --N 2^28 --embedding sphere --json"],
)
