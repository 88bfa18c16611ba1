"""The report of a store as one HTML page that loads nothing: verdict, table, figures, laws, and how to repeat it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ..errors import SettingError
from ..numerics.formatting import count, deviation, number, plural, probability, signed
from ..plots.store_figures import store_figure
from ..plots.style import check_drawable, picture
from ..settings import OBSERVABLES, SIZES
from ..sweep.scaling_experiment import Scaling
from ..sweep.store_summary import StoreSummary, described
from ..sweep.sweep_results import SIMULATION_VERSION, attention_sure, limited_by
from ..theory.formulas.registry import formulas
from ..theory.phase import family
from ..verification.results import Cell, Comparison
from ..verification.verdicts import VERDICT_ALPHA
from .document import GROUPS, asset, formula_math, model_of, render

MOST_CELLS = 300  # in the table and in figures
WORDS = ("variant", "observable", "verdict", "limited by", "reason", "interval by")  # columns of text
# Columns that are shown on demand, with their classes: tips leave out technical ones.
DETAILS = {"reason": "detail", **dict.fromkeys(("standard error", "interval by", "design effect", "detectable bias"),
                                               "detail technical")}
# Families of noise terms that the name of a law doesn't tell.
LAW_FAMILIES = {"coverage": "facts never seen", "mlp noise": "MLP noise", "mlp mean": "MLP noise"}


def page(summary: StoreSummary) -> str:
    """What a store shows, as one HTML document that loads nothing; the same store gives the same document.

    Raises `SettingError` where matplotlib, which draws the figures, isn't installed.

    >>> from recall_theory.sweep import product, sweep
    >>> from recall_theory.sweep.store_summary import summarise_store
    >>> summary = summarise_store(sweep(product({"d": [16, 32]}, V=16, L=2, N=128), seeds=3, seed=1))
    >>> page(summary).count("<figure")            # predicted and observed thrice, residuals against d
    4
    """
    check_drawable("output")
    analysis = summary.analysis
    agreeing_last = sorted(range(len(analysis.cells)), key=lambda i: analysis.cells[i].verdict != "disagree")
    cells = {i: analysis.cells[i] for i in sorted(agreeing_last[:MOST_CELLS])}
    rows = [_row(i, cell, observable, c) for i, cell in cells.items() for observable, c in cell.comparisons.items()]
    choices = {name: sorted({row["selectors"][name] for row in rows}) for name in rows and rows[0]["selectors"]}
    # The sizes and the variant that all rows share need no column.
    texts = {name: {row["values"][name][0] for row in rows} for name in (*SIZES[:4], "variant")}
    shared = {name: of.pop() for name, of in texts.items() if len(of) == 1}
    agreement = _drawings(summary, "agreement", cells)
    residuals = _drawings(summary, "residuals", cells)
    laws = list(_laws(summary, cells))
    sections = {
        "comparisons": ("All comparisons", rows),
        "agreement": ("Predicted against observed", agreement),
        "residuals": ("Residuals against each size", residuals),
        "phase": ("Phase diagrams", summary.slices),
        "critical": ("How critical sizes scale", laws),
        "rules": ("How it is judged", True),
        "repeat": ("How to run it again", True),
        "formulas": ("The formulas", True),
    }
    problems, seeds = analysis.all_problems, analysis.seed_counts
    models = {model_of(p.setting) for p in problems}
    sizes = {name: sorted({getattr(p.setting, name) for p in problems} - {None}) for name in SIZES}
    margins = sorted(c.margin for _, _, c in analysis.comparisons)
    return render(
        "report.html.jinja",
        style=asset("report.css"),
        script=asset("report.js") if rows else "",
        style_attributes=True,
        summary=summary,
        analysis=analysis,
        single=sum(cell.seeds == 1 for cell in analysis.cells),
        sections={key: heading for key, (heading, shown) in sections.items() if shown},
        rows=rows,
        columns=[name for name in rows[0]["values"] if name not in shared] if rows else [],
        shared=shared,
        choices={name: of for name, of in choices.items() if len(of) > 1},
        agreement=agreement,
        residuals=residuals,
        phases=_drawings(summary, "phase", cells),
        laws=laws,
        groups=[group for group in GROUPS if group.model in models],
        seeds=seeds,
        uneven=len(set(seeds)) > 1,
        widest=analysis.seeds_wanted,
        margins=" to ".join(dict.fromkeys(f"{margin:.2g}" for margin in margins[:1] + margins[-1:])),
        ranges=", ".join(f"{name} = {' to '.join(dict.fromkeys(map(count, (of[0], of[-1]))))}"
                         for name, of in sizes.items() if of),
        exact={p.n_test for p in problems} == {None},
        random_seeds=sorted({p.seed for p in problems}),
        verdicts=["", *analysis.tally()],
        tallies=[(o or "all", *map(count, analysis.tally(o).values())) for o in (*OBSERVABLES, None)],
        pooled=[(test.group, test.observable, count(test.cells), test.in_percent, test.verdict)
                for test in analysis.pooled],
        described=described,
        WORDS=WORDS,
        DETAILS=DETAILS,
        SIMULATION_VERSION=SIMULATION_VERSION,
        family_confidence=1 - VERDICT_ALPHA)


def _row(number_of_cell: int, cell: Cell, observable: str, c: Comparison) -> dict[str, Any]:
    """One comparison in the table: "CELL OBSERVABLE", what it can be selected by, and for each column what it shows and
    the number by which it sorts."""
    setting, single = cell.setting.to_dict(), len(c.observed.values) < 2
    variant = described({name: value for name, value in setting.items() if name not in SIZES[:4]})
    interval = "none" if single else f"{signed(c.usual[0])} to {signed(c.usual[1])}"
    values: dict[str, tuple[str, float | None]] = {
        **{name: (count(setting[name]), setting[name]) for name in SIZES[:4]},
        "variant": (variant or "attention only", None),
        "observable": (observable, None),
        "verdict": (c.verdict, None),
        "limited by": (limited_by(cell), None),
        "predicted": (probability(c.predicted), c.predicted),
        "observed": (probability(c.observed.mean), c.observed.mean),
        "difference": (signed(c.difference), c.difference),
        "its interval": (interval, c.usual[1] - c.usual[0]),
        "seeds": (count(cell.seeds), cell.seeds),
        "reason": (c.reason, None),
        "standard error": (deviation(c.observed.se), c.observed.se),
        "interval by": ("none" if single else c.method, None),
        "design effect": (number(c.design_effect, 2), c.design_effect),
        "detectable bias": (number(c.detectable, 2) if c.detectable < 1 else "none", c.detectable),
    }
    selectors = {"limited by": limited_by(cell), "attention": "sure" if attention_sure(cell) else "not sure",
                 "model": "attention only" if cell.setting.m is None else "with an MLP",
                 "embeddings": cell.setting.embedding, "observable": observable, "verdict": c.verdict}
    return {"of": f"{number_of_cell} {observable}", "selectors": selectors, "values": values}


def _drawings(summary: StoreSummary, kind: str, cells: Mapping[int, Cell]) -> list[dict[str, str]]:
    """One figure for each panel of a kind; none where the store has nothing to show."""
    try:
        figure = store_figure(summary, kind, OBSERVABLES, cells)
    except SettingError:
        return []
    drawings = []
    for k, panel in enumerate(figure.panels, start=1):
        svg = picture(partial(figure.draw, "single", [panel]), "svg", f"{kind}-{k}", transparent=True).decode()
        drawings.append({"name": f"{kind}-{k}", "svg": svg[svg.index("<svg"):], "description": panel.words,
                         "caption": panel.caption})
    return drawings


def _laws(summary: StoreSummary, cells: Mapping[int, Cell]) -> Iterator[dict[str, object]]:
    """How each critical size scales: what was fitted and predicted as MathML, what binds in words, and the formulas of
    that."""
    every = [(plane, x) for plane in summary.slices for x in plane.scalings]
    for (plane, x), drawing in zip(every, _drawings(summary, "scaling", cells), strict=True):
        assert x.line is not None
        fitted = _power_law(x, "≈", x.line.slope, f"<mn>{number(math.exp(x.line.intercept))}</mn>")
        predicted = "" if math.isnan(x.predicted_exponent) else _power_law(x, "∝", x.predicted_exponent)
        points = [(count(p.value), number(p.predicted, 4), number(p.observed, 4), p.interval_in_words)
                  for p in x.points]
        binding, laws = _binding([summary.analysis.cells[i] for i in plane.cells], x.observable)
        yield {"scaling": x, "drawing": drawing, "fitted": fitted, "predicted": predicted, "binding": binding,
               "formulas": laws, "points": points}


def _power_law(x: Scaling, relation: str, exponent: float, constant: str = "") -> str:
    """A critical size as a power of the size along which it scales, as MathML."""
    digits = f"{round(exponent, 3) + 0.0:.3f}".replace("-", "\N{MINUS SIGN}")
    return (f"<math><msub><mi>{x.of}</mi><mn>{x.at:g}</mn></msub><mo>{relation}</mo>{constant}"
            f"<msup><mi>{x.along}</mi><mn>{digits}</mn></msup></math>")


def _binding(cells: Sequence[Cell], observable: str) -> tuple[str, list[str]]:
    """What binds in most of the cells in the step that the observable shows, and its leading laws in MathML."""
    names = [name for name in map(limited_by, cells) if name.startswith(observable) or observable == "accuracy"]
    if not names:
        return "", []
    name, times = Counter(names).most_common(1)[0]
    step, kind = name.split(": ")
    words = f"What binds in {times} of these {plural(len(cells), 'cell')}: {name}."
    for group in GROUPS:
        terms = {law: law.split(".")[-1].replace("_", " ") for law in group.names
                 if law.split(".")[-2] == step and group.model == model_of(cells[0].setting)}
        laws = [formula_math(formulas[law]) for law, term in terms.items()
                if LAW_FAMILIES.get(term, family(term)) == kind]
        if laws:  # else the noise itself, which comes after the laws
            return words, laws
    return words, []
