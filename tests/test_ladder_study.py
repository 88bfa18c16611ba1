"""The ladder as a study: its settings, its file, and critical sizes found where they were put."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from scipy.special import expit

from recall_theory import Setting
from recall_theory.errors import SettingError
from recall_theory.training import RUNG_NAMES
from recall_theory.verification import ladder_study as study
from validation.ladder import FILE, SEED, large_ladder
from validation.ladder_picture import ladder_figure
from validation.ladder_scaling import critical_size, exponent_in_words, ladder_scaling, size_in_words
from validation.maximum_margin import largest_margin, margins


def test_the_grid_has_forty_settings_and_every_rung():
    grid = study.STUDY
    assert [len(settings) for settings in grid.values()] == [20, 12, 10]
    places = large_ladder()
    assert len({place.key for place in places}) == len(places)
    for rung in RUNG_NAMES:
        mine = [p for p in places if p.rung == rung and p.part in grid]
        assert len(mine) >= 40 and {p.seeds for p in mine} == {8}


def test_the_committed_rows_are_of_the_rule_each_once():
    rows = study.read_rows(FILE)
    keys = [row["key"] for row in rows]
    assert len(rows) > 250 and len(set(keys)) == len(keys) and {row["seed"] for row in rows} == {SEED}
    assert set(keys) <= {place.key for place in large_ladder()}
    assert all(row["seeds"] == len(row["observed"]["accuracy"]["values"]) >= 8 for row in rows)


def test_a_run_trains_only_what_its_file_lacks(tmp_path, monkeypatch):
    places = [study.Place("x", "1", Setting(V=V, L=2, d=4, N=64), 2, 100) for V in (4, 8)]
    ran = []
    monkeypatch.setattr(study, "run_place", lambda place, seed: ran.append(place) or {
        "key": place.key, "seed": seed, "steps": [60, place.setting.V * 20], "most_steps": place.steps, "part": "x"})
    path = tmp_path / "rows.jsonl"
    assert [row["key"] for row in study.run_ladder(places[:1], 3, path)] == [places[0].key]
    with path.open("a") as file:
        file.write('{"key": "cut sho')
    assert len(study.read_rows(path)) == 1
    path.write_text(path.read_text().split("\n")[0] + "\n")
    study.run_ladder(places, 3, path)
    assert ran == places and len(study.read_rows(path)) == 2
    study.run_ladder(places, 4, path)
    assert len(ran) == 4  # of another seed
    longer = [dataclasses.replace(place, steps=1000) for place in places]
    rows = study.run_ladder(longer, 3, path)
    assert ran[4:] == longer[1:]  # the first was at its end after 80 of 100 steps
    assert [row["most_steps"] for row in rows] == [100, 1000]
    assert study.finished(study.read_rows(path)[:2], 1000) == rows[:1] and study.finished(rows, 1000) == rows
    path.write_text("nothing\n" + path.read_text())
    with pytest.raises(SettingError, match="line 1"):
        study.read_rows(path)


def made(rung, exponent):
    """Rows whose accuracy crosses 0.5 at V = d^exponent / 4."""
    rng = np.random.default_rng(0)
    rows = []
    for s in study.STUDY["width"]:
        values = expit(3 * np.log(s.d**exponent / 4 / s.V) + 0.1 * rng.standard_normal(8))
        rows.append({"part": "width", "rung": rung, "setting": s.to_dict(),
                     "observed": {"accuracy": {"mean": values.mean(), "se": 0.01, "values": values.tolist()}}})
    return rows


def test_an_exponent_is_found_where_it_was_put():
    elsewhere = [{**row, "setting": {**row["setting"], "L": 4}, "observed": {"accuracy": {"values": [0.0] * 8}}}
                 for row in made("3", 1.8)]  # of another length
    found = ladder_scaling(made("3", 1.8) + elsewhere, "3", "V", "d", 0.5)
    usual = [p for p in found.points if not p.reason]
    assert len(usual) >= 3 and found.exponent == pytest.approx(1.8, abs=0.1)
    assert exponent_in_words(found).startswith("1.") and 0 < found.scatter < 0.05
    for point in usual:
        assert point.observed == pytest.approx(point.value**1.8 / 4, rel=0.15)
    vague = dataclasses.replace(found, interval=(1.5, 1.9))
    assert exponent_in_words(vague) == "not determined [1.50, 1.90]"


@pytest.mark.parametrize("seeds", [8, 32])
def test_resampled_intervals_hold_what_they_should(seeds):
    """Of 400 crossings at V = 12, from seeds of a variance as large as those of rung 1."""
    rng = np.random.default_rng(5)
    sizes = np.array([4, 8, 16, 32])
    held = 0
    for _ in range(400):
        values = expit(1.3 * np.log(12 / sizes)[:, None] + 0.6 * rng.standard_normal((4, seeds)))
        point, _ = critical_size(8, "V", dict(zip(sizes.tolist(), values, strict=True)), 0.5)
        held += point.interval[0] <= 12 <= point.interval[1]
    assert 0.92 < held / 400 <= 1


def test_the_least_samples_rise_to_the_level():
    rows = [{"part": "samples", "rung": "6", "setting": Setting(V=64, L=8, d=d, N=N).to_dict(),
             "observed": {"accuracy": {"values": [float(expit(3 * np.log(N * d / 16000)))] * 8}}}
            for d in (16, 32, 64) for N in (128, 256, 512, 1024)]
    found = ladder_scaling(rows, "6", "N", "d", 0.5)
    assert found.exponent == pytest.approx(-1, abs=0.02)
    assert [point.observed for point in found.points] == pytest.approx([1000, 500, 250], rel=0.02)


def test_a_few_drawings_without_a_crossing_leave_an_interval():
    seen = {2: ([0.1] * 8, np.linspace(0.8, 1, 8).tolist()), 4: ([0.3] * 8, [0.0, *[1.0] * 7]),
            8: ([0.2] * 8, [0.8] * 8)}
    rows = [{"part": "samples", "rung": "6", "setting": Setting(V=64, L=L, d=32, N=N).to_dict(),
             "observed": {"accuracy": {"values": values}}}
            for L, pair in seen.items() for N, values in zip((128, 256, 512), ([0.05] * 8, *pair), strict=True)]
    low, high = ladder_scaling(rows, "6", "N", "L", 0.5).interval
    assert -1 < low < high < 1


def test_what_lies_outside_says_so():
    found = ladder_scaling(made("3", 5.0), "3", "V", "d", 0.5)
    assert all(size_in_words(point).startswith("above V = ") for point in found.points if point.value > 8)
    assert exponent_in_words(found) == "not determined"


def test_the_largest_margin_is_certified_and_above_every_other():
    rng = np.random.default_rng(0)
    keys, outputs = rng.standard_normal((2, 12, 6))
    low, high = largest_margin(keys, outputs)
    assert low == pytest.approx(high, rel=1e-9) and low > margins(outputs.T @ keys, keys, outputs).min()
    low, high = largest_margin(*rng.standard_normal((2, 40, 6)))
    assert low < 0 and high < 1e-9  # some convex combination of the pairs is 0: nothing separates them


def test_rungs_stand_beside_the_law():
    s = Setting(V=16, L=2, d=16, N=512)
    law = study.law_of(s)
    observed = {name: {"mean": value, "se": 0.0, "values": [value]} for name, value in
                {**law, "training_accuracy": 1.0}.items()}
    row = {"rung": "1", "setting": s.to_dict(), "steps": [3], "observed": observed, "facts_per_parameter": 0.1,
           "bits_per_parameter": 0.4}
    (found,) = study.compare_rungs([row])
    assert found["against_law"] == pytest.approx(0) and found["recall"] == law["recall"]


def test_the_figure_is_drawn_from_the_file():
    rows = [json.loads(json.dumps(row)) for row in study.read_rows(FILE)]
    figure = ladder_figure(rows)
    assert len(figure.axes) == 2 and "V ln V" in figure.axes[0].get_xlabel()
