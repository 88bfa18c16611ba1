"""The calculator's engine in V8 and in Chromium against the library: the same numbers, words and refusals."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from javascript import PageScript, Script, difference

from recall_theory import Setting, predict
from recall_theory.pages import engine
from recall_theory.settings import SettingError

VALIDATION = Path(__file__).parent.parent / "validation"
sys.path.insert(0, str(VALIDATION))
from calculator import drawn, expected, given  # noqa: E402

TOLERANCE = 1e-9
CORNERS = [
    Setting(V=1024, L=64, d=256, N=65536), Setting(V=512, L=1, d=64, N=4096),
    Setting(V=300, L=7, d=1, N=50, embedding="sphere"),
    Setting(V=64, L=8, d=64, N=640, embedding="orthogonal"), Setting(V=10**12, L=64, d=4096, N=10**15),
    Setting(V=64, L=8, d=40, N=640, m=100), Setting(V=200, L=1, d=40, N=6400, m=100, activation="gelu"),
    Setting(V=100, L=500, d=30, N=900, m=12, activation="quadratic", trigger_in_value=False),
]


@pytest.fixture(scope="module")
def script():
    with Script(engine.source()) as made:
        yield made


def asked(script, setting):
    return script.value(f"recallTheory.calculate({json.dumps(given(setting))})")


@pytest.mark.parametrize("setting", CORNERS, ids=str)
def test_the_corners_are_predicted_as_predict_does(script, setting):
    assert difference(asked(script, setting), expected(setting)) < TOLERANCE


def test_random_settings_are_predicted_as_predict_does(script):
    for setting in drawn(seed=7, many=12):
        assert difference(asked(script, setting), expected(setting)) < TOLERANCE, setting


def test_a_browser_predicts_as_predict_does(chromium):
    page = PageScript(chromium, engine.source())
    for setting in (*CORNERS, *drawn(seed=8, many=4)):
        assert difference(asked(page, setting), expected(setting)) < TOLERANCE, setting


@pytest.mark.parametrize("text", [
    '"V": 1, "L": 4, "d": 8, "N": 9', '"V": 8, "L": 0, "d": 8, "N": 9', '"V": 8, "L": 4, "d": 8.5, "N": 9',
    '"V": 8, "L": 4, "d": 8, "N": 0', '"V": 8, "L": 4, "d": 8, "N": 9, "m": 0',
    '"V": 8, "L": 4, "d": 8, "N": 9, "embedding": "cube"', '"V": 2e15, "L": 4, "d": 8, "N": 9',
    '"V": 9, "L": 4, "d": 8, "N": 9, "embedding": "orthogonal"',
    '"V": 8, "L": 4, "d": 8, "N": 9, "m": 8, "embedding": "orthogonal"',
])
def test_what_the_library_refuses_is_refused_in_its_words(script, text):
    refused = script.value(f"recallTheory.calculate({{{text}}})")["error"]
    with pytest.raises(SettingError) as error:
        predict(Setting(**json.loads(f"{{{text}}}")))
    assert refused["parameter"] == error.value.name
    if "e15" not in text:  # 2e15 is written in another way
        assert refused["message"].replace("'", "") == str(error.value).replace("'", "")


def test_a_wrong_formula_would_be_noticed():
    """One coefficient of the library's own code changed in the script: the comparison fails."""
    source = engine.source()
    where = source.index("interference$")
    place = source.index("py.power(d, 2)", where)
    wrong = source[:place] + "py.power(d, 2.000001)" + source[place + len("py.power(d, 2)"):]
    setting = CORNERS[0]
    with Script(wrong) as script:
        assert difference(asked(script, setting)["terms"], expected(setting)["terms"]) > TOLERANCE


def test_the_shipped_comparison_found_nothing_off():
    report = json.loads((VALIDATION / "calculator.json").read_text())
    assert sum(kind["settings"] for kind in report["kinds"].values()) == report["settings"] >= 1000
    assert all(kind["largest_difference"] < TOLERANCE for kind in report["kinds"].values())
    assert report["in"].startswith("Chromium")
