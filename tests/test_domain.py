"""Where predictions were checked: the declared domain, what it promises, and every command that says so."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import answer, call

from recall_theory import Setting, capacity, phase, predict, predict_many, verify
from recall_theory.settings import OBSERVABLES
from recall_theory.theory.domain import INSIDE, batch_of, class_of, reasons, remarks, share_of_few

DRAWN = Path(__file__).parents[1] / "validation" / "drawn.jsonl"
NAMES = ("V", "L", "d", "N", "m", "activation", "embedding", "trigger_in_value")
EVERY = 12  # of the stored settings, one is predicted


@pytest.fixture(scope="module")
def drawn():
    """Some of the stored settings: the class, whether it is in the domain, the error beyond three standard errors."""
    found = []
    for line in DRAWN.read_text().splitlines()[::EVERY]:
        row = json.loads(line)
        setting = Setting(**{name: row[name] for name in NAMES})
        p = predict(setting)
        error = max(abs(getattr(p, o) - mean) - 3 * se
                    for o, mean, se in zip(OBSERVABLES, row["mean"], row["se"], strict=True))
        expected = reasons(batch_of(setting))[1]
        found.append((row["draw"], class_of(setting.activation), p.checked, error, expected))
    return found


def test_inside_no_prediction_is_off_by_more_than_is_declared(drawn):
    inside = [(kind, error) for _, kind, checked, error, _ in drawn if checked]
    assert len(inside) > 10
    assert all(error <= INSIDE[kind] for kind, error in inside)


def test_outside_nineteen_of_twenty_keep_to_their_remark(drawn):
    outside = [error <= expected for _, _, checked, error, expected in drawn if not checked]
    assert len(outside) > 10
    assert np.mean(outside) >= 0.95


def test_what_is_asked_for_is_seldom_outside():
    settings = [Setting(**{name: row[name] for name in NAMES})
                for row in map(json.loads, DRAWN.read_text().splitlines()) if row["draw"] == "wide"]
    for rough, most in ((False, 0.1), (True, 0.4)):
        outside = [bool(remarks(s)) for s in settings if (class_of(s.activation) == "rough") is rough]
        assert len(outside) >= 20
        assert np.mean(outside) <= most


@pytest.mark.parametrize("changed, why", [
    ({}, None),
    ({"V": 8}, "V = 8 is below 16"),
    ({"d": 5}, "d = 5 is below 8"),
    ({"N": 35, "V": 32}, "N = 35 is below 36"),
    ({"N": 50, "V": 48, "m": 64, "activation": "tanh"}, "N = 50 is below 56"),
    ({"N": 40}, "N/V = 0.625 is below 1"),
    ({"V": 18, "L": 4}, None),
    ({"V": 19, "L": 19, "d": 11}, None),
    ({"V": 19, "L": 19, "d": 10}, "V d is below 200 while L = 19 is V or more"),
    ({"V": 19, "L": 19, "d": 13, "m": 64, "activation": "tanh"}, "V d is below 250 while L = 19 is V or more"),
    ({"V": 19, "L": 19, "d": 14, "m": 64, "activation": "tanh"}, None),
    ({"V": 18, "L": 8}, None),
    ({"V": 18, "L": 9}, None),
    ({"V": 18, "L": 9, "N": 63}, "V = 18 is below 19 and N = 63 below 64 while L = 9 is V/2 or more"),
    ({"V": 18, "L": 9, "embedding": "orthogonal"}, "V = 18 is below 19 while L = 9 is V/2 or more"),
    ({"V": 18, "L": 9, "m": 64, "activation": "tanh"}, None),
    ({"V": 18, "L": 9, "N": 63, "m": 64, "activation": "tanh"}, "V = 18 is below 19 and N = 63 below 64 while L = 9"),
    ({"V": 18, "L": 9, "m": 80, "activation": "Abs(x)"}, None),
    ({"L": 32, "N": 383, "trigger_in_value": False}, "N = 383 is below 6 V while L = 32 is V/2 or more and at most V"),
    ({"L": 32, "N": 384, "trigger_in_value": False}, None),
    ({"L": 31, "N": 383, "trigger_in_value": False}, None),
    ({"L": 65, "N": 383, "trigger_in_value": False}, None),
    ({"L": 32, "N": 383}, None),
    ({"L": 16, "N": 767, "trigger_in_value": False, "m": 64, "activation": "gelu"}, "N = 767 is below 12 V"),
    ({"L": 16, "N": 767, "trigger_in_value": False, "m": 64, "activation": "tanh"}, None),
    ({"V": 18, "L": 2, "d": 10}, None),
    ({"V": 24, "L": 200, "N": 99}, "N = 99 is below L/2 while L/V = 8.33 is above 8"),
    ({"V": 24, "L": 200, "N": 100}, None),
    ({"V": 18, "L": 8, "m": 80, "activation": "Abs(x)"}, None),
    ({"L": 8, "m": 40, "activation": "Abs(x)"}, None),
    ({"L": 8, "m": 63, "activation": "Abs(x)", "trigger_in_value": False}, None),
    ({"L": 22, "N": 71, "m": 64, "activation": "tanh"}, "N = 71 is below 72 while L = 22 is V/3 or more and at"),
    ({"L": 22, "N": 72, "m": 64, "activation": "tanh"}, None),
    ({"L": 32, "N": 100}, None),
    ({"L": 32, "N": 100, "trigger_in_value": False}, "N = 100 is below 112 while L = 32 is V/2 or more and at most V"),
    ({"L": 65, "N": 100, "trigger_in_value": False}, None),
    ({"m": 16, "activation": "tanh"}, "m = 16 is below 32"),
    ({"m": 80, "activation": "x**3 - 3*x"}, None),
    ({"m": 36, "activation": "x**2 - 1"}, "few of the m = 36 neurons decide"),
    ({"d": 12, "L": 8, "m": 64, "activation": "Abs(x)"}, "d = 12 is below 16 with the trigger in values"),
    ({"d": 36, "m": 64, "activation": "Abs(x)"}, "d = 36 is below 40 with short sequences"),
    ({"d": 36, "L": 8, "m": 80, "activation": "Abs(x)"}, None),
    ({"d": 23, "L": 8, "m": 64, "activation": "Abs(x)", "trigger_in_value": False}, "d = 23 is below 24"),
    ({"d": 24, "L": 8, "m": 64, "activation": "Abs(x)", "trigger_in_value": False}, None),
    ({"d": 385, "L": 8, "m": 80, "activation": "x**2 - 1"}, "d/V = 6.02 is above 6 while L = 8 is V/8 or more"),
    ({"d": 384, "L": 8, "m": 80, "activation": "x**2 - 1"}, None),
    ({"d": 385, "L": 7, "m": 80, "activation": "x**2 - 1"}, None),
    ({"d": 385, "L": 8, "m": 80, "activation": "x**2 - 1", "trigger_in_value": False}, None),
    ({"L": 2000}, "L/V = 31.2 is above 16"),
    ({"eta": 1.0, "gamma": 1e4}, "leave logits of up to"),
    ({"V": 24, "eta": 1e-6, "gamma": 1e9}, "V = 24 is below 32, the least that was checked at finite rates"),
    ({"L": 80, "eta": 1e-6, "gamma": 1e9}, "L/V = 1.25 is above 1, the most that was checked at finite rates"),
    ({"L": 40, "eta": 1e-6, "gamma": 1e9, "trigger_in_value": False}, "L/V = 0.625 is above 0.5"),
    ({"L": 40, "eta": 1e-6, "gamma": 1e9}, None),
    ({"eta": 1e-6, "gamma": 1e9}, None),
    ({"m": 64, "embedding": "orthogonal"}, "no prediction for orthogonal embeddings with an MLP"),
])
def test_a_remark_says_why_with_the_sizes(changed, why):
    setting = Setting(**({"V": 64, "L": 4, "d": 64, "N": 4096} | changed))
    said = remarks(setting)
    assert (why is None) == (said == ())
    if why is not None:
        assert why in said[0]


@pytest.mark.parametrize("phi, fourth", [("relu", 6), ("identity", 3), ("quadratic", 59 / 9)])
def test_the_share_of_few_neurons_by_hand(phi, fourth):
    """E phi^4/(E phi^2)^2 of a normal variable of variance 2; x^2 - 1: E = 3, E^4 = 59 (moments 2, 12, 120, 1680)."""
    if phi == "quadratic":
        fourth = (1680 - 4 * 120 + 6 * 12 - 4 * 2 + 1) / (12 - 2 * 2 + 1) ** 2
    assert float(share_of_few(7, phi)) == pytest.approx(fourth / 7, rel=1e-9)


def test_classes_go_by_how_linear_an_activation_is():
    smooth = ("relu", "gelu", "tanh", "erf", "identity", "log(1 + exp(x))", "x/(1 + Abs(x))")
    assert {class_of(phi) for phi in smooth} == {"smooth"}
    assert {class_of(phi) for phi in ("Abs(x)", "quadratic", "x**3 - 3*x", "sin(2*x)", "cos(x)")} == {"rough"}


def test_arrays_say_it_setting_by_setting():
    many = predict_many(V=[[8, 64], [32, 12]], L=2, d=32, N=2048)
    assert many.checked.tolist() == [[False, True], [True, False]]
    assert many.to_dict()["checked"].tolist() == [False, True, True, False]


@pytest.mark.usefixtures("computed_once")
@pytest.mark.parametrize("argv, where", [
    ("predict --V 8 --L 2 --d 32 --N 512", lambda a: a),
    ("solve --for V --d 16 --L 4 --ratio 64 --target 0.5", lambda a: a),
    ("capacity --d 16 --L 4 --ratio 64 --target 0.5", lambda a: a["rows"][0]),
    ("sweep --scan V=8,32 --L 2 --d 16 --N 128 --seeds 2 --seed 1", lambda a: a["cells"][0]),
    ("scaling --of N --in V --values 10,24 --L 2 --d 32 --seeds 8 --seed 1", lambda a: a["points"][0]),
])
def test_commands_mark_what_is_outside(argv, where):
    found = where(answer(*argv.split()))
    assert found["checked"] is False
    assert "Not checked" in found["remarks"][0]
    _, text, _ = call(*argv.split())
    assert "Not checked" in text
    assert "*" in text or argv.startswith(("predict", "solve"))


def test_phase_marks_cells():
    diagram = phase("V", "d", (8, 64), (16, 64), cells=(4, 2), L=2, ratio=32, target=0.5)
    assert diagram.checked.tolist() == [[False, True, True, True]] * 2
    assert diagram.to_dict()["remarks"][0][0][0].startswith("Not checked: V = 8")
    _, text, _ = call("phase", "--x", "V=8..64", "--y", "d=16..64", "--L", "2", "--ratio", "32", "--cells", "4x2")
    assert "* Not checked: V = 8" in text


def test_verify_marks_cells():
    cells = [Setting(V=8, L=2, d=16, N=64), Setting(V=24, L=2, d=16, N=96)]
    found = verify(cells, seeds=4, seed=1).to_dict()["cells"]
    assert [cell["checked"] for cell in found] == [False, True]
    assert found[1]["remarks"] == []


@pytest.mark.parametrize("d", [10**6, 10**8])
def test_the_limit_of_many_samples_has_no_cap(d):
    """Interference alone bounds the facts then: about half of d^2/(4 ln V) and more are stored, not what 10^15 samples
    are good for."""
    row, = capacity(d=d, L=2, ratios=(None,), target=0.9).rows
    leading = d**2 / (4 * np.log(row.V))
    assert 0.5 * leading < row.V < 1.5 * leading
    assert row.limited_by == "recall: interference"


def test_compare_does_not_print_its_own_cap():
    held = {m["memory" if "memory" in m else "name"]: m["facts"] for m in answer("compare", "--d", "1e9")["memories"]}
    assert 10**15 not in held.values()
