"""The shipped results of training: complete, repeatable where that is quick, and as docs/geometric-training.md says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from recall_theory.geometric import TrainingSetting, least_dimension
from recall_theory.geometric.geometric_training import counting_dimension
from recall_theory.plots.style import picture
from validation import geometric_training as study
from validation import geometric_training_figures as figures

VALIDATION = Path(__file__).parent.parent / "validation"


@pytest.fixture(scope="module")
def structure():
    return {s: row for part, s, row in figures.load() if part == "structure"}


def test_nothing_that_was_planned_is_missing(structure):
    found = figures.thresholds()
    assert set(found) == {*study.ALONG_R, *study.ALONG_N, *study.LARGE, *study.LONGER, *study.RANDOM_CODES}
    assert set(structure) == {*study.ALONG_D, *study.LARGE_START, *study.OTHER_SIZES}
    assert all(len(d) == study.SEEDS and not np.isnan(d).any() for d in found.values())
    assert len({row["seed"] for _, _, row in figures.load()}) == 1
    for along in ("R", "N"):
        for noise in figures.NOISES:
            assert len(figures.scan(along, noise)[0]) >= 4


@pytest.mark.parametrize("noise", figures.NOISES)
def test_a_threshold_can_be_repeated(noise):
    # Another processor rounds differently, and a training that ends near 99 % may fall to the other side: hence 2.
    setting = TrainingSetting(N=64, noise=noise)
    again = least_dimension(setting, study.SEED, 0, study.TARGET)
    assert abs(again - figures.thresholds()[setting][0]) <= 2


def test_thresholds_lie_between_the_count_and_the_construction_and_grow_as_the_docs_say():
    for setting, d in figures.thresholds().items():
        assert d.max() <= setting.R * setting.k
        assert setting.code_length is not None or d.mean() > counting_dimension(setting, 2)
    for noise in figures.NOISES:
        assert figures.slopes("R", noise)["exponent"][2] < 1 < figures.slopes("N", noise)["exponent"][1]


def test_transfer_and_its_controls(structure):
    for setting in (TrainingSetting(d=24), *study.OTHER_SIZES):
        seen = {name: float(np.mean(values)) for name, values in structure[setting]["transfer"].items()}
        assert seen["recall"] >= 0.99 and seen["embeddings_trained"] >= 0.95
        assert seen["linear_map_shuffled"] < 0.05 and seen["embeddings_trained_shuffled"] < 0.95
        assert setting.d != 24 or seen["linear_map"] >= 0.95


def test_structure_where_the_construction_fits(structure):
    seen = {name: float(np.mean(values)) for name, values in structure[TrainingSetting(d=24)]["train"].items()}
    assert seen["linear_probe"] > 0.95 and seen["fact_edited"] > 0.95
    assert seen["gates_averaged"] < 0.2 and seen["frozen_same_layer"] < 0.5


def test_the_interval_covers_what_it_should():
    # 2,000 intervals of 4 seeds and 4 points, rounded up to whole numbers: at least 95 %, less six standard errors.
    rng = np.random.default_rng(0)
    x = np.array([1.0, 2, 4, 8])
    weights, hits = figures.slope_weights(x), 0
    for _ in range(2000):
        values = np.ceil(3 * x + 1 + rng.uniform() + rng.standard_normal((4, 4)) - 0.5)
        low, high = figures.estimate(weights, values, np.ones(4))[1:]
        hits += low <= 3 <= high
    assert hits / 2000 > 0.95 - 6 * np.sqrt(0.95 * 0.05 / 2000)


def test_the_weights_of_a_slope_are_least_squares():
    x, y = np.array([1.0, 2, 4, 8]), np.array([0.3, 1, 5, 2])
    assert figures.slope_weights(x) @ y == pytest.approx(np.polyfit(x, y, 1)[0])


def test_the_picture_is_drawn():
    pytest.importorskip("matplotlib")
    assert b"<svg" in picture(figures.draw, "svg")
    assert json.loads((VALIDATION / "geometric_training.json").read_text())
