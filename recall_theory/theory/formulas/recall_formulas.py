"""Closed-form moments of step three: what a value read out holds beside the right label.

In units of 1/V, with the value w of token k (s = |w|^2, t = z_trig.w): label j has weight theta_j = c_j (t + o_j)
less the mean, c_j = n_j/lambda its count, o_j = z_j.w ~ N(0, s/d); the right one c_k s - t. Typical values
are s = 1 + e tau and t = e tau, so that the mean signal is 1. Proofs: docs/derivations/recall.md.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from .generic import Real, maximum, sqrt
from .registry import Function, formula

_PAGE = "docs/derivations/recall.md"

_budget = functools.partial(formula, reference=_PAGE, unit="(noise/signal)^2",
                            regime="training attention right; signal and noise at typical lengths")


@_budget("recall.interference", "The V stored pairs overlap",
         limits="(1 + e tau) V/d^2 = 1/(2 ln V): the law of an optimal linear memory at e = 0")
def interference(V: Real, d: Real, e: Real, tau: Real) -> Real:
    """V (1 + e tau)/d^2.

    >>> interference(512, 128, 1, 1)
    0.0625
    """
    return V * (1 + e * tau) / d**2


@_budget("recall.gradient_noise", "The same, through the sampling of the label counts", limits="0 as N/V -> infinity")
def gradient_noise(V: Real, d: Real, N: Real, e: Real, tau: Real) -> Real:
    """V^2 (1 + e tau)/(N d^2)."""
    return V**2 * (1 + e * tau) / (N * d**2)


@_budget("recall.mean_bias", "Label frequencies' noise carried by what all values share, the trigger",
         limits="0 without the trigger in the values")
def mean_bias(V: Real, d: Real, N: Real, e: Real, tau: Real) -> Real:
    """V^2 (e tau)^2/(N d)."""
    return V**2 * (e * tau) ** 2 / (N * d)


@_budget("recall.token_overlap", "A competitor's own weight: the overlap of its token and its count",
         limits="all that is left for V << d")
def token_overlap(d: Real, N: Real, V: Real, e: Real, tau: Real) -> Real:
    """(1 + V/N)(1 + e tau)/d + (e tau)^2 V/N: unlike the others not a noise of the output embeddings."""
    return (1 + V / N) * (1 + e * tau) / d + (e * tau) ** 2 * V / N


@formula("recall.quantisation", "Val's entries are quantised", reference="docs/derivations/quantisation.md",
         unit="(noise/signal)^2", regime="training attention right, entries normal",
         limits="recall.interference times the quantiser's noise")
def quantisation(V: Real, d: Real, N: Real, e: Real, tau: Real, quantiser: Real) -> Real:
    """eta (1 + e tau) V/d^2 [1 + (1 + e tau) V/N], eta the quantiser's noise over the variance of Val's entries."""
    return quantiser * (1 + e * tau) * V / d**2 * (1 + (1 + e * tau) * V / N)


@formula("recall.quantisation.trigger", "What quantisation leaves of the label counts' noise along the trigger",
         reference="docs/derivations/quantisation.md", regime="attention right, V << N", limits="1 as N/V -> infinity")
def trigger_kept(V: Real, N: Real, e: Real, tau: Real, compression: Real) -> Real:
    """1 - chi p, p = (e tau V/N)/(1 + (1 + e tau) V/N) its share of the variance of Val's entries."""
    return 1 - compression * e * tau * V / N / (1 + (1 + e * tau) * V / N)


@formula("recall.weight_square", "Mean square of a competitor's weight theta", reference=_PAGE,
         regime="training attention right; s = 1 + e tau, t = e tau", unit="1/V^2")
def weight_square(V: Real, d: Real, N: Real, e: Real, tau: Real) -> Real:
    """(e tau)^2 V/N + (1 + V/N)(1 + e tau)/d."""
    return (e * tau) ** 2 * V / N + (1 + V / N) * (1 + e * tau) / d


# --- what the law is made of, at any lengths and any attention --------------------------------------

def _moment(name: str, title: str, regime: str = "exact") -> Callable[[Function], Function]:
    return formula(f"recall.{name}", title, reference=_PAGE, regime=regime)


@_moment("agreement", "Chance that two wrong picks are the same token")
def agreement(best: Real) -> Real:
    """best/(2 - best): the token that r others outrank is picked with probability (1 - best)^r best."""
    return best / (2 - best)


