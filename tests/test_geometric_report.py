"""The picture of geometric recall: what it shows is what the commands say, on a page that loads nothing."""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import pytest
from command_line import answer, call, refused

from recall_theory.geometric import Construction, GeometricSetting, predict, simulate
from recall_theory.geometric.geometric_report import BOUND, HELD, WAYS, frontiers, gather_report, read_thresholds
from recall_theory.geometric.hop_depth import hops_bits
from recall_theory.plots.diagrams import geometric_figure
from validation import geometric_training as study

pytest.importorskip("matplotlib")

SMALL = ("geometric", "report", "--N", "16", "--N", "8", "--R", "3", "--hops", "3", "--seeds", "2", "--seed", "1")


def test_curves_are_those_of_predict_and_simulate():
    data = answer(*SMALL)
    assert [(curve["N"], curve["R"]) for curve in data["curves"]] == [(16, 3), (8, 3)]
    for curve in data["curves"]:
        assert (curve["bound"], curve["exact"]) == (3 * (curve["N"] - 1).bit_length(), 3 * (curve["k"] // 2 + 1))
        for point in curve["simulated"]:
            s = GeometricSetting(N=curve["N"], R=3, d=point["d"], code_length=curve["k"])
            assert point["values"] == simulate(s, 2, 1).recall.values.tolist()
            assert dict(curve["predicted"])[point["d"]] == pytest.approx(predict(s).recall, abs=1e-12)


def test_frontiers_are_the_last_that_fit():
    found = frontiers(256, 3)
    for route in ("embedding", "middle", "two-layers", "wide", "chain"):
        for h, R in enumerate(found[WAYS[route]], start=1):
            fits = [Construction(N=256, R=r, hops=h, route=route).d <= HELD for r in (R, R + 1)]
            assert fits == [True, False]
    for bound, built, h in zip(found[BOUND], found[WAYS["embedding"]], (1, 2, 3), strict=True):
        assert bound >= built and hops_bits(256, bound, h) <= HELD < hops_bits(256, bound + 1, h)
    assert found[WAYS["middle"]][1] > found[BOUND][1]  # it keeps facts elsewhere


def test_thresholds_are_those_of_the_study():
    rows = {(row["N"], row["R"]): row for row in read_thresholds(str(study.FILE))}
    for row in study.read_rows():
        if row["part"] in ("least", "frozen"):
            values = row["measures"]["least_d"]
            mean = None if None in values else sum(values) / len(values)
            assert rows[row["setting"]["N"], row["setting"]["R"]][row["part"]] == mean


def test_the_figure_and_the_page(tmp_path, monkeypatch):
    found = gather_report([16, 8], [3], 3, seeds=2, seed=1, training=str(study.FILE))
    monkeypatch.setattr("recall_theory.geometric.geometric_report.gather_report", lambda **sizes: found)
    drawn, page = tmp_path / "drawn.svg", tmp_path / "page.html"
    assert call(*SMALL, "--output", str(drawn)) == call(*SMALL, "--output", str(page)) == (0, "", "")
    assert drawn.read_bytes().startswith(b"<?xml") and b"Gradient descent" in drawn.read_bytes()
    text = page.read_text()
    assert text.count("<table>") == 5 and "<svg" in text and not re.search(r"(src|href)=\"(?!data:|#)", text)
    assert all(row["what"] in text and row["source"] in text for row in found.sources)
    assert {row["source"] for row in found.sources} == {"derived", "secondary", "simulated", "measured"}


def test_lines_on_one_another_are_all_seen():
    """Chain of thought takes 2 h + 1 coordinates more than layers: where one line hides another, it has gaps."""
    found = gather_report([16], [3], 3, seeds=2, seed=1)
    panel = geometric_figure(found).axes[1]
    solid = {line.get_label(): line.get_ydata() for line in panel.get_lines() if line.get_linestyle() == "-"}
    assert {WAYS["embedding"], WAYS["layers"], WAYS["middle"]} == solid.keys()
    assert not any(np.allclose(one, other, rtol=0.1) for one, other in itertools.combinations(solid.values(), 2))
    assert {line.get_label() for line in panel.get_lines()} == {*WAYS.values(), BOUND}


def test_an_interrupt_keeps_what_is_simulated(monkeypatch):
    asked = []

    def some_then_ctrl_c(setting, seed, index):
        asked.append(setting)
        if len(asked) == 6:
            raise KeyboardInterrupt
        return 0.5

    monkeypatch.setattr("recall_theory.geometric.geometric_report.one_seed", some_then_ctrl_c)
    code, out, err = call(*SMALL, "--json")
    assert code == 130 and sum(len(curve["simulated"]) for curve in json.loads(out)["curves"]) == 2
    assert "interrupted after 2 points" in err


@pytest.mark.parametrize("more, words", [
    (("--training", "no/such/file"), "can't be read as a study"),
    (("--N", "1e9"), "is the most"),
    (("--R", "0"), "is not an integer from 1"),
    (("--width", "wide"), "--width 'wide'"),
])
def test_bad_input_is_one_line(more, words):
    assert words in refused(*SMALL, *more)
