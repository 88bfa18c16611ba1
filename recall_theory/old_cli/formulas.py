"""`recall-theory formulas`: the list of formulas, or one in full."""

from __future__ import annotations

import click

from ..report.answer import Answer
from .command import Command, Output
from .errors import BadInput, shown
from .options import ParamType


def run(output: Output, name: str | None, latex: bool, python: bool) -> Answer:
    asked = [flag for flag, given in (("--latex", latex), ("--python", python), ("--json", output.json),
                                      ("--csv", output.csv)) if given]
    if len(asked) > 1 and (latex or python):
        raise BadInput(f"{' and '.join(asked)} contradict one another: give one of them")
    if (latex or python) and name is None:
        raise BadInput(f"{asked[0]} needs the NAME of a formula, as in: formulas recall.interference {asked[0]}")
    from ..report import formulas as report
    from ..theory.formulas.registry import formulas

    if name is None:
        return report.listed(list(formulas.values()))
    if name not in formulas:
        group = [f for key, f in formulas.items() if name and key.startswith(name.rstrip(".") + ".")]
        if not group or latex or python:
            raise BadInput(_unknown(name, list(formulas)))
        return report.listed(group)
    formula = formulas[name]
    if not (latex or python):
        return report.in_full(formula)
    if formula.expr is None:
        raise BadInput(f"{name} has no expression to print: {formula.regime}")
    return report.source(formula, formula.latex() if latex else formula.python())


def _unknown(name: str, names: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
    near = near or [n for n in names if name and name.lower() in n][:3]
    return (f"NAME {shown(name)} is not a formula"
            + (f"; near it: {', '.join(near)}" if near else "; formulas without a NAME lists them"))


class _Name(ParamType):
    """A formula's name; completed from the registry."""

    name = "name"

    def shell_complete(self, ctx: click.Context, param: click.Parameter,
                       incomplete: str) -> list[click.shell_completion.CompletionItem]:
        from click.shell_completion import CompletionItem

        from ..theory.formulas.registry import formulas

        return [CompletionItem(n) for n in formulas if n.startswith(incomplete)]


command = Command(
    "formulas", run,
    params=[
        click.Argument(["name"], required=False, type=_Name(), metavar="[NAME]"),
        click.Option(["--latex", "latex"], is_flag=True, help="Print the formula's LaTeX alone."),
        click.Option(["--python", "python"], is_flag=True, help="Print the formula's Python alone."),
    ],
    help="The formulas behind the numbers. Without NAME, the list; with the NAME of a formula, all that is known "
         "of it: LaTeX, symbols and their domains, where it comes from, where it holds and what it reduces to. "
         "With the first part of a name, the list of those.",
    examples=["formulas", "formulas law.recall.interference --latex"],
)
