"""Phase diagrams with the simulated cells on them, and how critical sizes scale: fitted law beside predicted."""

from __future__ import annotations

import functools
import math
from collections import Counter
from html import escape
from typing import Any

from ...figures import phase, scaling
from ...report.numbers import count, number, plural
from ...sweep.analysis import limited_by
from ...sweep.scaling import Scaling
from ...sweep.slices import Plane
from ...sweep.store_summary import Findings
from ...theory.phase import PhaseDiagram, family
from ...verification.results import Cell
from ...web.formula_groups import GROUPS, model_of
from ...web.mathematics import formula_math
from ...web.mathematics import math as set_math
from .figures import chosen, figure
from .section import Section

# Terms whose family their name doesn't tell.
FAMILIES = {"coverage": "facts never seen", "mlp noise": "MLP noise", "mlp mean": "MLP noise"}


def sections(found: Findings) -> list[Section]:
    """Phase diagrams and critical sizes; none of them where the cells scan no plane."""
    return [s for s in (_phases(found), _critical(found)) if s is not None]


def _phases(found: Findings) -> Section | None:
    if not found.scanned:
        return None
    of_page, drawn = chosen(found), []
    for k, s in enumerate(found.scanned, start=1):
        if isinstance(s.diagram, PhaseDiagram):
            drawn.append(figure(found, f"phase-{k}", functools.partial(_diagram, of_page, s.plane, s.diagram),
                                phase.words(of_page, s.plane, s.diagram),
                                f"What binds over {s.plane.x} and {s.plane.y}, predicted; marks are simulated."))
        else:
            drawn.append(f"<p>Over {s.plane.x} and {s.plane.y} ({escape(s.plane.title())}) there is no diagram: "
                         f"{escape(s.diagram)}.</p>")
    body = (f"<p>Colours say which noise term is largest in the step that falls shorter; the line is where predicted "
            f"accuracy is {found.at:g}. Numbers beside marks are what was observed there.</p>"
            f'<div class="figures">{"".join(drawn)}</div>')
    if found.more:
        body += f"<p>{plural(found.more, 'plane').capitalize()} more could be drawn; these hold most cells.</p>"
    return Section("phase", "Phase diagrams", "Phase diagrams", body)


def _diagram(of_page: dict[int, Cell], plane: Plane, diagram: PhaseDiagram, plt: Any) -> Any:
    return phase.figure(plt, of_page, [(plane, diagram)], "single")


def _critical(found: Findings) -> Section | None:
    every = [(s.plane, x) for s in found.scanned for x in s.scalings]
    if not every:
        return None
    body = (f"<p>The size at which the mean observable is {found.at:g}, read off between neighbouring sizes of a "
            "scan: the logit is taken for a straight line in the logarithm of the size, for the observed means and for "
            "the predicted ones alike. The exponent is the slope of a weighted straight line through the logarithms; "
            "the predicted one is the same line, with the same weights, through the predicted sizes.</p>"
            + "\n".join(_law(found, k, plane, x) for k, (plane, x) in enumerate(every, start=1)))
    return Section("critical", "Critical sizes", "How critical sizes scale", body)


def _panel(x: Scaling, plt: Any) -> Any:
    return scaling.figure(plt, [x], "single")


def _law(found: Findings, k: int, plane: Plane, x: Scaling) -> str:
    drawn = figure(found, f"scaling-{k}", functools.partial(_panel, x), scaling.words(x),
                   f"The {x.of} at which {x.observable} is {x.at:g} ({plane.title()}).")
    rows = "".join(
        f'<tr><th scope="row">{count(p.value)}</th><td>{number(p.predicted, 4)}</td><td>{number(p.observed, 4)}</td>'
        f'<td class="words">{escape(p.reason) or f"{number(p.interval[0], 4)} to {_end(p.interval[1])}"}</td></tr>'
        for p in x.points)
    table = ('<div class="scroll"><table><caption>Critical sizes</caption><thead><tr>'
             f'<th scope="col">{x.along}</th><th scope="col">predicted {x.of}</th><th scope="col">observed {x.of}</th>'
             f'<th scope="col" class="words">95 % interval</th></tr></thead><tbody>{rows}</tbody></table></div>')
    return (f"<h3>{x.of} for {x.observable} {x.at:g}, along {x.along}</h3>\n"
            f'<div class="figures law">{drawn}<div>{_words(found, plane, x)}{table}</div></div>')


