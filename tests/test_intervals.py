"""Intervals over seeds: two ways to compute each, the rule that picks one, and how often they hold the truth."""

from __future__ import annotations

import math
import secrets

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import optimize, stats
from support import assert_mean, shipped

from recall_theory.verification import verdicts
from recall_theory.verification.intervals import (
    anytime_interval,
    guaranteed_interval,
    log_price,
    mean_intervals,
    pooled_interval,
    student_interval,
    unseen_share,
)
from validation import interval_coverage as study

FRESH = secrets.randbits(64)
SAMPLES = arrays(float, st.integers(2, 40), elements=st.floats(0, 1))


@pytest.fixture
def rng():
    print("seed of this run:", FRESH)
    return np.random.default_rng(FRESH)


def test_the_shift_leans_towards_the_longer_tail_as_scipys_bca_bootstrap_does():
    # 200,000 resamples put each end within 0.004 of a standard deviation of the mean; a fixed seed, so no chance of
    # failing later. The two differ by terms of the next order.
    rng = np.random.default_rng(1)
    for n in (60, 200):
        x = rng.beta(0.7, 4, size=n)
        seen = stats.bootstrap((x,), np.mean, method="BCa", n_resamples=200_000, batch=5000,
                               rng=rng).confidence_interval
        found, (low, high), se = mean_intervals(x[None], 0.95), student_interval(x, 0.95), x.std() / math.sqrt(n)
        assert abs(found.low[0] - seen.low) < 0.1 * se and abs(found.high[0] - seen.high) < 0.1 * se
        assert found.low[0] > low + 0.1 * se and found.high[0] > high + 0.1 * se


def test_the_interval_is_students_where_nothing_is_skewed():
    x = stats.norm(0.5, 0.1).ppf((np.arange(400) + 0.5) / 400)
    found = mean_intervals(x[None], 0.999)
    assert (found.low[0], found.high[0]) == pytest.approx(student_interval(x, 0.999), abs=1e-9)


def test_a_pooled_interval_is_that_of_its_only_cell_and_narrows_with_cells(rng):
    x = rng.beta(3, 5, size=(30, 200))
    one = mean_intervals(x[:1], 0.99)
    assert pooled_interval([x[0]], 0.99)[:2] == pytest.approx((one.low[0], one.high[0]), abs=1e-12)
    low, high, _ = pooled_interval(list(x), 0.99)
    assert (high - low) / (one.high[0] - one.low[0]) == pytest.approx(30**-0.5, rel=0.2)
    assert pooled_interval([x[0], x[1, :1]], 0.99)[:2] == (-math.inf, math.inf)


@pytest.mark.parametrize("confidence", [0.95, 0.99])
def test_pooled_intervals_cover(rng, confidence):
    """Cells of unlike means, spreads and seeds, as often as they say where no cell is near 1, and at least so often
    where one is: room is left there for failures that no seed shows (98 % for 95). 2,000 repeats, 6 standard errors."""
    covered = {}
    for first in ((6, 2, 40), (8, 1, 40)):
        laws = [first, (0.5, 10, 160), (40, 60, 80)]
        truth, hits = np.mean([a / (a + b) for a, b, _ in laws]), 0
        for _ in range(2000):
            low, high, _ = pooled_interval([rng.beta(a, b, n) for a, b, n in laws], confidence)
            hits += low <= truth <= high
        covered[first] = hits / 2000
    error = math.sqrt(confidence * (1 - confidence) / 2000)
    assert covered[6, 2, 40] == pytest.approx(confidence, abs=6 * error)
    assert covered[8, 1, 40] > confidence - 6 * error


def test_a_pooled_interval_of_rare_failures_is_wide():
    """One failure in one cell: no expansion is trusted. None in any, near 1: they may hide."""
    cells = [np.ones(100), np.ones(300), np.ones(300)]
    hidden, shown = pooled_interval(cells, 0.95), pooled_interval([np.r_[cells[0], 0.0], *cells[1:]], 0.95)
    assert hidden[0] == pytest.approx(1 - unseen_share(100, 1 - 0.05 / 3) / 3) and hidden[1:] == (1, "rare failures")
    assert shown[2] == "any law" and shown[0] < 1 - 1 / 303 < shown[1]


def best_bet(x, m):
    """The log wealth of the best single bet against m, by brute force."""

    def loss(b):
        with np.errstate(divide="ignore"):
            return -np.log(b * x / m + (1 - b) * (1 - x) / (1 - m)).sum()

    found = optimize.minimize_scalar(loss, bounds=(0, 1), method="bounded", options={"xatol": 1e-10})
    return max(-found.fun, -loss(0.0), -loss(1.0))


