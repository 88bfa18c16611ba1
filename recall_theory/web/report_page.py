"""The report of a store as one HTML page that loads nothing: verdict, table, figures, laws, and how to repeat it."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..numerics.formatting import count, deviation, number, plural, probability, signed
from ..plots.agreement import agreement_figure, describe_agreement
from ..plots.fitted_scaling import describe_scaling, scaling_figure
from ..plots.phase_diagram import describe_slice, slice_figure
from ..plots.residuals import describe_residuals, residual_figure, varied_sizes
from ..plots.style import check_drawable, picture
from ..settings import PARAMETERS
from ..simulate.observables import OBSERVABLES
from ..sweep.analysis import Evidence, attention_sure, limited_by
from ..sweep.problem import MODEL
from ..sweep.scaling import Scaling
from ..sweep.slices import Plane, described
from ..sweep.store_summary import Findings
from ..theory.phase import PhaseDiagram, family
from ..verification.planning import seeds_planned, seeds_to_rule_out
from ..verification.results import TOO_SKEWED, Cell, Comparison
from ..verification.verdicts import VERDICT_ALPHA
from .document import asset, render
from .formula_groups import GROUPS, groups_of, model_of
from .mathematics import formula_math
from .mathematics import math as mathml

if TYPE_CHECKING:
    import sympy
    from matplotlib.figure import Figure

__all__ = ["page"]

MOST_CELLS = 300  # in the table and in figures
SIZES = ("V", "L", "d", "N")
WORDS = ("variant", "observable", "verdict", "limited by", "reason", "interval by")  # columns of text
DETAILS = ("reason", "standard error", "interval by", "design effect", "detectable bias")  # columns shown on demand
# Families of noise terms that the name of a law doesn't tell.
LAW_FAMILIES = {"coverage": "facts never seen", "mlp noise": "MLP noise", "mlp mean": "MLP noise"}

Value = tuple[str, float | None]  # what a table shows, and the number by which it sorts


@dataclasses.dataclass(frozen=True)
class Drawing:
    """A figure of the page: its id, its SVG, what it shows in words and numbers, and what stands below it."""

    name: str
    svg: str
    description: str
    caption: str


@dataclasses.dataclass(frozen=True)
class Row:
    """One comparison in the table: its cell's number, what it can be selected by, and a value for each column."""

    cell: int
    selectors: dict[str, str]
    values: dict[str, Value]


@dataclasses.dataclass(frozen=True)
class Law:
    """How a critical size scales: formulas are MathML, `binding` is (what binds in most cells, in how many, of how
    many, the laws of that)."""

    scaling: Scaling
    drawing: Drawing
    fitted: str
    predicted: str
    binding: tuple[str, int, int, list[str]] | None


def page(findings: Findings) -> str:
    """What a store shows, as one HTML document that loads nothing; the same store gives the same document.

    Raises `SettingError` where matplotlib, which draws the figures, isn't installed.

    >>> from recall_theory.sweep import product, sweep
    >>> from recall_theory.sweep.store_summary import findings
    >>> summary = findings(sweep(product({"d": [16, 32]}, V=16, L=2, N=128), seeds=3, seed=1))
    >>> page(summary).count("<figure")            # predicted and observed thrice, residuals against d
    4
    """
    check_drawable("output")
    evidence = findings.evidence
    cells = {i: evidence.cells[i] for i in _shown(evidence)}
    rows = [Row(i, _selectors(cell, o, c), _values(cell, o, c))
            for i, cell in cells.items() for o, c in cell.comparisons.items()]
    problems = evidence.all_problems
    seeds = [*(c.seeds for c in evidence.cells), *(r.seeds for r in evidence.refused)]
    agreement = _agreement(cells) if cells else []
    residuals = _residuals(cells) if cells else []
    phases, laws = list(_phases(findings, cells)), list(_laws(findings))
    sections = [("comparisons", "Table", rows), ("agreement", "Predicted and observed", agreement),
                ("residuals", "Residuals", residuals), ("phase", "Phase diagrams", phases),
                ("critical", "Critical sizes", laws), ("rules", "How it is judged", True),
                ("repeat", "Run it again", True), ("formulas", "Formulas", True)]
    return render(
        "report.html.jinja", style=asset("report.css"), script=asset("report.js"), style_attributes=True,
        evidence=evidence, findings=findings, OBSERVABLES=OBSERVABLES, WORDS=WORDS, DETAILS=DETAILS, sections=sections,
        MODEL=MODEL, PARAMETERS=PARAMETERS, family_confidence=1 - VERDICT_ALPHA,
        count=count, number=number, plural=plural, signed=signed, described=described,
        ranges=_ranges(evidence), seeds=seeds, exact={p.n_test for p in problems} == {None},
        margins=" or ".join(f"{m:g}" for m in sorted({c.margin for c in evidence.cells})),
        needed=_seeds_needed(evidence),
        skewed=sum(c.reason == TOO_SKEWED for _, _, c in evidence.comparisons),
        shared=_shared(rows), rows=rows, choices=_choices(rows),
        agreement=agreement, residuals=residuals, phases=phases, laws=laws,
        repeats=findings.repeats,
        varied=[n for n, p in PARAMETERS.items() if any(getattr(x.setting, n) != p.default for x in problems)],
        random_seeds=sorted({p.seed for p in problems}), groups=groups_of({model_of(p.setting) for p in problems}))


