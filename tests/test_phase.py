"""The phase diagram: axes, cells, boundary, picture and points; the comparison of activations."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from command_line import answer, call, csv_rows
from support import stops_after

from recall_theory.errors import Interrupted
from recall_theory.settings import OBSERVABLES, Setting, SettingError
from recall_theory.simulate import workers
from recall_theory.simulate.run import one_seed
from recall_theory.theory.activation_choice import compare_activations, hermite_parts
from recall_theory.theory.phase import FAMILIES, axis, binding, family, phase, place
from recall_theory.theory.predict import predict, predict_each
from recall_theory.verification.simulated_alternatives import chosen_cells, with_points


@pytest.fixture(scope="module")
def diagram():
    return phase("N", "d", (2**11, 2**16), (32, 256), cells=(6, 7), target=0.5, V=128, L=16)


@pytest.fixture(scope="module")
def mlp_diagram():
    return phase("N", "m*d", (2**11, 2**16), (2**9, 2**15), cells=(4, 4), target=0.5, V=128, L=16, d=64,
                 activation="tanh")


def test_every_cell_is_the_prediction(diagram, mlp_diagram):
    for found in (diagram, mlp_diagram):
        for j, i in ((0, 0), (1, 3), (3, 2)):
            setting = place(found.x, found.y, found.x_values[i], found.y_values[j], found.fixed)
            expected = predict(setting)
            assert found.accuracy[j, i] == pytest.approx(expected.accuracy, rel=1e-12)
            assert found.attention[j, i] == pytest.approx(expected.attention, rel=1e-12)
            assert found.binding[j][i] == binding(expected)


def test_m_times_d_sets_the_width():
    assert place("N", "m*d", 1000, 4096, {"V": 32, "L": 4, "d": 64}).m == 64
    assert place("d", "m*d", 32, 4096, {"V": 32, "L": 4, "N": 100}).m == 128
    assert place("m", "m*d", 32, 4096, {"V": 32, "L": 4, "N": 100}).d == 128
    assert place("V", "d", 64, 16, {"L": 4}, ratio=8).N == 512


def test_predictions_together_are_those_one_by_one_in_their_order():
    """Settings of every kind, mixed; among them one without rivals, one at finite rates and one of an MLP."""
    settings = [Setting(V=V, L=L, d=64, N=N, **more) for (V, L, N) in ((64, 8, 2048), (32, 1, 100), (16, 12, 40))
                for more in ({}, {"m": 99}, {"embedding": "sphere"}, {"embedding": "orthogonal"},
                             {"trigger_in_value": False}, {"eta": 1e-6, "gamma": 1e12},
                             {"m": 50, "activation": "tanh"})]
    for together, setting in zip(predict_each(settings), settings, strict=True):
        alone = predict(setting)
        assert together.setting == setting and together.remarks == alone.remarks
        assert together.to_dict()["predicted"].keys() == alone.to_dict()["predicted"].keys()
        for name in OBSERVABLES:
            assert getattr(together, name) == pytest.approx(getattr(alone, name), rel=1e-12, abs=1e-15), setting
            assert together.std[name] == pytest.approx(alone.std[name], rel=1e-9, abs=1e-12), setting
    assert predict_each([]) == []


def test_the_boundary_is_where_the_prediction_reaches_the_target(diagram):
    """It lies between cells on either side; there the prediction is the target, but for an interpolation."""
    assert diagram.boundary
    for x, y in diagram.boundary:
        i = min(np.searchsorted(diagram.x_values, x * (1 + 1e-12), side="right"), len(diagram.x_values)) - 1
        j = min(np.searchsorted(diagram.y_values, y * (1 + 1e-12), side="right"), len(diagram.y_values)) - 1
        near = diagram.accuracy[j:j + 2, i:i + 2]
        assert near.min() < diagram.target <= near.max()
    for x, y in diagram.boundary[::3]:
        at = predict(Setting(V=128, L=16, d=round(y), N=round(x)))
        assert at.accuracy == pytest.approx(diagram.target, abs=0.03)  # interpolated over half an octave


@pytest.mark.parametrize("more", [{}, {"m": 128}, {"trigger_in_value": False}, {"embedding": "sphere"}])
def test_families_cover_every_term_of_every_model(more):
    prediction = predict(Setting(256, 16, 64, 8192, **more))
    for step in ("attention", "recall"):
        assert {family(term) for term in prediction.terms[step]} <= set(FAMILIES)
    assert binding(prediction).split(": ")[1] in FAMILIES


def test_facts_never_seen_bind_where_samples_are_few():
    few = Setting(V=64, L=8, d=2048, N=256, trigger_in_value=False)
    assert binding(predict(few)) == "recall: facts never seen"


def test_finite_rates_bind_where_the_limit_would_miss_less_than_half_as_much():
    found = phase("L", "V", (4, 64), (32, 64), cells=(3, 2), target=0.9, ratio=64.0, d=128, eta=1e-6, gamma=1e11)
    for j, i in np.ndindex(*found.accuracy.shape):
        in_limit = predict(place("L", "V", found.x_values[i], found.y_values[j], {"d": 128}, 64.0))
        is_bound = 1 - found.accuracy[j, i] > 2 * (1 - in_limit.accuracy)
        assert found.binding[j][i] == ("attention: finite rates" if is_bound else binding(in_limit))
    assert {name == "attention: finite rates" for row in found.binding for name in row} == {True, False}
    assert found.binding[0][0] != "attention: finite rates" == found.binding[1][2]  # short, and long


@pytest.mark.parametrize("x, y, ranges, more, word", [
    ("Q", "d", ((1, 2), (1, 2)), {}, "not an axis"),
    ("d", "d", ((1, 2), (1, 2)), {}, "differ"),
    ("N", "d", ((100, 10), (1, 2)), {"V": 8, "L": 2}, "smaller"),
    ("N", "d", ((0, 10), (1, 2)), {"V": 8, "L": 2}, "not an end"),
    ("N", "d", ((1, math.inf), (1, 2)), {"V": 8, "L": 2}, "not an end"),
    ("N", "d", ((1, 10), (1, 2)), {"V": 8}, "L must be given"),
    ("N", "d", ((1, 10), (1, 2)), {"V": 8, "L": 2, "N": 5}, "can't be fixed"),
    ("N", "m*d", ((1, 10), (1, 2)), {"V": 8, "L": 2, "d": 4, "m": 3}, "leave it out"),
    ("V", "d", ((2, 10), (1, 2)), {"L": 2, "N": 5, "ratio": 4.0}, "leave N out"),
    ("V", "d", ((2, 10), (1, 2)), {"L": 2, "N": 5, "target": 1.5}, "target"),
    ("V", "d", ((2, 10), (1, 2)), {"L": 2, "N": 5, "cells": (1, 4)}, "cells"),
    ("V", "d", ((2, 10), (1, 2)), {"L": 2, "N": 5, "cells": (1000, 1000)}, "cells"),
])
def test_bad_planes_are_told(x, y, ranges, more, word):
    with pytest.raises(SettingError, match=word):
        phase(x, y, *ranges, **more)


def test_an_axis_is_whole_numbers_without_repeats():
    assert axis("V", 2, 9, 40).tolist() == [2, 3, 4, 5, 6, 7, 8, 9]


def test_points_are_simulated_and_spread(diagram):
    cells = chosen_cells(diagram, 12)
    assert len(set(cells)) == 12
    assert len({i for _, i in cells}) >= 4
    some = with_points(diagram, 3, seeds=2, seed=0)
    again = with_points(diagram, 3, seeds=2, seed=0)
    assert some.points == again.points
    for k, point in enumerate(some.points):
        setting = place("N", "d", point.x, point.y, diagram.fixed)
        seen = [one_seed(setting, 0, 2 * k + i, None)[2] for i in range(2)]
        assert point.accuracy == pytest.approx(np.mean(seen))
        assert point.se == pytest.approx(abs(seen[0] - seen[1]) / 2)
    with pytest.raises(SettingError):
        with_points(diagram, 43, seeds=1)


PLANE = ("phase", "--x", "N=2^11..2^14", "--y", "d=32..128", "--V", "64", "--L", "8", "--cells", "3x3")


@pytest.mark.usefixtures("computed_once")
def test_the_command_line_in_its_forms():
    data = answer(*PLANE)
    assert np.array(data["accuracy"]).shape == (3, 3)
    assert data["x_values"][0] == 2048
    rows = csv_rows(*PLANE)
    assert len(rows) == 9
    assert {"N", "d", "accuracy", "binding"} <= set(rows[0])
    code, out, _ = call(*PLANE, "--points", "2", "--seeds", "2", "--seed", "3")
    assert code == 0
    assert "Capacity boundary" in out
    assert "simulated" in out
    small = ("--x", "N=64..256", "--y", "d=4..16", "--V", "128", "--L", "16", "--cells", "2x2")
    assert "reached nowhere" in call("phase", *small)[1]


# Activations side by side


@pytest.mark.parametrize("name, s, parts", [
    ("relu", 2.0, (1 / math.pi, 1 / 2, 1 / (2 * math.pi))), ("identity", 2.0, (0, 1, 0)),
    ("quadratic", 1.0, (0, 0, 1)), ("x**3 - 3*x", 1.0, (0, 0, 0)),
])
def test_the_shares_of_an_activation_by_hand(name, s, parts):
    found = hermite_parts(name, s)
    assert (found.mean, found.linear, found.quadratic) == pytest.approx(parts, abs=1e-9)


@pytest.mark.parametrize("s", [0.05, 1.0, 2.0])
@pytest.mark.parametrize("name", ["relu", "gelu", "quadratic", "x**3 - 3*x", "identity"])
def test_the_shares_of_an_activation_sum_to_one(name, s):
    p = hermite_parts(name, s)
    assert p.mean + p.linear + p.quadratic + p.higher == pytest.approx(1, abs=1e-9)


def test_the_comparison_is_sorted_and_is_what_predict_says():
    setting = Setting(128, 8, 32, 8192, m=256, activation="relu")
    found = compare_activations(setting, ("relu", "tanh", "x", "tanh(x)"))
    assert [c.name for c in found if c.name] == sorted(
        ("relu", "tanh", "identity"), key=lambda n: -predict(setting.replace(activation=n)).accuracy)
    assert sum(c.name is None for c in found) == 1
    assert list(found) == sorted(found, key=lambda c: -c.accuracy)
    for c in found:
        at = setting.replace(activation=c.name) if c.name else setting.replace(m=None, activation=None)
        assert c.accuracy == predict(at).accuracy
    with pytest.raises(SettingError, match="width m"):
        compare_activations(Setting(128, 8, 32, 8192))


def test_an_interrupted_diagram_keeps_its_rows_and_points(monkeypatch):
    plane = ("N", "d", (1024, 4096), (16, 64))
    sizes = {"V": 64, "L": 8, "cells": (3, 3), "target": 0.5}
    whole = phase(*plane, **sizes)
    with pytest.raises(Interrupted) as stop:
        phase(*plane, mapped=lambda work, values: stops_after(2)(work, zip(values, strict=True)), **sizes)
    partial = stop.value.partial
    assert partial.accuracy.tolist() == whole.accuracy[:2].tolist()
    assert partial.to_dict()["y_values"] == whole.y_values[:2].tolist()

    monkeypatch.setattr(workers, "ordered_map", stops_after(5, (1.0, 0.5, 0.5)))
    with pytest.raises(Interrupted) as stop:
        with_points(whole, points=3, seeds=2, seed=1)
    assert [p.accuracy for p in stop.value.partial.points] == [0.5, 0.5]

    with pytest.raises(KeyboardInterrupt) as stop:
        phase(*plane, mapped=stops_after(0), **sizes)
    assert not isinstance(stop.value, Interrupted)  # nothing is left of the first row


def test_the_command_line_draws_what_an_interrupted_run_finished(monkeypatch, tmp_path):
    from recall_theory.theory import phase as theory

    left = [1]

    def some(settings):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return predict_each(settings)

    monkeypatch.setattr(theory, "predict_each", some)
    picture = tmp_path / "part.svg"
    code, out, err = call(*PLANE, "--plot", str(picture), "--json")
    assert code == 130 and "after 1 of 3 rows" in err
    found = json.loads(out)
    assert found["interrupted"] is True and len(found["accuracy"]) == 1
    assert picture.stat().st_size > 1000