@pytest.mark.parametrize("x", [
    np.random.default_rng(2).beta(0.5, 3, size=50), np.random.default_rng(3).uniform(size=30),
    np.r_[np.ones(40), 0.0], np.full(25, 0.3), np.array([0.2]), np.array([0.0, 0.5, 1.0, 0.5]),
    np.random.default_rng(4).uniform(0.9, 1, size=60),
], ids=str)
def test_the_ends_are_where_the_best_bet_reaches_the_price(x):
    low, high = (float(v[0]) for v in anytime_interval(x[None], 0.95))
    price = log_price(len(x), 0.95)
    for m in (low, high):
        if 1e-9 < m < 1 - 1e-9:
            assert best_bet(x, m) == pytest.approx(price, rel=1e-6)
    assert 0 <= low <= x.mean() <= high <= 1


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_the_bets_on_a_constant_at_the_edge_in_closed_form(value):
    """n values of 1: the best bet stakes all, wealth is m^-n, and the end is exp(-price/n)."""
    gap = -math.expm1(-log_price(20, 0.95) / 20)
    low, high = anytime_interval(np.full((1, 20), value), 0.95)
    assert (low[0], high[0]) == pytest.approx((1 - gap, 1) if value else (0, gap), abs=1e-12)


def test_the_price_is_what_the_best_bet_gains_on_the_mixture():
    """For any values the mixture's wealth times the price's factor is at least the best bet's, at 30 digits."""
    rng = np.random.default_rng(5)
    with mpmath.workdps(30):
        for n in (1, 3, 10):
            x, m = rng.uniform(size=n).round(), mpmath.mpf("0.4")

            def wealth(b, x=x, m=m):
                return mpmath.fprod(b * v / m + (1 - b) * (1 - v) / (1 - m) for v in x.tolist())

            ends = [0, mpmath.pi / 4, mpmath.pi / 2]
            mixture = mpmath.quad(lambda s, w=wealth: w(mpmath.sin(s) ** 2), ends) * 2 / mpmath.pi
            best = max(wealth(mpmath.mpf(k) / 1000) for k in range(1001))
            factor = mpmath.exp(log_price(n, 0.95)) * mpmath.mpf("0.05")
            assert best <= mixture * factor * (1 + mpmath.mpf(10) ** -12)


@given(SAMPLES, st.floats(0.5, 0.9999))
def test_intervals_hold_the_mean_and_stay_between_0_and_1(x, confidence):
    for low, high in (anytime_interval(x[None], confidence), guaranteed_interval(x[None], confidence)):
        assert 0 <= low <= x.mean() + 1e-9 and x.mean() - 1e-9 <= high <= 1 + 1e-12
    found = mean_intervals(x[None], confidence)
    assert 0 <= found.low <= x.mean() + 1e-9 and x.mean() - 1e-9 <= found.high <= 1


@given(SAMPLES)
def test_intervals_are_mirrored_and_nested(x):
    a, b = mean_intervals(x[None], 0.99), mean_intervals(1 - x[None], 0.99)
    if a.method == b.method:  # at the edge of the rule, rounding may decide
        assert a.low[0] == pytest.approx(1 - b.high[0], abs=1e-6)
    less, more = anytime_interval(x[None], 0.9), anytime_interval(x[None], 0.999)  # more confidence is wider
    assert more[0] <= less[0] + 1e-12 and more[1] >= less[1] - 1e-12


def test_the_rule_is_what_it_says():
    rng = np.random.default_rng(6)
    rows = np.stack([rng.normal(0.5, 0.1, 100), rng.beta(8, 1, 100), np.r_[np.ones(99), 0.0], np.full(100, 0.7)])
    off = np.abs(stats.skew(rows[:3], axis=1)) * stats.norm.ppf(0.975) ** 3 / 30
    assert off[0] < off[1] < 1 < off[2]
    assert mean_intervals(rows, 0.95).method.tolist() == ["t", "t", "any law", "rare failures"]