def _shown(evidence: Evidence) -> list[int]:
    """The numbers of the cells on the page: all, or those that disagree and then the first ones."""
    cells = evidence.cells
    order = sorted(range(len(cells)), key=lambda i: all(c.verdict != "disagree" for c in cells[i].comparisons.values()))
    return sorted(order[:MOST_CELLS])


def _ranges(evidence: Evidence) -> str:
    """The sizes of all cells: "V = 12, L = 2 to 4, d = 6 to 24"."""
    settings = [p.setting for p in evidence.all_problems]
    parts = []
    for name in (*SIZES, "m"):
        values = sorted({value for s in settings if (value := getattr(s, name)) is not None})
        if values:
            parts.append(f"{name} = {count(values[0])}" + (f" to {count(values[-1])}" if len(values) > 1 else ""))
    without = sum(s.m is None for s in settings)
    if 0 < without < len(settings):
        parts[-1] += f" ({plural(without, 'cell')} without an MLP)"
    kinds = list(dict.fromkeys(s.embedding for s in settings))
    return f"{', '.join(parts)}; {' and '.join(kinds)} embeddings"


def _seeds_needed(evidence: Evidence) -> tuple[int, int]:
    """The seeds that any verdict takes at the smallest margin, and those that the widest open comparison would take,
    by the mean and spread that it shows (0 where none is open)."""
    if not evidence.cells:
        return 0, 0
    confidence = evidence.confidence
    wanted = [seeds_planned(c.observed.mean, c.observed.std, cell.margin, confidence)
              for cell, _, c in evidence.comparisons if c.verdict == "inconclusive" and len(c.observed.values) > 1]
    return seeds_to_rule_out(min(cell.margin for cell in evidence.cells), confidence), max(wanted, default=0)


# --- the table ------------------------------------------------------------------------------------


def _values(cell: Cell, observable: str, c: Comparison) -> dict[str, Value]:
    """The columns of a comparison."""
    setting, single = cell.setting.to_dict(), len(c.observed.values) < 2
    return {
        **{name: (count(setting[name]), setting[name]) for name in SIZES},
        "variant": (described({n: v for n, v in setting.items() if n not in SIZES}) or "attention only", None),
        "observable": (observable, None),
        "verdict": (c.verdict, None),
        "limited by": (limited_by(cell), None),
        "predicted": (probability(c.predicted), c.predicted),
        "observed": (probability(c.observed.mean), c.observed.mean),
        "difference": (signed(c.difference), c.difference),
        "its interval": ("none" if single else f"{signed(c.low)} to {signed(c.high)}", c.high - c.low),
        "seeds": (count(cell.seeds), cell.seeds),
        "reason": (c.reason, None),
        "standard error": (deviation(c.observed.se), c.observed.se),
        "interval by": ("none" if single else c.method, None),
        "design effect": (number(c.design_effect, 2), c.design_effect),
        "detectable bias": (number(c.detectable, 2) if c.detectable < 1 else "none", c.detectable),
    }


def _selectors(cell: Cell, observable: str, c: Comparison) -> dict[str, str]:
    """What a reader selects comparisons by."""
    return {"limited by": limited_by(cell), "attention": "sure" if attention_sure(cell) else "not sure",
            "model": "attention only" if cell.setting.m is None else "with an MLP",
            "embeddings": cell.setting.embedding, "observable": observable, "verdict": c.verdict}


def _choices(rows: Sequence[Row]) -> dict[str, list[str]]:
    """The values of each selector that has more than one."""
    values = {name: sorted({row.selectors[name] for row in rows}) for name in (rows[0].selectors if rows else ())}
    return {name: of for name, of in values.items() if len(of) > 1}


