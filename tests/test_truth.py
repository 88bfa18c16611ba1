"""The theory against the shipped truth grid: the figures that the docs quote are today's, and on target."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

VALIDATION = Path(__file__).parent.parent / "validation"
sys.path.insert(0, str(VALIDATION))

from compare import rows, summarise  # noqa: E402


@pytest.fixture(scope="module")
def found():
    return rows(json.loads((VALIDATION / "observed.json").read_text()))


def test_the_grid_is_what_it_claims(found):
    figures = summarise(found)
    assert figures["gaussian"]["settings"] >= 60
    assert figures["gaussian"]["attention_below_0.9"] >= 15
    assert figures["gaussian"]["V_below_2d"] >= 15
    for name in ("sphere", "orthogonal", "trigger in keys only"):
        assert figures[name]["settings"] >= 10
        assert figures[name]["attention_below_0.9"] >= 3
    assert all(f["max_se"] < 0.01 for f in figures.values())
    assert min(r.seeds for r in found) >= 64


@pytest.mark.parametrize("name, mean, most", [
    ("gaussian", 0.001, 0.01), ("sphere", 0.002, 0.015), ("orthogonal", 0.002, 0.015),
    ("trigger in keys only", 0.002, 0.015),
])
def test_predictions_are_on_target(found, name, mean, most):
    figures = summarise(found)[name]
    assert figures["mean_excess"] <= mean
    assert figures["max_excess"] <= most
    assert figures["spread_median_abs_log_ratio"] <= 0.1
    assert figures["spreads_off"] <= figures["spreads"] // 50


def test_a_wrong_theory_is_off_target(found):
    # The negative control: predictions of one cell set beside the observations of another.
    import dataclasses

    moved = [dataclasses.replace(r, predicted=other.predicted)
             for r, other in zip(found, found[3:] + found[:3], strict=True)]
    assert summarise(moved)["gaussian"]["mean_excess"] > 0.05


def test_the_quoted_figures_are_todays(found):
    quoted = json.loads((VALIDATION / "agreement.json").read_text())["groups"]
    for name, figures in summarise(found).items():
        assert quoted[name] == pytest.approx(figures, abs=3e-4, rel=0.02), name
