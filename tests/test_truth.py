"""The theory against the shipped truth grids: the figures that the docs quote are today's, and on target."""

from __future__ import annotations

import dataclasses

import pytest
from support import shipped

from recall_theory import predict
from validation.compare import rows, summarise
from validation.compare_mlp import ALL, figures
from validation.compare_mlp import summarise as summarise_mlp


@pytest.fixture(scope="module")
def found():
    return rows(shipped("observed"))


@pytest.fixture(scope="module")
def found_mlp():
    return rows(shipped("observed_mlp"))


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


def test_the_grid_of_the_mlp_is_what_it_claims(found_mlp):
    summary = summarise_mlp(found_mlp)
    assert set(summary) == {"identity", "relu", "gelu", "tanh", "erf", "quadratic", ALL}
    assert summary[ALL]["settings"] >= 40
    assert summary[ALL]["attention_below_0.9"] >= 10
    assert summary[ALL]["fewest_seeds"] >= 24
    assert summary[ALL]["max_se"] < 0.01
    for name, low, high in (("V", 128, 995), ("d", 32, 253), ("m", 71, 7419), ("L", 8, 128), ("ratio", 9, 450)):
        sizes = [getattr(r.setting, name) for r in found_mlp]
        assert min(sizes) <= 1.1 * low
        assert max(sizes) >= high


@pytest.mark.parametrize("name, mean, most", [
    ("gaussian", 0.001, 0.01), ("sphere", 0.002, 0.015), ("orthogonal", 0.002, 0.015),
    ("trigger in keys only", 0.002, 0.015),
])
def test_predictions_are_on_target(found, name, mean, most):
    group = summarise(found)[name]
    assert group["mean_excess"] <= mean
    assert group["max_excess"] <= most
    assert group["spread_median_abs_log_ratio"] <= 0.1
    assert group["spreads_off"] <= group["spreads"] // 50


def test_predictions_of_the_mlp_are_on_target(found_mlp):
    assert figures(found_mlp)["mean_excess"] <= 0.002
    assert figures(found_mlp)["max_excess"] <= 0.015


def test_a_wrong_theory_is_off_target(found):
    """The negative control: predictions of one cell set beside the observations of another."""
    moved = [dataclasses.replace(r, predicted=other.predicted)
             for r, other in zip(found, found[3:] + found[:3], strict=True)]
    assert summarise(moved)["gaussian"]["mean_excess"] > 0.05


@pytest.mark.parametrize("wrong, applies, step", [
    ({"m": 10**8}, lambda s: s.m < 200, 2),
    ({"activation": "relu"}, lambda s: s.activation in ("tanh", "erf"), 3),
])
def test_a_wrong_theory_of_the_mlp_is_off_target(found_mlp, wrong, applies, step):
    """The negative controls: the infinitely wide layer, and relu in the place of every activation."""
    some = [r for r in found_mlp if r.name == "recall" and applies(r.setting)][::step]
    changed = [dataclasses.replace(r, predicted=predict(r.setting.replace(**wrong)).recall) for r in some]
    assert figures(changed)["max_excess"] > 0.1


def test_the_quoted_figures_are_todays(found, found_mlp):
    for name, summary in (("agreement", summarise(found)), ("agreement_mlp", summarise_mlp(found_mlp))):
        quoted = shipped(name)["groups"]
        for group, group_figures in summary.items():
            assert quoted[group] == pytest.approx(group_figures, abs=3e-4, rel=0.02), (name, group)
