"""`recall-theory geometric capacity`: the embedding that facts ask for, and the facts that an embedding holds."""

from __future__ import annotations

from typing import Any

import click

from ...geometric.geometric_setting import GEOMETRIC_PARAMETERS
from ...report.answer import Answer
from ..command import Command, Output
from ..options import EXTRA, Extra, option

WIDTH = Extra("mlp_width", "hidden units at most; settles the code length", "integer", 4, 1e12)
BUDGET = Extra("parameters", "parameters at most, for the best code length and dimension that they buy", "integer",
               4, 1e18)


def run(output: Output, **values: Any) -> Answer:
    from ...geometric import capacity
    from ...report.geometric.capacity import answer

    return answer(capacity(**values))


def params() -> list[click.Parameter]:
    """The options: two of --N, --R and --d, what settles the code length, and how queries are answered."""
    own = {**GEOMETRIC_PARAMETERS, "mlp_width": WIDTH, "parameters": BUDGET, "target": EXTRA["target"]}
    names = ("N", "R", "d", "code_length", "mlp_width", "parameters", "target", "hops", "depth", "chain_of_thought",
             "bits")
    helps = {"d": "embedding dimension", "code_length": "coordinates k of a code, for random superposition; the best "
             "where absent"}
    return [option(name, among=own, help=helps.get(name)) for name in names]


command = Command(
    "capacity", run, params=params(),
    help="Give two of --N, --R and --d, and find the third: for the exact construction, for random superposition at "
         "its best code length (or the one that an MLP's width or a budget of parameters allows), for the lower "
         "bound, and for an associative memory that holds the same N R facts in a matrix; and where they cross over.",
    examples=["geometric capacity --N 4096 --R 8", "geometric capacity --R 8 --d 512 --mlp-width 4096 --json"],
)