def test_rare_failures_are_never_excluded_by_few_seeds():
    """Thirty-two seeds that show no failure may hide one in ten: no verdict."""
    for n in (1, 32, 1000):
        assert (1 - unseen_share(n, 0.95)) ** n == pytest.approx(0.025)
    found = mean_intervals(np.ones((1, 32)), 0.95)
    assert found.low == pytest.approx(1 - unseen_share(32, 1 - 0.05 / 3)) and found.high == 1
    inner = found.low[0] - 1, 0.0
    assert verdicts.judge(inner, inner, 0.02) == verdicts.INCONCLUSIVE
    low = mean_intervals(np.ones((1, verdicts.seeds_to_rule_out(0.02))), 0.95).low[0] - 1
    assert verdicts.judge((low, 0), (low, 0), 0.02) == verdicts.AGREE


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=60), st.data())
def test_a_second_stage_is_bounded_by_the_first(first, data):
    still_open = data.draw(st.sets(st.integers(0, len(first) - 1)))
    second = verdicts.second_stage(first, still_open)
    assert sum(second) <= 2 * sum(first)
    for c, (n, more) in enumerate(zip(first, second, strict=True)):
        assert n <= more <= verdicts.SECOND_STAGE * n if c in still_open else more == n

    group = st.dictionaries(st.integers(0, len(first) - 1), st.just(0.0) | st.floats(1e-3, 0.5))
    groups = data.draw(st.lists(group, max_size=3))
    third = verdicts.second_stage(first, still_open, groups)
    assert sum(third) <= (2 + verdicts.MOST_OF_GROUPS) * sum(first)
    suspected = set().union(*groups)
    assert all(usual <= more if c in suspected else more == usual
               for c, (usual, more) in enumerate(zip(second, third, strict=True)))


@given(st.data())
def test_fewest_seeds_are_fewest(data):
    """They reach the variance, and to move seeds from one cell to another only adds to it."""
    first = data.draw(st.lists(st.integers(48, 6000), min_size=2, max_size=20))
    spreads = {c: data.draw(st.just(0.0) | st.floats(1e-3, 0.5)) for c in range(len(first))}
    had = sum(s**2 / n for s, n in zip(spreads.values(), first, strict=True))
    seeds = verdicts.fewest_seeds(first, spreads, 5.0)
    assert all(seeds[c] >= n for c, n in enumerate(first))
    assert sum(s**2 / seeds[c] for c, s in spreads.items()) == pytest.approx(had / 5, rel=0.02)
    gain = {c: (s / seeds[c]) ** 2 for c, s in spreads.items()}  # of one more seed
    assert all(max(gain.values()) <= gain[c] * 1.05 for c, n in enumerate(first) if seeds[c] > n + 1)


def test_a_plan_reaches_a_verdict_on_what_was_expected(rng):
    """A right formula's cell agrees at the second look in most samples of beta laws of many shapes."""
    margin = 0.02
    for mean, std in ((0.5, 0.1), (0.2, 0.08), (0.9, 0.14), (0.97, 0.05), (0.999, 0.003), (0.05, 0.03)):
        n = verdicts.seeds_planned(mean, std, margin)
        total = mean * (1 - mean) / std**2 - 1
        found = mean_intervals(rng.beta(mean * total, (1 - mean) * total, (40, n)), 0.95)
        reached = (found.low >= mean - margin) & (found.high <= mean + margin)
        assert reached.mean() > 0.5, (mean, std, n)  # 0.9 or more in fact: 40 samples fall so short once in 1e9


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0.001, 0.5))
def test_verdicts_are_exclusive(low, width, more, margin):
    usual, family = (low, low + width), (low - more, low + width + more)
    verdict = verdicts.judge(usual, family, margin)
    inside = -margin <= usual[0] and usual[1] <= margin
    outside = family[1] < -margin or family[0] > margin
    assert (verdict == verdicts.AGREE) == inside and (verdict == verdicts.DISAGREE) == outside
    assert verdict in (verdicts.AGREE, verdicts.DISAGREE, verdicts.INCONCLUSIVE)


def test_one_seed_says_nothing():
    found = mean_intervals(np.array([[0.7], [0.2]]), 0.95)
    assert found.low.tolist() == [0, 0] and found.high.tolist() == [1, 1]
    assert verdicts.smallest_detectable_bias(0.7, 0, 1, float("nan")) == math.inf
    low, high = student_interval(np.array([0.5]), 0.95)
    assert math.isinf(low) and math.isinf(high)


def test_the_smallest_detectable_bias_is_found_nine_times_in_ten(rng):
    # 4,000 runs: 6 standard errors are 0.028. A normal mean, known spread.
    n, confidence = 400, 0.999
    mean = rng.normal(0.5, 0.1, size=(4000, n)).mean(axis=1)
    se = 0.1 / math.sqrt(n)
    half = stats.norm.ppf((1 + confidence) / 2) * se
    bias = verdicts.smallest_detectable_bias(0.5, 0.5 - half, 0.5 + half, se)
    off = 0.02 + bias - 0.5
    found = np.mean([verdicts.judge((m + off, m + off), (m - half + off, m + half + off), 0.02) == verdicts.DISAGREE
                     for m in mean])
    assert abs(found - 0.9) < 0.03