@_moment("stored", "Mean that a label stores in the value read out, before the mean over labels is taken off")
def stored_mean(share: Real, bias: Real, astray: Real) -> Real:
    """a b + (1 - a) b*."""
    return share * bias + (1 - share) * astray


@_moment("stored.rest", "Variance of what a label's picks of other tokens store", "leading; a class of labels")
def stored_rest(share: Real, lam: Real, bias: Real, astray: Real, bare: Real, varied: Real, *,
                missed: Real, best: Real) -> Real:
    """(1 - a) (b*^2 + v0)/lam + V_a (b - b*)^2 + (1 - a - missed)^2 v0 best/(2 - best)."""
    return ((1 - share) / lam * (astray**2 + bare) + varied * (bias - astray)**2
            + (1 - share - missed)**2 * agreement(best) * bare)


@_moment("stored.picks", "Mean number of a label's samples that attend to the value itself, as noise", "leading")
def stored_picks(share: Real, lam: Real, picked: Real) -> Real:
    """lam (1 - a) p."""
    return lam * (1 - share) * picked


@_moment("stored.square", "Mean square of a label's strength", "exact for Poisson counts; a class of labels")
def stored_square(share: Real, lam: Real, bias: Real, astray: Real, variance: Real, average: Real, *,
                  rest: Real) -> Real:
    """(a b + (1 - a) b* - average)^2 + a b^2/lam + a (a + 1/lam) v + rest."""
    return ((stored_mean(share, bias, astray) - average)**2 + share * bias**2 / lam
            + share * (share + 1 / lam) * variance + rest)


@formula("recall.stored.quantised", "What Val's quantisation adds to the mean square of a label's strength",
         reference="docs/derivations/quantisation.md", regime="leading")
def quantiser_square(V: Real, d: Real, quantiser: Real, entries: Real, own: Real) -> Real:
    """eta s E|x - mean|^2/d V/(V - 2), x (`entries` its square) what a label stores: Val's entries have the variance
    V E|x - mean|^2/d^2, and V - 2 labels carry their noise."""
    return quantiser * own * entries / d * V / maximum(V - 2, 1)


@_moment("stored.alone", "Weight of a value's own overlap in the square of its label's strength", "leading")
def stored_alone(share: Real, lam: Real, missed: Real, best: Real) -> Real:
    """a (a + 1/lam) + (1 - a)/lam + (1 - a - missed)^2 best/(2 - best)."""
    return share * (share + 1 / lam) + (1 - share) / lam + (1 - share - missed)**2 * agreement(best)


@_moment("lead", "Strength of the right label")
def lead(V: Real, lam: Real, count: Real, share: Real, own: Real, astray: Real, *, average: Real) -> Real:
    """(1 - 1/V) (n K/lam + (1 - a) b* - average)."""
    return (count / lam * own + (1 - share) * astray - average) * (1 - 1 / V)


@_moment("astray", "Noise along a label's own output, by what its wrong picks store", "leading")
def own_astray(share: Real, lam: Real, astray: Real, bare: Real, missed: Real, best: Real) -> Real:
    """(1 - a - missed)^2 v0 best/(2 - best) + (1 - a) (b*^2 + v0)/lam."""
    return agreement(best) * bare * (1 - share - missed)**2 + (1 - share) / lam * (astray**2 + bare)


@_moment("power_variance", "Relative variance of the sum of the competitors' squared strengths", "attention right")
def power_variance(V: Real, lam: Real, mean: Real, variance: Real, fourth: Real) -> Real:
    """(E theta^4/(E theta^2)^2 - 1)/V."""
    i, t2 = 1 / lam, mean**2
    quartic = (t2**2 * (3 * i**2 + i**3) + 6 * t2 * variance * (i + 4 * i**2 + i**3)
               + fourth * variance**2 * (1 + 6 * i + 7 * i**2 + i**3))
    return (quartic / (t2 * i + variance * (1 + i))**2 - 1) / V


@_moment("cycle.two", "Mean square of the kernel, apart from what all facts share", "leading")
def cycle_two(slope: Real, d: Real, variance: Real) -> Real:
    """l^2/d + v, v what the neurons add."""
    return slope**2 / d + variance


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