def _end(x: float) -> str:
    return "no end" if math.isinf(x) else number(x, 4)


def _words(found: Findings, plane: Plane, x: Scaling) -> str:
    """The fitted law, the predicted exponent, and the leading law of what binds."""
    import sympy

    assert x.line is not None
    low, high = x.interval
    left = f"<msub><mi>{x.of}</mi><mn>{x.at:g}</mn></msub><mo>"
    constant = sympy.Symbol(number(math.exp(x.line.intercept)))
    fitted = set_math(sympy.Mul(constant, _power(x.along, x.line.slope), evaluate=False), f"{left}≈</mo>")
    words = [f'<p class="fitted">Fitted: {fitted}, exponent {x.line.slope:.3f} ({low:.3f} to {high:.3f}).</p>']
    if math.isnan(x.predicted_exponent):
        words.append("<p>The prediction doesn't cross that level in each of these scans.</p>")
    else:
        predicted = set_math(_power(x.along, x.predicted_exponent), f"{left}∝</mo>")
        inside = "inside" if low <= x.predicted_exponent <= high else "outside"
        words.append(f'<p class="predicted">Predicted: {predicted}, {inside} the 95 % interval.</p>')
    if not math.isnan(x.line.p_value):
        bent = ": it bends, and the exponent is that of this range only" if x.line.p_value < 1 / 100 else ""
        words.append(f"<p>Points as far from a straight line as these have probability {number(x.line.p_value, 2)} "
                     f"by their errors alone{bent}.</p>")
    return "".join(words) + _leading(found, plane, x)


def _power(size: str, exponent: float) -> Any:
    """A size to an exponent of three decimals: digits as they are, which sympy would turn into a fraction or 10^-16."""
    import sympy

    digits = f"{exponent + 0.0:.3f}".replace("-0.000", "0.000").replace("-", "\N{MINUS SIGN}")
    return sympy.Pow(sympy.Symbol(size), sympy.Symbol(digits), evaluate=False)


def _leading(found: Findings, plane: Plane, x: Scaling) -> str:
    """What binds in most cells of the plane in the step that the observable shows, and its law."""
    cells = [found.evidence.cells[i] for i in plane.cells]
    steps = [name for c in cells if (name := limited_by(c)).startswith(x.observable) or x.observable == "accuracy"]
    if not steps:
        return ""
    name, times = Counter(steps).most_common(1)[0]
    return (f"<p>What binds in {times} of these {plural(len(cells), 'cell')}: {name}."
            f"{_law_of(name, model_of(cells[0].setting))}</p>")


def _law_of(binding: str, model: str) -> str:
    """The leading laws of a step and a family of noise, or the noise itself where it has none."""
    from ...theory.formulas.registry import formulas

    step, kind = binding.split(": ")
    groups = {"plain": ("laws", "noise"), "mlp": ("mlp",), "orthogonal": ()}[model]
    for group in groups:
        said = [formula_math(formulas[law], *bounds) for law, bounds in GROUPS[group].bounds.items()
                if law.split(".")[-2] == step and _family(law) == kind]
        if said:
            how = " It is" if group == "noise" else " To leading order it asks for"
            return f"{how} {' and '.join(said)}."
    return ""


def _family(law: str) -> str:
    term = law.split(".")[-1].replace("_", " ")
    return FAMILIES.get(term, family(term))
