"""The formulas behind the predictions, with where each comes from; those of the models in the store."""

from __future__ import annotations

from ...sweep.store_summary import Findings
from ...web.document import environment
from ...web.formula_groups import groups_of, model_of
from .section import Section


def section(found: Findings) -> Section:
    """Laws and noise terms, from the registry."""
    models = {model_of(p.setting) for p in found.evidence.all_problems}
    frame = environment().from_string(
        "{% from 'formulas.html.jinja' import formula_groups %}{{ formula_groups(groups) }}")
    shown = frame.render(groups=groups_of(models))
    body = ("<p>Predictions are quadratures over what differs from seed to seed; these closed forms are what they are "
            f"made of, and their limits. None has a fitted constant.</p>{shown}")
    return Section("formulas", "Formulas", "The formulas", body)
