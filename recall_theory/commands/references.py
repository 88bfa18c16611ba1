"""`recall-theory formulas` and `recall-theory cite`: the formulas behind the numbers, and what to cite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from .. import __version__
from ..numerics.formatting import plural
from .answers import Answer, Output, command
from .options import flag
from .streams import BadInput, shown
from .text_layout import Block, Heading, Remark, Verbatim, table

if TYPE_CHECKING:
    from ..theory.formulas.registry import Formula

PROVENANCE = {
    "quoted": "a sentence of the paper itself",
    "secondary": "somebody's account of the paper",
    "derived": "worked out from the model's definition",
    "kin": "from a related paper",
}
REFERENCES: tuple[dict[str, str], ...] = (
    {
        "type": "inproceedings", "key": "vural2026learning",
        "title": "Learning to Recall with Transformers Beyond Orthogonal Embeddings",
        "author": "Vural and Bietti and Soltanolkotabi and Wu",
        "booktitle": "International Conference on Learning Representations", "year": "2026",
        "eprint": "2603.15923", "archivePrefix": "arXiv",
    },
    {
        "type": "article", "key": "ravfogel2026geometric",
        "title": "Geometric Factual Recall in Transformers",
        "author": "Ravfogel and Yehudai and Bruna and Bietti", "year": "2026",
        "eprint": "2605.12426", "archivePrefix": "arXiv",
    },
    {
        "type": "software", "key": "recall_theory", "title": "recall-theory",
        "author": "{The recall-theory authors}", "version": __version__,
    },
)


def _names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from ..theory.formulas.registry import formulas

    return [name for name in formulas if name.startswith(incomplete)]


@command("formulas",
         "formulas law.recall.interference --latex",
         params=[click.Argument(["name"], required=False, metavar="[NAME]", shell_complete=_names),
                 flag("latex", "Print the formula's LaTeX alone."),
                 flag("python", "Print the formula's Python alone.")],
         apart=[("latex", "python", "json", "csv")])
def formulas_command(output: Output, name: str | None, latex: bool, python: bool) -> Answer:
    """The formulas behind the numbers. Without NAME, the list; with the NAME of a formula, all that is known of it:
    LaTeX, symbols and their domains, where it comes from, where it holds and what it reduces to. With the first part
    of a name, the list of those."""
    if (latex or python) and name is None:
        wanted = "--latex" if latex else "--python"
        raise BadInput(f"{wanted} needs the NAME of a formula, as in: formulas recall.interference {wanted}")
    from ..theory.formulas.registry import formulas

    if name is None:
        return _listed(list(formulas.values()))
    if name not in formulas:
        group = [formula for key, formula in formulas.items() if name and key.startswith(name.rstrip(".") + ".")]
        if not group or latex or python:
            near = formulas.near(name)
            raise BadInput(f"NAME {shown(name)} is not a formula"
                           + (f"; near it: {', '.join(near)}" if near else "; formulas without a NAME lists them"))
        return _listed(group)
    formula = formulas[name]
    if not (latex or python):
        return _in_full(formula)
    if formula.expr is None:
        raise BadInput(f"{name} has no expression to print: {formula.regime}")
    text = formula.latex() if latex else formula.python()
    record = {"name": formula.name, "text": text}
    return Answer(record, [record], [Verbatim(text)])


def _listed(formulas: Sequence[Formula]) -> Answer:
    records = [{"name": f.name, "title": f.title, "provenance": f.provenance, "reference": f.reference}
               for f in formulas]
    groups: dict[str, list[Formula]] = {}
    for f in formulas:
        groups.setdefault(f.name.split(".")[0], []).append(f)
    tables = [table(members, "name, what it is=title, provenance", group) for group, members in groups.items()]
    meanings = "; ".join(f"{word}: {meaning}" for word, meaning in PROVENANCE.items())
    remark = f"{plural(len(formulas), 'formula')}. {meanings}. One in full: recall-theory formulas NAME."
    return Answer({"formulas": records}, records, [*tables, Remark(remark)])


def _in_full(formula: Formula) -> Answer:
    from ..theory.formulas.registry import SYMBOLS

    data = formula.to_dict()
    record = {name: value for name, value in data.items() if name != "symbols"}
    record["symbols"] = " ".join(formula.arguments)
    blocks: list[Block] = [Heading(f"{formula.name}: {formula.title}")]
    if formula.expr is None:
        blocks.append("No expression: a place kept for a formula whose text was not available.")
    else:
        blocks += [Verbatim(f"LaTeX\n  {data['latex']}"), Verbatim(f"Plain\n  {data['expression']}")]
    if formula.quote:
        blocks.append(f"What the source says ({formula.source}): {formula.quote}")
    blocks.append(table({"symbol": a, "meaning": SYMBOLS[a].meaning, "domain": SYMBOLS[a].domain}
                        for a in formula.arguments))
    facts = {
        "Provenance": f"{formula.provenance} ({PROVENANCE[formula.provenance]})", "Reference": formula.reference,
        "Holds": formula.regime, "Reduces to": formula.limits, "Unit": formula.unit,
    }
    blocks.append("\n".join(f"{name}: {value}" for name, value in facts.items() if value))
    return Answer(data, [record], blocks)


@command("cite",
         "cite --output references.bib")
def cite_command(output: Output) -> Answer:
    """How to cite the papers that the model comes from, and this program, as BibTeX."""
    records = [dict(reference) for reference in REFERENCES]
    return Answer({"references": records}, records, [Verbatim("\n\n".join(map(bibtex, REFERENCES)))])


def bibtex(reference: Mapping[str, str]) -> str:
    """One entry of a BibTeX file.

    >>> bibtex(REFERENCES[1]).splitlines()[0]
    '@article{ravfogel2026geometric,'
    """
    fields = [f"  {name} = {{{value}}}," for name, value in reference.items() if name not in ("type", "key")]
    return "\n".join([f"@{reference['type']}{{{reference['key']},", *fields, "}"])
