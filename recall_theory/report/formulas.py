"""The list of formulas, and one in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .answer import Answer, Block, Column, Prose, Table, Verbatim
from .numbers import plural

if TYPE_CHECKING:
    from ..theory.formulas.registry import Formula

PROVENANCE = {
    "quoted": "stated by a source",
    "derived": "worked out from the model's definition",
    "kin": "from a related paper",
}


def listed(formulas: Sequence[Formula]) -> Answer:
    """The list: names, titles and provenance."""
    records = [{"name": f.name, "title": f.title, "provenance": f.provenance, "reference": f.reference}
               for f in formulas]
    blocks: list[Block] = []
    groups: dict[str, list[Formula]] = {}
    for f in formulas:
        groups.setdefault(f.name.split(".")[0], []).append(f)
    for group, members in groups.items():
        blocks.append(Table([Column("name", words=True), Column("what it is", words=True),
                             Column("provenance", words=True)],
                            [(f.name, f.title, f.provenance) for f in members], title=group))
    blocks.append(Prose(f"{plural(len(formulas), 'formula')}. " + "; ".join(
        f"{word}: {meaning}" for word, meaning in PROVENANCE.items())
        + ". One in full: recall-theory formulas NAME.", remark=True))
    return Answer({"schema_version": 1, "formulas": records}, records, blocks)


def in_full(formula: Formula) -> Answer:
    """All that is known of one formula."""
    from ..theory.formulas.registry import SYMBOLS

    data = {"schema_version": 1, **formula.to_dict()}
    record = {k: v for k, v in data.items() if k not in ("schema_version", "symbols")}
    record["symbols"] = " ".join(formula.arguments)
    blocks: list[Block] = [Prose(f"{formula.name}: {formula.title}", heading=True)]
    if formula.expr is None:
        blocks.append(Prose("No expression: a place kept for a statement whose text was not available."))
    else:
        blocks += [Verbatim("LaTeX\n  " + str(data["latex"])), Verbatim("Plain\n  " + str(data["expression"]))]
    if formula.quote:
        blocks.append(Prose(f"What the source says: {formula.quote}."))
    blocks.append(Table([Column("symbol", words=True), Column("meaning", words=True),
                         Column("domain", words=True)],
                        [(a, SYMBOLS[a].meaning, SYMBOLS[a].domain) for a in formula.arguments]))
    facts = [
        ("Provenance", f"{formula.provenance} ({PROVENANCE[formula.provenance]})"),
        ("Reference", formula.reference), ("Holds", formula.regime), ("Reduces to", formula.limits),
        ("Unit", formula.unit), ("Margin", "" if formula.margin is None else f"{formula.margin:g}"),
    ]
    blocks.append(Prose("\n".join(f"{name}: {value}" for name, value in facts if value)))
    return Answer(data, [record], blocks)


def source(formula: Formula, text: str) -> Answer:
    """The formula's LaTeX or Python and nothing else."""
    record = {"name": formula.name, "text": text}
    return Answer(record, [record], [Verbatim(text)])
