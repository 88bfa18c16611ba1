"""Commands whose answers are of the form that was, on the base that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from ..commands import command as base
from ..commands import text_layout as layout
from ..report.answer import Answer, Prose, Table, Verbatim


class Output(base.Output):
    def deliver(self, answer: Any) -> None:
        super().deliver(converted(answer))


def converted(old: Any) -> base.Answer:
    if isinstance(old, base.Answer):
        return old
    return base.Answer(old.data, old.records, [_block(b) for b in old.blocks], None, old.exit_code, old.document)


def _block(block: Any) -> layout.Block:
    if isinstance(block, Prose):
        if block.heading:
            return layout.Heading(block.text)
        return layout.Remark(block.text) if block.remark else block.text
    if isinstance(block, Verbatim):
        return layout.Verbatim(block.text)
    assert isinstance(block, Table)
    columns: dict[str, layout.Format] = {}
    for c in block.columns:
        name = c.name
        while name in columns:
            name += " "
        columns[name] = layout.words if c.words else str
    return layout.Table(columns, block.rows, block.title, block.marked, block.groups)


class Command(base.Command):
    def __init__(self, name: str, callback: Callable[..., Answer], *, help: str, examples: Sequence[str],
                 params: Sequence[click.Parameter]):
        def run(output: base.Output, **values: Any) -> base.Answer:
            old = Output(output.command, output.json, output.csv, output.file, output.quiet)
            return converted(callback(old, **values))

        super().__init__(name, run, help=help, examples=examples, params=params)
