"""The Attention-MLP theory against its shipped truth grid: the figures quoted are today's, and on target."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import pytest

from recall_theory import predict

VALIDATION = Path(__file__).parent.parent / "validation"
sys.path.insert(0, str(VALIDATION))

from compare import rows  # noqa: E402
from compare_mlp import ALL, figures, summarise  # noqa: E402

NAMED = {"identity", "relu", "gelu", "tanh", "erf", "quadratic"}


@pytest.fixture(scope="module")
def found():
    return rows(json.loads((VALIDATION / "observed_mlp.json").read_text()))


def test_the_grid_is_what_it_claims(found):
    summary = summarise(found)
    assert set(summary) == NAMED | {ALL}
    assert summary[ALL]["settings"] >= 40
    assert summary[ALL]["attention_below_0.9"] >= 10
    assert summary[ALL]["fewest_seeds"] >= 24
    assert summary[ALL]["max_se"] < 0.01
    for name, low, high in (("V", 128, 995), ("d", 32, 253), ("m", 71, 7419), ("L", 8, 128), ("ratio", 9, 450)):
        seen = [getattr(r.setting, name) for r in found]
        assert min(seen) <= 1.1 * low
        assert max(seen) >= high


def test_predictions_are_on_target(found):
    assert figures(found)["mean_excess"] <= 0.002
    assert figures(found)["max_excess"] <= 0.015


def test_a_wrong_theory_is_off_target(found):
    # The negative controls: the infinitely wide layer, and relu in the place of every activation.
    few = [r for r in found if r.name == "recall" and r.setting.m < 200][::2]
    wide = [dataclasses.replace(r, predicted=predict(r.setting.replace(m=10**8)).recall) for r in few]
    assert figures(wide)["max_excess"] > 0.1
    others = [r for r in found if r.name == "recall" and r.setting.activation in ("tanh", "erf")][::3]
    relu = [dataclasses.replace(r, predicted=predict(r.setting.replace(activation="relu")).recall) for r in others]
    assert figures(relu)["max_excess"] > 0.1


def test_the_quoted_figures_are_todays(found):
    quoted = json.loads((VALIDATION / "agreement_mlp.json").read_text())["groups"]
    for name, shown in summarise(found).items():
        assert quoted[name] == pytest.approx(shown, abs=3e-4, rel=0.02), name
