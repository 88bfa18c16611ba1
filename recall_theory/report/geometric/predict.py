"""One prediction of geometric recall, in its three forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..answer import Answer, Block, Column, Prose, Table
from ..numbers import count, deviation, number, plural, probability

if TYPE_CHECKING:
    from ...geometric.geometric_prediction import GeometricPrediction
    from ...geometric.geometric_setting import GeometricSetting

CAUSES = {
    "own": "each query by itself",
    "codes": "where the codes lie is shared by all queries",
    "maps": "how well two maps are aligned is shared by all subjects",
    "subjects": "queries about one subject share its embedding",
}


def answer(prediction: GeometricPrediction) -> Answer:
    """The prediction in its three forms."""
    data = prediction.to_dict()
    record = {**data["setting"], **data["predicted"]}
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
    rows = []
    if prediction.passes > 1:
        rows.append(("one pass alone", probability(prediction.one_pass), ""))
    passes = "1 pass" if prediction.passes == 1 else f"{prediction.passes} passes"
    rows.append((f"{plural(s.hops, 'hop')} in {passes}",
                 probability(prediction.recall), deviation(prediction.std)))
    blocks: list[Block] = [
        Prose(f"What embeddings recall at {describe(s)}", heading=True),
        Table([Column("", words=True), Column("recall"), Column("std over seeds")], rows,
              marked=frozenset([len(rows) - 1])),
        Prose(f"A subject's embedding superposes {plural(s.words, 'code')}; the MLP has "
              f"{count(s.mlp_width)} hidden units, and none of its weights depends on the facts."),
    ]
    if prediction.causes:
        blocks.append(Table(
            [Column("what makes seeds differ", words=True), Column("variance"), Column("", words=True)],
            [(name, number(value), CAUSES[name]) for name, value in prediction.causes.items()],
            title="Where the spread of one pass comes from", remark=True))
    return blocks
