"""One prediction of geometric recall, in its three forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..answer import Answer, Block, Column, Prose, Table
from ..numbers import count, plural, probability

if TYPE_CHECKING:
    from ...geometric.setting import GeometricSetting
    from ...geometric.theory.predict import GeometricPrediction


def answer(prediction: GeometricPrediction) -> Answer:
    """The prediction in its three forms."""
    data = prediction.to_dict()
    record = {**data["setting"], "recall": prediction.recall}
    return Answer(data, [record], _blocks(prediction))


def describe(setting: GeometricSetting) -> str:
    """One line that says what is studied."""
    words = (f"N = {count(setting.N)}, R = {count(setting.R)}, d = {count(setting.width)}, "
             f"codes of length {count(setting.k)}")
    if setting.hops > 1:
        how = ("with chain of thought" if setting.chain_of_thought
               else f"through {plural(setting.depth, 'layer')}")
        words += f", {plural(setting.hops, 'hop')} {how}"
    return words + (", exact construction" if setting.construction == "exact" else "")


def _blocks(prediction: GeometricPrediction) -> list[Block]:
    s = prediction.setting
    rows = [(f"pass {i}", plural(length, "relation"), probability(p))
            for i, (length, p) in enumerate(zip(s.word_lengths, prediction.passes, strict=True), start=1)]
    rows.append(("whole query", plural(s.hops, "relation"), probability(prediction.recall)))
    return [
        Prose(f"What embeddings recall at {describe(s)}", heading=True),
        Table([Column("", words=True), Column("answers", words=True), Column("recall")], rows,
              marked=frozenset([len(rows) - 1])),
        Prose(f"A subject's embedding superposes {plural(s.words, 'code')}; the MLP has "
              f"{count(s.mlp_width)} hidden units, and none of its weights depends on the facts."),
    ]
