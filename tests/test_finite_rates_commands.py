"""Learning rates in the commands: what they say at finite ones, and the line that refuses bad ones."""

from __future__ import annotations

import pytest
from command_line import answer, call, refused

from recall_theory import Setting, predict
from recall_theory.commands.capacity import _rates as rates_in_words
from recall_theory.settings import N_TEST
from recall_theory.simulate import run
from recall_theory.theory import solve
from recall_theory.theory.capacity import capacity
from recall_theory.theory.solve import WITHIN, rates_of_limit
from recall_theory.verification.problem import THREE_STEP_RECALL, observe_exactly
from recall_theory.web.explore_page import answers

SIZES = ("--L", "8", "--d", "64", "--N", "4096")
RATES = {"eta": 1e-6, "gamma": 3e10}


@pytest.mark.parametrize("command", [("predict", "--V", "64", *SIZES), ("capacity", *SIZES),
                                     ("solve", "--for", "V", *SIZES), ("simulate", "--V", "64", *SIZES),
                                     ("phase", "--x", "V=32..64", "--y", "d=32..64", "--L", "8", "--N", "4096")],
                         ids=lambda words: words[0])
@pytest.mark.parametrize("rates, why", [
    (("--eta", "1e-3"), "gamma is missing"), (("--gamma", "1e3"), "eta is missing"),
    (("--eta", "nan", "--gamma", "1"), "is not a number from 1e-300"),
    (("--eta", "0", "--gamma", "1"), "is not a number from 1e-300"),
    (("--eta", "1", "--gamma", "-1"), "is not a number from 1e-300")], ids=str)
def test_bad_rates_are_refused_in_one_line(command, rates, why):
    assert why in refused(*command, *rates)


def test_predict_shows_the_weight_and_in_the_limit_how_large_rates_must_be():
    soft = answer("predict", "--V", "64", *SIZES, "--eta", "1e-6", "--gamma", "3e10")
    assert 1 / 8 < soft["predicted"]["attention_weight"] < soft["predicted"]["attention"]
    assert "limit_holds" not in soft
    text = call("predict", "--V", "64", *SIZES, "--eta", "1e-6", "--gamma", "3e10")[1]
    assert "mean attention weight" in " ".join(text.split())
    limit = answer("predict", "--V", "64", *SIZES)
    assert "attention_weight" not in limit["predicted"] and limit["limit_holds"]["within"] == 0.01
    assert limit["limit_holds"]["eta_gamma"] > 3e4


def test_the_limit_holds_from_there_on_and_not_before():
    """By the law itself, which the search interpolates: within half the distance at twice eta*gamma, not at half."""
    setting = Setting(V=64, L=8, d=64, N=4096)
    limit = predict(setting)
    least = rates_of_limit(limit)

    def gap(beta):
        at = predict(setting.replace(eta=1e-9, gamma=beta / 1e-9))
        return max(abs(at.recall - limit.recall), abs(at.accuracy - limit.accuracy))

    assert gap(2 * least) < WITHIN < gap(least / 2)
    assert gap(least) == pytest.approx(WITHIN, rel=0.5)
    assert rates_of_limit(predict(setting.replace(L=1))) == 0
    assert rates_of_limit(predict(setting.replace(m=64))) is None


def test_rates_are_not_sought_for_ever_where_the_two_laws_differ(monkeypatch):
    """At V = 14 no rate brings them within 0.01: that is seen from the first steps, and is so at the last one."""
    at, asked = solve.predictions_at, []

    def counted(batch):
        asked.append(batch.beta)
        return at(batch)

    monkeypatch.setattr(solve, "predictions_at", counted)
    in_limit = predict(Setting(V=14, L=8, d=5, N=2743, trigger_in_value=False))
    assert rates_of_limit(in_limit) is None and len(asked) < solve.MOST_RATE_STEPS / 2
    last = predict(in_limit.setting.replace(eta=1e-9, gamma=asked[0] * 1e9 * solve.RATE_STEP**solve.MOST_RATE_STEPS))
    assert max(abs(last.recall - in_limit.recall), abs(last.accuracy - in_limit.accuracy)) > WITHIN


def test_capacity_falls_with_the_length_at_finite_rates_only():
    found = capacity(d=64, L=64, ratios=(256,), target=0.9, eta=1e-6, gamma=1e12)
    limit = [capacity(d=64, L=L, ratios=(256,), target=0.9) for L in (8, 64)]
    soft, short, long = found.rows[0], limit[0].rows[0].V, limit[1].rows[0].V
    assert soft.V < 0.9 * long and long > 0.97 * short
    assert soft.limited_by == "attention: finite rates" and 64 <= soft.longest_L < 80
    reached = predict(Setting(V=soft.V, L=64, d=64, N=soft.N, eta=1e-6, gamma=1e12))
    assert reached.accuracy == pytest.approx(soft.accuracy) and reached.accuracy >= 0.9
    assert reached.attention_weight == pytest.approx(soft.attention_weight)
    assert "costs facts, as attention spreads" in rates_in_words(found, soft, limit[1].rows[0])


def test_a_cell_of_verify_with_rates_is_observed_on_fresh_sequences():
    setting = Setting(V=32, L=4, d=32, N=600, eta=1e-6, gamma=1e9)
    assert observe_exactly(setting, 3, 1) == run.one_seed(setting, 3, 1, N_TEST)
    prediction = predict(setting)
    moments = THREE_STEP_RECALL.moments(prediction)
    assert moments["accuracy"].spread == prediction.std["accuracy"]
    THREE_STEP_RECALL.check(setting)
    assert "finite rates" in THREE_STEP_RECALL.group(setting)[1]


def test_the_page_takes_rates():
    form = {"V": "32", "L": "4", "d": "32", "N": "600", "eta": "1e-6", "gamma": "1e9"}
    records = answers(form)
    setting, predicted = next(records), next(records)
    assert setting["setting"]["gamma"] == 1e9 and "--eta 1e-06" in setting["html"]["command"]
    assert predicted["predicted"]["attention_weight"] < 1 and "Attention is soft" in predicted["html"]["limits"]
    assert "gamma" in list(answers({**form, "gamma": ""}))[-1]["problems"]
    assert "eta" in list(answers({**form, "eta": "nan"}))[-1]["problems"]
