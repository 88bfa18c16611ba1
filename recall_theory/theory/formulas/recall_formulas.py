"""Closed-form moments of step three: what a value read out holds beside the right label.

In units of 1/V, with the value w of token k (s = |w|^2, t = z_trig.w): label j has weight theta_j = c_j (t + o_j)
less the mean, c_j = n_j/lambda its count, o_j = z_j.w ~ N(0, s/d); the right one c_k s - t. Typical values
are s = 1 + e tau and t = e tau, so that the mean signal is 1. Proofs: docs/derivations/recall.md.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from .generic import Real, maximum, sqrt
from .registry import Law, Row, formula

_PAGE = "docs/derivations/recall.md"

_budget: Row = functools.partial(formula, reference=_PAGE, unit="(noise/signal)^2",
                                 regime="training attention right; signal and noise at typical lengths")
_quantised: Row = functools.partial(formula, reference="docs/derivations/quantisation.md")

interference = _budget(
    "recall.interference", "The V stored pairs overlap",
    limits="(1 + e tau) V/d^2 = 1/(2 ln V): the law of an optimal linear memory at e = 0"
)(lambda V, d, e, tau: V * (1 + e * tau) / d**2)

gradient_noise = _budget(
    "recall.gradient_noise", "The same, through the sampling of the label counts", limits="0 as N/V -> infinity"
)(lambda V, d, N, e, tau: V**2 * (1 + e * tau) / (N * d**2))

mean_bias = _budget(
    "recall.mean_bias", "Label frequencies' noise carried by what all values share, the trigger",
    limits="0 without the trigger in the values"
)(lambda V, d, N, e, tau: V**2 * (e * tau) ** 2 / (N * d))

token_overlap = _budget(
    "recall.token_overlap", "A competitor's own weight: the overlap of its token and its count",
    limits="all that is left for V << d"
)(lambda d, N, V, e, tau: (1 + V / N) * (1 + e * tau) / d + (e * tau) ** 2 * V / N)

quantisation = _quantised(
    "recall.quantisation", "Val's entries are quantised", unit="(noise/signal)^2",
    regime="training attention right, entries normal",
    limits="recall.interference times the quantiser's noise"
)(lambda V, d, N, e, tau, quantiser: quantiser * (1 + e * tau) * V / d**2 * (1 + (1 + e * tau) * V / N))

trigger_kept = _quantised(
    "recall.quantisation.trigger", "What quantisation leaves of the label counts' noise along the trigger",
    regime="attention right, V << N", limits="1 as N/V -> infinity"
)(lambda V, N, e, tau, compression: 1 - compression * e * tau * V / N / (1 + (1 + e * tau) * V / N))

weight_square = _budget(
    "recall.weight_square", "Mean square of a competitor's weight theta",
    regime="training attention right; s = 1 + e tau, t = e tau", unit="1/V^2"
)(lambda V, d, N, e, tau: (e * tau) ** 2 * V / N + (1 + V / N) * (1 + e * tau) / d)


# --- what the law is made of, at any lengths and any attention --------------------------------------

def _moment(name: str, title: str, regime: str = "exact") -> Callable[[Law], Law]:
    return formula(f"recall.{name}", title, reference=_PAGE, regime=regime)


agreement = _moment("agreement", "Chance that two wrong picks are the same token")(lambda best: best / (2 - best))

ranked = _moment("rank", "Chance that so many of V tokens outrank the best of a sequence's noise")(
    lambda V, L, ahead: (1 - ahead / V) ** (L - 1) - (1 - (ahead + 1) / V) ** (L - 1))

stored_mean = _moment(
    "stored", "Mean that a label stores in the value read out, before the mean over labels is taken off"
)(lambda share, bias, astray: share * bias + (1 - share) * astray)

stored_rest = _moment(
    "stored.rest", "Variance of what a label's picks of other tokens store", "leading; a class of labels"
)(lambda share, lam, bias, astray, bare, varied, *, missed, best, elsewhere: (
    (1 - share) * elsewhere / lam * (astray**2 + bare) + varied * (bias - astray)**2
    + (1 - share - missed)**2 * agreement(best) * bare))

stored_picks = _moment(
    "stored.picks", "Mean number of a label's samples that attend to the value itself, as noise", "leading"
)(lambda share, lam, picked: lam * (1 - share) * picked)

stored_square = _moment(
    "stored.square", "Mean square of a label's strength", "exact for Poisson counts; a class of labels"
)(lambda share, lam, bias, astray, variance, average, *, rest, taken: (
    (stored_mean(share, bias, astray) - average)**2 + share * bias**2 / lam
    + ((share - taken)**2 + share / lam) * variance + rest))

stored_common = _moment(
    "stored.common", "What an overlap that wrong picks have in common adds to the mean square of a label's strength"
)(lambda common, agreed, deviation: common**2 - agreed + 2 * common * deviation)

quantiser_square = _quantised(
    "recall.stored.quantised", "What Val's quantisation adds to the mean square of a label's strength", regime="leading"
)(lambda V, d, quantiser, entries, own: quantiser * own * entries / d * V / maximum(V - 2, 1))

stored_alone = _moment(
    "stored.alone", "Weight of a value's own overlap in the square of its label's strength", "leading"
)(lambda share, lam, missed, best, *, taken: (
    (share - taken)**2 + 1 / lam + (1 - share - missed)**2 * agreement(best)))

count_kurtosis = _moment("stored.count_kurtosis", "E n^4/(E n^2)^2 of a label's count n, a Poisson variable")(
    lambda samples: (1 + 6 / samples + 7 / samples**2 + 1 / samples**3) / (1 + 1 / samples)**2)

interference_kept = _quantised(
    "recall.quantisation.interference", "What quantisation leaves of the variance of the facts' interference",
    regime="leading in 1/V", limits="1 as V -> infinity"
)(lambda clipped, samples, e, tau: 1 / (1 + 2 * clipped * (1 / (1 + e * tau) + count_kurtosis(samples))))

token_kept = _quantised(
    "recall.quantisation.token", "What quantisation leaves of the variance of a competitor's own overlap",
    regime="leading in 1/V", limits="1 as V -> infinity"
)(lambda clipped, e, tau: 1 / (1 + 2 * clipped / (1 + e * tau)))

lead = _moment(
    "lead", "Strength of the right label"
)(lambda V, lam, count, share, own, astray, *, average, missed, common, copied, itself: (
    (count / lam * own + (1 - share - copied) * astray + (1 - share - missed) * common + copied * itself - average)
    * (1 - 1 / V)))

own_astray = _moment(
    "astray", "Noise along a label's own output, by what its wrong picks store", "leading"
)(lambda share, lam, astray, bare, missed, best, *, copied, itself: (
    agreement(best) * bare * (1 - share - copied - missed)**2 + (1 - share - copied) / lam * (astray**2 + bare)
    + copied * itself**2 / lam))


third = _moment("competitor.third", "Third moment of a kind's strength")(
    lambda mean, variance, cumulant: mean**3 + 3 * mean * variance + cumulant)

fourth = _moment("competitor.fourth", "Mean fourth power of a kind's strength")(
    lambda mean, variance, kurtosis: mean**4 + 6 * mean**2 * variance + kurtosis * variance**2)

power_variance = _moment(
    "power_variance", "Relative variance of the sum of the competitors' squared strengths"
)(lambda V, square, fourth: (fourth / square**2 - 1) / V)

power_lean = _moment(
    "power.lean", "What the right label's strength loses per relative excess of the competitors' power",
    "leading in the skewness of strengths; modelled where attention is not right"
)(lambda share, third, square, walk: 2 * share * third / (square * walk**2))

tail_decay = _moment(
    "tails.decay", "Mean of e^(-t Q) over what one competitor adds to all competitors' power Q", "counts that are alike"
)(lambda V, scaled, dual: 1 / sqrt(1 + 2 * dual * scaled / (V - 1)))

tail_power = _moment(
    "tails.power", "Relative variance v of a gamma variable of this mean of one over its root", "leading; to v^2/32"
)(lambda inverse_root: 4 * (1 - 1 / inverse_root**2) / 3)

broader = _moment(
    "skewness.broader", "Variance of a gamma variable that beside a normal one has the kernel's skewness and kurtosis"
)(lambda skewness, excess: 3 * skewness**2 / (2 * excess))

cycle_two = _moment("cycle.two", "Mean square of the kernel, apart from what all facts share", "leading")(
    lambda slope, d, variance: slope**2 / d + variance)


@_moment("cycle.three", "Mean product of the kernel around three facts, apart from what all share", "leading")
def cycle_three(slope: Real, d: Real, m: Real, variance: Real) -> Real:
    """l^3/d^2 + 3 (l^2/d) sqrt(v/m) + v sqrt(v/m), v what the neurons add."""
    one = sqrt(variance / m)
    return slope**3 / d**2 + 3 * slope**2 / d * one + variance * one


@_moment("cycle.four", "Mean product of the kernel around four facts, apart from what all share", "leading")
def cycle_four(slope: Real, d: Real, m: Real, variance: Real) -> Real:
    """l^4/d^3 + (l^3/d^2) (2 l/m + 4 sqrt(v/m)) + 6 (l^2/d) v/m + v^2/m, v what the neurons add."""
    one = sqrt(variance / m)
    return (slope**4 / d**3 + slope**3 / d**2 * (2 * slope / m + 4 * one) + 6 * slope**2 / d * one**2
            + variance**2 / m)
