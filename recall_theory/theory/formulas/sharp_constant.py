"""The sharp constant of recall: where almost all facts are kept and where almost none, and the curve between.

All is at right attention, Gaussian embeddings, in the mean over seeds, tau of its own law. What of it is proved and
what is not: docs/derivations/sharp_constant.md.
"""

from __future__ import annotations

import functools

from .generic import (
    Real,
    euler_gamma,
    lambert_w,
    log,
    normal_below,
    normal_density,
    pi,
    sqrt,
    whole,
    zeta_of_three,
)
from .recall_formulas import gradient_noise, interference, mean_bias
from .registry import Row, formula

_PAGE = "docs/derivations/sharp_constant.md"
_MANY = "attention right, Gaussian embeddings; V -> infinity, N/V -> infinity"

_sharp: Row = functools.partial(formula, reference=_PAGE)
_constant: Row = functools.partial(_sharp, regime=f"proved: {_MANY}, for e = 1 N/(V ln V) -> infinity")
_corrected: Row = functools.partial(
    _sharp, regime=f"heuristic: {_MANY}; relative errors of order 1/ln^(3/2) V, (ln V/d)^2, (ln V) V/N")


@_sharp("sharp.largest", "Where the largest of V normal variables lies: the lead at which half of the facts are kept",
        regime="V large; the largest is within O(1/sqrt(ln V)) of it", limits="sqrt(2 ln V)")
def largest_normal(V: Real) -> Real:
    """a_V = sqrt(2 ln V) - (ln ln V + ln 4 pi)/(2 sqrt(2 ln V)).

    >>> round(float(largest_normal(1000.0)), 4)
    3.1165
    """
    root = sqrt(2 * log(V))
    return root - (log(log(V)) + log(whole(4, V) * pi(V))) / (2 * root)


@_sharp("sharp.lead", "Lead of the right label in standard deviations of a competitor, to leading order", regime=_MANY,
        limits="d/sqrt((1 + e) V) as N/V -> infinity and, for e = 1, N/(V d) -> infinity")
def lead(V: Real, d: Real, N: Real, e: Real) -> Real:
    """s = d/sqrt(V [(1 + e)(1 + V/N) + e V d/N]): the noise of recall.* added up, at tau = 1."""
    return 1 / sqrt(interference(V, d, e, 1) + gradient_noise(V, d, N, e, 1) + mean_bias(V, d, N, e, 1))


@_constant("sharp.dimension", "Least d at which the lead is s", limits="s sqrt((1 + e) V) for many samples: s = a_V is "
         "the centre of the curve, and one unit of s, sqrt((1 + e) V), its width")
def dimension(V: Real, N: Real, e: Real, s: Real) -> Real:
    """d^2 = s^2 V [(1 + e)(1 + V/N) + e V d/N], solved for d.

    >>> round(float(dimension(1000.0, 1e12, 0, 3.1165)), 2)
    98.55
    """
    linear, square = e * s**2 * V**2 / N, s**2 * V * (1 + e) * (1 + V / N)
    return (linear + sqrt(linear**2 + 4 * square)) / 2


threshold = _constant(
    "sharp.constant", "d that separates almost all facts from almost none", limits="d^2 = 2 (1 + e) V ln V as "
    "N/V -> infinity and, for e = 1, N/(V d) -> infinity")(lambda V, N, e: dimension(V, N, e, sqrt(2 * log(V))))

recall = _sharp(
    "sharp.recall", "Recall across the transition, to leading order",
    regime=f"proved: {_MANY}, also over ln V and, for e = 1, over ln^2 V; uniform in d",
    limits="a step at sharp.constant: its width in d is smaller than its centre by a factor of sqrt(2 ln V)"
)(lambda V, d, N, e: normal_below(lead(V, d, N, e) - largest_normal(V)))


@_corrected("sharp.lead.mean", "Lead of a typical fact: what lengths and overlaps take from it", limits="1")
def lead_mean(V: Real, d: Real, N: Real, e: Real) -> Real:
    """In units of s, with beta the share of interference in the noise over 1 + e."""
    beta = _interfering(V, d, N, e)
    squares = 2 * beta**2 + e * (4 * (1 - beta)**2 + 2 * (2 - 3 * beta)**2)
    return 1 + (3 * squares / 8 - 3 * e * (1 - 2 * beta) / 2 - whole(5, V) / 4) / d


@_corrected("sharp.lead.variance", "Relative variance of the lead from fact to fact",
            limits="(1 + e)/d as N/V -> infinity and, for e = 1, N/(V d) -> infinity")
def lead_variance(V: Real, d: Real, N: Real, e: Real) -> Real:
    """Of lengths, overlaps with the trigger and the fact's own count, beta as above."""
    beta = _interfering(V, d, N, e)
    lengths = 2 * (1 - beta / 2)**2 + e * (beta**2 + 2 * (1 - 3 * beta / 2)**2) + whole(1, V) / 2
    return lengths / d + (1 + e)**2 * V / N


def _interfering(V: Real, d: Real, N: Real, e: Real) -> Real:
    """The part of the noise that grows with |z + e z_trig|^2, over 1 + e: 1/(1 + e) but for mean bias."""
    return (interference(V, d, e, 1) + gradient_noise(V, d, N, e, 1)) * lead(V, d, N, e)**2 / (1 + e)


def _largest(V: Real) -> tuple[Real, Real]:
    """Mean and variance of the largest of V normal variables: of A + (G - G^2/(2 b^2))/b, G a Gumbel variable."""
    u = sqrt(lambert_w(V**2 / (2 * pi(V))))  # V phi(u) = u, and one Newton step to V Phi(-A) = 1
    A = u + (normal_below(-u) - 1 / V) / normal_density(u)
    b = V * normal_density(A)
    g, square = euler_gamma(V), pi(V)**2 / 6
    return (A + (g - (square + g**2) / (2 * b**2)) / b,
            (square - 2 * (zeta_of_three(V) + g * square) / b**2) / b**2)


@_corrected("sharp.recall.corrected", "Recall across the transition, with the largest competitor's own law and the "
            "spread of leads", limits="sharp.recall")
def corrected(V: Real, d: Real, N: Real, e: Real) -> Real:
    """Phi((s E - w mean)/sqrt(1 + s^2 v + w^2 var)), w^2 = 1 + d/V + s^2/d.

    mean and var are those of the largest of V normal variables, E and v `sharp.lead.mean` and `sharp.lead.variance`.

    >>> round(float(corrected(2048.0, 256.0, 2048e6, 1)), 4)
    0.5876
    """
    s, (mean, variance) = lead(V, d, N, e), _largest(V)
    wider = 1 + d / V + s**2 / d
    spread = 1 + s**2 * lead_variance(V, d, N, e) + wider * variance
    return normal_below((s * lead_mean(V, d, N, e) - sqrt(wider) * mean) / sqrt(spread))
