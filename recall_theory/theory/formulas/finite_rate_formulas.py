"""Closed forms at finite learning rates: eta -> 0 with beta = eta*gamma finite. docs/derivations/finite_rates.md."""

from __future__ import annotations

import functools

from ...settings import power_of_mean, square_of_logits
from .generic import Real, exp, log, sqrt
from .registry import Row, formula

_finite: Row = functools.partial(formula, reference="docs/derivations/finite_rates.md")
_SMALL = "V, d, L large; the lead far above the noise of the scores"


logit_lead = _finite(
    "finite.lead", "Lead of the informative token's attention logit", regime="leading; N large",
    limits="the softmax is an argmax as beta -> infinity, uniform as beta -> 0"
)(lambda V, L, beta, tau: beta * tau * (1 - 1 / L) / (V * L**2))

typical_weight = _finite(
    "finite.weight", "Attention weight of a typical informative token", regime=_SMALL,
    limits="1/L as b -> 0, 1 as b -> infinity at a heat below sqrt(2 ln L)"
)(lambda L, logit, heat: 1 / (1 + (L - 1) * exp(heat**2 / 2 - logit)))

score_noise = _finite(
    "finite.score_noise", "Relative variance over labels of the attention weight", regime=_SMALL,
    limits="of the order of interference once b^2 is that of snr^2"
)(lambda share, logit, snr: ((1 - share) * logit / snr)**2)

mean_bias = _finite(
    "finite.mean_bias", "Weights that differ from label to label, carried by the trigger",
    regime="recall at soft attention; N/V -> infinity", unit="(noise/signal)^2",
    limits="does not vanish as N grows; 0 without the trigger in the values"
)(lambda V, d, e, tau, varied, share: V * (e * tau)**2 * varied / (share**2 * d))

noise_tokens = _finite(
    "finite.noise_tokens", "Noise tokens that are stored beside the fact", regime="recall at soft attention",
    unit="(noise/signal)^2", limits="V^2 L/(N d^2) of the one-step memory as beta -> 0, keys only"
)(lambda V, d, N, e, tau, squares, share: V**2 * squares * ((1 + e * tau) / d + 1 / V) / (N * share**2 * d))


@_finite("finite.jump", "What a sample of a label adds to its weight, where weights differ from sample to sample",
         regime="two moments", limits="1 for weights of 0 and 1, a for equal ones")
def jump(share: Real, second: Real) -> Real:
    """E a^2/E a: the sum of a Poisson number of weights is nearly Poisson again, of mean lam (E a)^2/E a^2, in this
    unit."""
    return second / share


along = _finite(
    "finite.along", "Weight on noise that comes with a unit of weight on the fact, from sample to sample",
    regime="regression", limits="0 for weights of 0 and 1, (1 - a)/a for equal ones"
)(lambda share, second: (share - second) / second)


@_finite("finite.count_tie", "Correlation of a label's count with its token's score, times the scores' deviation",
         regime="leading")
def count_tie(V: Real, L: Real, d: Real, N: Real, e: Real, tau: Real) -> Real:
    """c (2 + e tau + c L (1/V + 1/d))/(V L)^2/sqrt(N/V), c = 1 - 1/L: a label of more samples pulls on its token."""
    c = 1 - 1 / L
    return c * (2 + e * tau + c * L * (1 / V + 1 / d)) / (V * L)**2 / sqrt(N / V)


count_by_score = _finite(
    "finite.count_by_score", "Normal quantile of a label's count, given its token's mean score",
    regime="scores and quantiles of counts are jointly normal",
    limits="x where they are not tied, or the class is all labels"
)(lambda counted, tie, zeta, between: (counted - tie * zeta) / sqrt(1 - (1 - between) * tie**2))


length_branch = _finite(
    "finite.law.length", "Most V at which informative tokens have a given weight, at fixed rates", regime=_SMALL,
    limits="falls like 1/L^2: what sequence length costs at fixed rates"
)(lambda L, beta, share: beta * (1 - 1 / L) / (L**2 * (log(L - 1) + log(share / (1 - share)))))

least_rates = _finite(
    "finite.law.rates", "Least beta at which all but a share of attention is on the informative token", regime=_SMALL,
    limits="V L^2 ln L")(lambda V, L, missed: V * L**2 * (log(L - 1) + log((1 - missed) / missed)) / (1 - 1 / L))

logits_after_step_one = _finite(
    "finite.logits", "Size of the logits after step one, which the law takes for 0",
    regime="a bound on the root mean square over labels and seeds", limits="0 as eta -> 0"
)(lambda V, L, d, N, e, eta: eta * sqrt(square_of_logits(V, d, N, 1 + e, power_of_mean(L, e))))