def _shared(rows: Sequence[Row]) -> dict[str, str]:
    """The sizes and the variant that all rows share, which need no column."""
    values = {name: {row.values[name][0] for row in rows} for name in (*SIZES, "variant")}
    return {name: of.pop() for name, of in values.items() if len(of) == 1}


# --- figures --------------------------------------------------------------------------------------


def _drawing(name: str, draw: Callable[[], Figure], description: str, caption: str) -> Drawing:
    svg = picture(draw, "svg", name, transparent=True).decode()
    return Drawing(name, svg[svg.index("<svg"):], description, caption)


def _agreement(cells: Mapping[int, Cell]) -> list[Drawing]:
    return [_drawing(f"agreement-{o}", partial(agreement_figure, cells, (o,), "single"), describe_agreement(cells, o),
                     f"{o.capitalize()}: on the line the theory is right, between the dotted lines within its margin.")
            for o in OBSERVABLES]


def _residuals(cells: Mapping[int, Cell]) -> list[Drawing]:
    return [_drawing(f"residuals-{size.replace('/', '-')}", partial(residual_figure, cells, [size], width="single"),
                     describe_residuals(cells, size), f"Observed − predicted against {size}.")
            for size in varied_sizes(cells)]


def _phases(findings: Findings, cells: Mapping[int, Cell]) -> Iterator[Drawing | str]:
    """The phase diagram of each slice, or why it has none."""
    for k, scanned in enumerate(findings.scanned, start=1):
        plane, diagram = scanned.plane, scanned.diagram
        if isinstance(diagram, PhaseDiagram):
            yield _drawing(f"phase-{k}", partial(slice_figure, cells, [(plane, diagram)], "single"),
                           describe_slice(cells, plane, diagram),
                           f"What binds over {plane.x} and {plane.y}, predicted; marks are simulated.")
        else:
            yield f"Over {plane.x} and {plane.y} ({plane.title()}) there is no diagram: {diagram}."


# --- how critical sizes scale ---------------------------------------------------------------------


def _laws(findings: Findings) -> Iterator[Law]:
    every = [(scanned.plane, x) for scanned in findings.scanned for x in scanned.scalings]
    for k, (plane, x) in enumerate(every, start=1):
        assert x.line is not None
        import sympy

        left = f"<msub><mi>{x.of}</mi><mn>{x.at:g}</mn></msub><mo>"
        constant = sympy.Symbol(number(math.exp(x.line.intercept)))
        fitted = mathml(sympy.Mul(constant, _power(x.along, x.line.slope), evaluate=False), f"{left}≈</mo>")
        predicted = ""
        if not math.isnan(x.predicted_exponent):
            predicted = mathml(_power(x.along, x.predicted_exponent), f"{left}∝</mo>")
        drawing = _drawing(f"scaling-{k}", partial(scaling_figure, [x], "single"), describe_scaling(x),
                           f"The {x.of} at which {x.observable} is {x.at:g} ({plane.title()}).")
        yield Law(x, drawing, fitted, predicted, _binding(findings, plane, x))


def _power(size: str, exponent: float) -> sympy.Expr:
    """A size to an exponent of three decimals: digits as they are, which sympy would turn into a fraction or 10^-16."""
    import sympy

    digits = f"{exponent + 0.0:.3f}".replace("-0.000", "0.000").replace("-", "\N{MINUS SIGN}")
    return sympy.Pow(sympy.Symbol(size), sympy.Symbol(digits), evaluate=False)


def _binding(findings: Findings, plane: Plane, x: Scaling) -> tuple[str, int, int, list[str]] | None:
    """What binds in most cells of the plane in the step that the observable shows, and its laws in MathML."""
    cells = [findings.evidence.cells[i] for i in plane.cells]
    names = [limited_by(cell) for cell in cells]
    names = [name for name in names if name.startswith(x.observable) or x.observable == "accuracy"]
    if not names:
        return None
    name, times = Counter(names).most_common(1)[0]
    return name, times, len(cells), _laws_of(name, model_of(cells[0].setting))


def _laws_of(binding: str, model: str) -> list[str]:
    """The leading laws of a step and a family of noise terms; where there are none, the noise itself."""
    from ..theory.formulas.registry import formulas

    step, kind = binding.split(": ")
    for group in {"plain": ("laws", "noise"), "mlp": ("mlp",), "orthogonal": ()}[model]:
        laws = [formula_math(formulas[law], *bound) for law, bound in GROUPS[group].bounds.items()
                if law.split(".")[-2] == step and _family(law) == kind]
        if laws:
            return laws
    return []


def _family(law: str) -> str:
    term = law.split(".")[-1].replace("_", " ")
    return LAW_FAMILIES.get(term, family(term))
