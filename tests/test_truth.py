"""The theory against settings that were drawn at random and simulated: what every class of them must keep to."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from support import shipped

from recall_theory import predict
from recall_theory.theory.domain import INSIDE, class_of
from validation.compare import rows, summarise


@pytest.fixture(scope="module")
def found():
    """Every fourth setting of the draw of development, by kinds."""
    return rows(sorted(shipped("development"), key=lambda r: (r["kind"], r["setting"]["L"]))[::4])


def test_the_draw_is_what_it_claims():
    seen = shipped("development")
    assert len(seen) >= 150
    kinds = [row["kind"] for row in seen]
    assert min(kinds.count(kind) for kind in ("attention", "smooth", "rough")) >= 24
    for name, low, high in (("V", 20, 900), ("L", 2, 200), ("d", 10, 350)):
        sizes = [row["setting"][name] for row in seen]
        assert min(sizes) <= low and max(sizes) >= high
    assert sum(row["attention"]["mean"] < 0.9 for row in seen) >= 30
    assert max(row[o]["se"] for row in seen for o in ("attention", "recall", "accuracy")) < 0.05


def test_predictions_are_inside_the_errors_that_are_stated(found):
    """Beyond three standard errors, for what counts as checked."""
    for r in found:
        if r.group != "unchecked":
            assert r.excess(3) <= INSIDE[class_of(r.setting.activation)], (r.setting, r.name, r.predicted, r.seen)


def test_the_mean_of_the_errors_is_small(found):
    """On average a prediction is off by a tenth of the largest error stated, beyond two standard errors; signed errors
    cancel."""
    for name, figures in summarise(found).items():
        if name not in ("tiny", "unchecked"):
            largest = INSIDE["rough" if "rough" in name else "smooth" if "smooth" in name else "attention-only"]
            assert figures["mean_excess"] <= largest / 8, (name, figures)
            noise = np.mean([r.seen["se"] for r in found if r.group == name]) / np.sqrt(figures["settings"])
            assert abs(figures["bias"]) < largest / 4 + 3 * noise, (name, figures)
            assert figures["spreads"] < 20 or figures["spread_median"] < 0.2, (name, figures)


@pytest.mark.parametrize("wrong", [{"m": 10**7}, {"activation": "relu"}, {"trigger_in_value": None}])
def test_a_wrong_theory_is_off_target(found, wrong):
    """The negative controls: the infinitely wide layer, relu for every activation, the other convention."""
    name = next(iter(wrong))
    some = [r for r in found if r.name == "recall" and r.group in ("MLP, smooth", "MLP, rough")
            and (name != "m" or r.setting.m < 200) and r.seen["mean"] > 0.05][:8]
    changed = []
    for r in some:
        value = not r.setting.trigger_in_value if name == "trigger_in_value" else wrong[name]
        changed.append(dataclasses.replace(r, predicted=predict(r.setting.replace(**{name: value})).recall))
    assert np.mean([r.excess(2) for r in changed]) > 0.01 and max(r.excess(3) for r in changed) > 0.05
