"""Recall after a fourth step: one more value step at the probabilities that the third left, at a given logit scale.

Attention is right, the trigger is in the keys only, embeddings are Gaussian. The law conditions on the third step's
scores of a fact and averages over all other facts; see docs/derivations/fourth_step.md.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from scipy.special import log_ndtr, ndtr

from ..numerics.arrays import FloatArray
from ..numerics.quadrature import gauss_gamma, gauss_hermite, gauss_poisson
from .formulas.registry import Row, formula

COUNT_NODES, LENGTH_NODES, NOISE_NODES, FRESH_NODES = 12, 5, 16, 9  # of a fact: its count, |z|^2, own noise; new noise
SCORES = np.linspace(-8, 8, 129)  # standard scores of a competitor: its correction is an exponential of its score
LEAST_DIMENSION = 1.3  # least d^2/(2 V ln V) at which the law was checked
LARGEST_SCALE = 1.0  # largest g^2/(2 d) at which it was

_fourth: Row = functools.partial(formula, reference="docs/derivations/fourth_step.md",
                                 regime="leading; attention right, trigger in the keys only, V > d")

noise_feedback = _fourth(
    "fourth.feedback.noise", "What the other facts' corrections take from a unit of noise",
    limits="0 as g -> 0; g X V/d^2 for V much above d"
)(lambda V, d, scale, doubt: scale * doubt / V * ((V / d + 2)**2 - 1))

signal_feedback = _fourth(
    "fourth.feedback.signal", "What the other facts' corrections take from a fact's own score",
    limits="less than from noise: the step helps by the difference"
)(lambda V, d, scale, doubt: scale * doubt / V * ((V / d + 1)**2 - 1))

mixed_feedback = _fourth(
    "fourth.feedback.mixed", "What they take from noise that shares the fact's token or the competitor's label"
)(lambda V, d, scale, doubt: scale * doubt / V * ((V / d + 1) * (V / d + 2) - 1))

fresh_noise = _fourth(
    "fourth.noise", "Variance that the corrections bring anew, per squared length of the value read out"
)(lambda V, d, rest: (V / d**2 + 1 / d) * rest)

overshoot = _fourth(
    "fourth.overshoot", "Logit scale from which the step overshoots: noise comes back with the other sign",
    limits="falls like d^2/V"
)(lambda V, d, share, doubt: V * (1 + share) / (doubt * ((V / d + 2)**2 - 1)))


@dataclasses.dataclass(frozen=True)
class FourthStep:
    """Recall after three steps and after the fourth, and what decides it: `correction` a, the mean correction of a
    fact's own label; `noise` and `signal`, the shares of either that the other facts' corrections take; `checked`,
    whether the setting lies in the domain in which the law was compared with simulation."""

    third: float
    fourth: float
    correction: float
    noise: float
    signal: float
    checked: bool


def fourth_step_recall(V: int, d: int, N: int, scale: float) -> FourthStep:
    """The mean recall after a fourth step at logit scale g = `scale`: logits are g times a fact's own mean score.

    V facts, embeddings of dimension d, N samples; all numbers of at least 2.

    >>> found = fourth_step_recall(256, 64, 16384, 5.0)
    >>> round(found.third, 2), round(found.fourth, 2)
    (0.63, 0.9)
    """
    lam, g = N / V, scale
    n, p_n = gauss_poisson(lam, COUNT_NODES)
    s, p_s = gauss_gamma(2 / d, LENGTH_NODES)
    x, p_x = gauss_hermite(NOISE_NODES)
    c, S, X = np.meshgrid(np.ravel(n) / lam, np.ravel(s), x, indexing="ij")
    weight = np.ravel(p_n)[:, None, None] * np.ravel(p_s)[:, None] * p_x
    others = V * (1 + 1 / lam) / d**2  # variance that all other facts bring, per |z|^2
    fact, lengths = c * S, 2 * c**2 * S**2 / d
    own_noise = np.sqrt(S * others + lengths) * X
    generic, shared = S * others, S * (1 + 1 / lam) / d + c**2 * S**2 / d
    spread = np.sqrt(generic + shared)

    log_sum = np.logaddexp(g * (fact + own_noise), math.log(V - 1) + _log_mean_exp(g * spread, V))
    right = np.exp(g * (fact + own_noise) - log_sum)
    squares = np.exp(math.log(V - 1) + _log_mean_exp(2 * g * spread, V) - 2 * log_sum)

    def mean(values: FloatArray) -> float:
        return float((weight * values).sum())

    a = mean(c**2 * (1 - right)) / mean(c**2)
    doubt = mean(c * (1 - right**2 - squares))
    on_noise, on_signal = noise_feedback(V, d, g, doubt), signal_feedback(V, d, g, doubt)
    kept, kept_signal, kept_shared = 1 + a - on_noise, 1 + a - on_signal, 1 + a - mixed_feedback(V, d, g, doubt)
    rest = (1 - right - a)**2 + squares
    ratio = V / d / (V / d + 2)**2  # of what a Gram matrix squared adds to an entry, to what it multiplies it by
    bent = (g * doubt / V * (V / d + 2)**2)**2 * others * (2 * ratio + ratio**2)
    slope = (kept * generic + kept_shared * shared) / spread**2
    uneven = generic * (kept - slope)**2 + shared * (kept_shared - slope)**2
    rho = mean(c**2 * rest)
    fresh = np.sqrt(S * (fresh_noise(V, d, rho) + bent) + fact**2 * rest / d + uneven)
    fresh_own = np.sqrt(S * (V / d**2 * rho + bent))
    own_slope = (kept * S * others + kept_signal * lengths) / (S * others + lengths)

    score = spread[..., None] * SCORES
    density = np.exp(-SCORES**2 / 2)
    density /= density.sum()
    row = 2 * g * doubt / d * np.expm1(g**2 * score**2 / (2 * d)) * score  # corrections that share a token or a label
    competitor = slope[..., None] * score - row - fact[..., None] * np.exp(g * score - log_sum[..., None])
    fourth = 0.0
    for node, p in zip(*gauss_hermite(FRESH_NODES), strict=True):
        own = kept_signal * fact + own_slope * own_noise + fact * (1 - right - a) + fresh_own * node
        above = (density * ndtr((competitor - own[..., None]) / fresh[..., None])).sum(axis=-1)
        fourth += float(p) * mean(_none_above(above, V))
    third = mean(_none_above(ndtr(-(fact + own_noise) / spread), V))
    checked = d**2 >= LEAST_DIMENSION * 2 * V * math.log(V) and g**2 <= LARGEST_SCALE * 2 * d
    return FourthStep(third, fourth, a, float(on_noise), float(on_signal), checked)


def _log_mean_exp(spread: FloatArray, V: int) -> FloatArray:
    """log E exp of a normal variable of this deviation, below the largest of V: a sum of V knows no larger ones."""
    top = math.sqrt(2 * math.log(V))
    return np.asarray(spread**2 / 2 + log_ndtr(top - spread) - log_ndtr(top))


def _none_above(share: FloatArray, V: int) -> FloatArray:
    """The chance that none of V - 1 competitors is above, each with this chance."""
    return np.asarray(np.exp((V - 1) * np.log1p(-np.minimum(share, 1 - 1e-16))))
