"""The formulas behind the predictions, with where each comes from; those of the models in the store."""

from __future__ import annotations

from ...settings import Setting
from ...sweep.store_summary import Findings
from ..calculator.formulas import groups
from .section import Section


def section(found: Findings) -> Section:
    """Laws and noise terms, from the registry."""
    models = {model_of(p.setting) for p in found.evidence.all_problems}
    body = ("<p>Predictions are quadratures over what differs from seed to seed; these closed forms are what they are "
            f"made of, and their limits. None has a fitted constant.</p>{groups(models)}")
    return Section("formulas", "Formulas", "The formulas", body)


def model_of(setting: Setting) -> str:
    """The model whose formulas hold at a setting."""
    return "mlp" if setting.m is not None else "orthogonal" if setting.embedding == "orthogonal" else "plain"