# How often the intervals of `verify` hold the truth: the shipped study, and a part of it again on fresh seeds.


@pytest.mark.parametrize("name", study.LAWS)
def test_the_means_of_the_study_are_right(name, rng):
    law = study.LAWS[name]
    assert_mean(law.draw(rng, (200_000,)), law.mean, 6, 1e-12)


UNKNOWABLE = "half, fails 1 seed in 30"  # values near 1/2 show nothing of failures that no seed has


def test_intervals_cover_in_the_study():
    """20,000 repeats each: 95 % intervals cover 94 to 97 % on recall and accuracy of ten cells, at 16 seeds or more,
    and 94 % or more where a run stops early. On harder laws they cover 93 % at least from 32 seeds on."""
    figures = shipped("coverage")
    assert figures["repeats"] >= 20_000 and set(figures["fixed"]) == set(study.LAWS)
    assert len(figures["cells"]) == 20 and set(figures["stopped"]) == set(figures["cells"])
    for name, by_seeds in figures["cells"].items():
        assert all(0.94 <= covered <= 0.97 for covered in by_seeds.values()), (name, by_seeds)
        assert figures["stopped"][name] >= 0.94, name
    for name, by_seeds in figures["fixed"].items():
        assert set(by_seeds) == {str(n) for n in study.SEEDS}
        least = 0.8 if name == UNKNOWABLE else 0.9
        for n, f in by_seeds.items():
            assert f["covered"] >= (0.93 if int(n) >= 32 and name != UNKNOWABLE else least), (name, n, f)
    assert all(share <= 0.05 for share in figures["ever_missed"].values())


def test_cells_are_covered_again(rng):
    # 3,000 repeats: 6 standard errors are 0.024.
    law = study.of_cells()["recall at V = 105, L = 5, d = 70, N = 3914, gaussian"]
    assert abs(study.coverage(law, 64, 3000, rng)["covered"] - 0.95) < 0.024
    assert study.stopped(law, 1000, rng) > 0.91


@pytest.mark.parametrize("name", study.LAWS)
def test_a_part_of_the_study_comes_out_again(name, rng):
    # 2,000 repeats against 20,000: 6 standard errors of the difference, with 1e-3 for shares near 0 and 1.
    for n in (32, 128):
        then, now = shipped("coverage")["fixed"][name][str(n)], study.coverage(study.LAWS[name], n, 2000, rng)
        for a, b in ((then["covered"], now["covered"]), (then["judged"]["share"], now["judged"]["share"])):
            p = min(max((a + b) / 2, 1e-3), 1 - 1e-3)
            assert abs(a - b) < 6 * math.sqrt(p * (1 - p) * (1 / 2000 + 1 / 20_000)) + 1e-3, (name, n, a, b)


@pytest.mark.parametrize("name", ["coin", "probit, in transition", "fails 1 seed in 30"])
def test_looking_often_keeps_the_error_rate(name, rng):
    # At most 5 % by theory, about 1 % in fact: 600 runs at 5 % exceed 0.1035 once in 1e8.
    assert study.ever_missed(study.LAWS[name], 600, rng) <= 0.1035


def test_a_fixed_number_of_seeds_is_not_enough_for_looking_often(rng):
    """The control: t intervals looked at as often miss far more than 5 %."""
    law = study.LAWS["coin"]
    values = law.draw(rng, (600, study.LOOKS[-1]))
    missed = np.zeros(600, dtype=bool)
    for n in study.LOOKS[4:]:
        low, high = student_interval(values[:, :n], 0.95)
        missed |= (law.mean < low) | (high < law.mean)
    assert missed.mean() > 0.1  # some 0.24: 8 standard errors above


@pytest.mark.parametrize("seeds", [8, 16, 32, 64, 128, 256, 512])
def test_values_of_0_and_1_are_covered_where_failures_are_rare(seeds):
    """Coverage is a sum over the number of failures; of more than one in twenty seeds an interval shows most."""
    x = (np.arange(seeds) >= np.arange(seeds + 1)[:, None]).astype(float)  # row k holds k failures
    found = mean_intervals(x, 0.95)
    share = np.geomspace(0.01 / seeds, 0.05, 400)[:, None]
    weight = stats.binom.pmf(np.arange(seeds + 1), seeds, share)
    hit = (found.low - 1e-12 <= 1 - share) & (1 - share <= found.high + 1e-12)
    assert (weight * hit).sum(axis=1).min() >= 0.93
