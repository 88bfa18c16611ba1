"""The right label's own logit, as nodes over its count, its output's noise and the lengths.

With the strength T of the right label and Q = sum of theta_j^2 over the others, the logit of a Gaussian output is
x = R cos + g sin in units of a competitor's noise, and a competitor of strength theta has the mean theta w/sqrt(Q),
w = R sin - g cos: one rotation, with tan = sqrt(Q)/T, R^2 ~ chi^2_d and g ~ N(0, 1). On the sphere x is the normal
score of the output's cosine. docs/derivations/recall.md has the derivation.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import gammaln, ndtr

from ..numerics.arrays import TINY, FloatArray, Rows
from ..numerics.quadrature import condense_with, gauss_legendre, gauss_of_gamma, gauss_poisson
from ..numerics.unit_sphere import coordinate_of_score, peizer_pratt_scale, score_of_coordinate
from .accuracy import Accuracy
from .formulas import recall_formulas as rf
from .read_out import Kernel
from .strengths import Stored
from .training_attention import Attended, Seeds

__all__ = ["Nodes", "OwnLabel", "Samples", "counts_of", "laid_out", "nodes_of", "samples_of"]

NOISE_END = 4.0  # standard deviations of noise, beyond which none is
COSINE_ROUNDING = 1e-12  # of a squared cosine to 1, which has no normal score


@dataclasses.dataclass(frozen=True)
class Nodes:
    """Nodes of an entry, fields (R, E, P, M): P shares of right attention times counts, M of noise and lengths.

    mass sums to 1 over an entry. logit: x. gain: w. lead (R, E, P): T. share, surplus (R, E, P): of right attention,
    and the count of right picks less its mean. noise (R, E, P): variance of the output's own. loose (R, E): variance of
    the logarithm of the strengths' scale that independent competitors would have. length (R, E): the part Q/Theta of
    the lead at a typical count.
    """

    mass: FloatArray
    logit: FloatArray
    gain: FloatArray
    lead: FloatArray
    share: FloatArray
    surplus: FloatArray
    noise: FloatArray
    loose: FloatArray
    length: FloatArray


@dataclasses.dataclass(frozen=True)
class OwnLabel:
    """Nodes (R, E, P) of the right label before its noise: weight, the strength, `share` and `surplus` as in `Nodes`;
    astray: variance along its own output of what its other tokens store."""

    weight: FloatArray
    lead: FloatArray
    share: FloatArray
    surplus: FloatArray
    astray: FloatArray


@dataclasses.dataclass(frozen=True)
class _Noisy:
    """The strength, the power of all others, and by how much the noise of the own output is wider than a competitor's,
    (R, E, P)."""

    lead: FloatArray
    power: FloatArray
    wider: FloatArray


def counts_of(mean: FloatArray, n: int, each: int) -> tuple[FloatArray, FloatArray]:
    """Poisson counts (..., n) and weights: n nodes, or `each` count from 0 on if that is not 0."""
    if not each:
        return gauss_poisson(mean, n)
    count = np.arange(each, dtype=float)
    m = np.maximum(mean, TINY)[..., None]
    return np.broadcast_to(count, (*mean.shape, each)), np.exp(count * np.log(m) - m - gammaln(count + 1))


@dataclasses.dataclass(frozen=True)
class Samples(Rows):
    """A fact's training samples that were attended rightly, per their mean number if all were: nodes (R, F, P) of that
    `right` with weights, and the share that is expected of them. wrong (R, F): mean score of what the others attend to.
    """

    weight: FloatArray
    right: FloatArray
    share: FloatArray
    wrong: FloatArray

    def repeated(self, times: int) -> Samples:
        """Each fact so many times."""
        return Samples(*(np.repeat(getattr(self, f.name), times, axis=1) for f in dataclasses.fields(self)))


def samples_of(seeds: Seeds, attended: Attended, wrong: FloatArray, accuracy: Accuracy, counts: int) -> Samples:
    """The samples of facts whose sequences attend to them so, `wrong` (R, F) as in `Samples`. counts: of samples that
    are summed over, each by itself; if 0, there are nodes over them."""
    count, weight = counts_of(seeds.lam[:, None, None] * attended.share, accuracy.count, counts)
    right, share, weight = (np.broadcast_to(a, count.shape).reshape(*count.shape[:2], -1) for a in (
        count / seeds.lam[:, None, None, None], attended.share[..., None], attended.weight[..., None] * weight))
    if counts:  # the same counts at every share
        each = (*count.shape[:2], -1, counts)
        weight, part, right = weight.reshape(each), (weight * share).reshape(each), right[..., :counts]
        weight, part = weight.sum(axis=2), part.sum(axis=2)
        share = part / np.maximum(weight, TINY)
    if right.shape[-1] > accuracy.strength:
        right, weight, (share,) = condense_with(right, weight, accuracy.strength, share)
    return Samples(weight, right, share, wrong)


def nodes_of(seeds: Seeds, kernel: Kernel, stored: Stored, samples: Samples, ends: tuple[FloatArray, FloatArray],
             accuracy: Accuracy) -> Nodes:
    """The nodes over each entry. ends (R, E): logits below which a fact is as good as lost and above which it is as
    good as won."""
    V, lam = (a[:, None, None] for a in (seeds.V, seeds.lam))
    a, off = samples.share, (kernel.bare_mean + samples.wrong * kernel.bare_slope)[..., None]
    lead = rf.lead(V, lam, lam * samples.right, a, kernel.own[..., None], off, average=stored.mean[..., None])
    # what the fact's own wrong picks store: the tokens that all labels pick, and others by chance
    astray = rf.own_astray(a, lam, off, stored.bare[..., None], stored.missed[:, None, None], stored.best[..., None])
    own = OwnLabel(samples.weight, lead, a, lam * (samples.right - a), np.maximum(astray, 0))
    return laid_out(seeds, kernel, own, np.maximum(seeds.V - 2, 1)[:, None] * stored.square, ends, accuracy)


def laid_out(seeds: Seeds, kernel: Kernel, own: OwnLabel, power: FloatArray, ends: tuple[FloatArray, FloatArray],
             accuracy: Accuracy) -> Nodes:
    """The nodes over lengths and noise as well; power (R, E): of all competitors together."""
    lead, total = own.lead, power[..., None]
    power = total + lead**2 / seeds.V[:, None, None]
    wider = np.sqrt(1 + seeds.d[:, None, None] * own.astray / power)
    make = _on_the_sphere if seeds.sphere else _gaussian
    logit, gain, mass = make(seeds, kernel, _Noisy(lead, power, wider), ends, accuracy)
    logit, gain, mass = (np.broadcast_to(q, logit.shape).reshape(*lead.shape, -1) for q in (logit, gain, mass))
    noise = wider**2 * power / (power + lead**2)
    return Nodes(own.weight[..., None] * mass, logit, gain, lead, own.share, own.surplus, noise,
                 kernel.power_variance / 4,
                 total[..., 0] / (total[..., 0] + np.maximum(kernel.own - kernel.mean, 0)**2))


def _noise(low: FloatArray, high: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (..., n + 2) of a normal variable for functions that vary between two values: Gauss-Legendre
    between them, and the mean below and above."""
    low = np.clip(low, -NOISE_END, NOISE_END)
    high = np.clip(high, low, NOISE_END)
    t, w = gauss_legendre(n)
    inside = low[..., None] + (high - low)[..., None] * t
    mass = (high - low)[..., None] * w * _density(inside)
    below, above = ndtr(low), ndtr(-high)
    outside = np.stack([-_density(low) / below, _density(high) / above], axis=-1)
    weights = np.concatenate([mass, np.stack([below, above], axis=-1)], axis=-1)
    return np.concatenate([inside, outside], axis=-1), weights / weights.sum(axis=-1, keepdims=True)


def _density(x: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-x**2 / 2) / np.sqrt(2 * np.pi))


def _lengths(seeds: Seeds, kernel: Kernel, accuracy: Accuracy) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The competitors' power per its mean (R, E, 1, powers, 1), chi^2_d/d (R, 1, 1, 1, chis) and their weights."""
    r, w_r = gauss_of_gamma(kernel.power_variance, accuracy.power, root=True)
    chi, w_chi = gauss_of_gamma(2 / seeds.d, accuracy.chi, root=True)
    return (r[:, :, None, :, None], chi[:, None, None, None],
            w_r[:, :, None, :, None] * w_chi[:, None, None, None])


def _gaussian(seeds: Seeds, kernel: Kernel, own: _Noisy, ends: tuple[FloatArray, FloatArray],
              accuracy: Accuracy) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Logit, gain and weight (R, E, P, powers, chis, noises)."""
    r, chi, mass = _lengths(seeds, kernel, accuracy)
    root = np.sqrt(seeds.d[:, None, None, None, None] * chi)
    T, Q, wide = own.lead[..., None, None], own.power[..., None, None] * r, own.wider[..., None, None]
    whole = np.sqrt(Q + T**2)
    cos, sin = T / whole, np.sqrt(Q) / whole
    middle, scale = root * cos, sin * wide
    low, high = ((end[:, :, None, None, None] - middle) / scale for end in ends)
    g, w_g = _noise(low, high, accuracy.noise)
    logit = middle[..., None] + g * scale[..., None]
    return logit, (root * sin)[..., None] - g * cos[..., None], mass[..., None] * w_g


def _on_the_sphere(seeds: Seeds, kernel: Kernel, own: _Noisy, ends: tuple[FloatArray, FloatArray],
                   accuracy: Accuracy) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same: outputs have length 1, and what they sum to varies by their overlaps."""
    r, chi, mass = _lengths(seeds, kernel, accuracy)
    d = seeds.d[:, None, None, None, None]
    D = peizer_pratt_scale(d)
    T, Q, wide = own.lead[..., None, None], own.power[..., None, None] * r, own.wider[..., None, None]
    rho = np.sqrt(Q * chi)
    low, high = (score_of_coordinate(_aside(coordinate_of_score(end[:, :, None, None, None], D), T / rho), D) / wide
                 for end in ends)
    g, w_g = _noise(low, high, accuracy.noise)
    T, rho, wide, D = T[..., None], rho[..., None], wide[..., None], D[..., None]
    b = coordinate_of_score(g, D)
    size = np.sqrt(np.maximum(T**2 + 2 * T * rho * b + rho**2, TINY))
    cosine = np.clip((T + rho * b * wide) / size, -1 + COSINE_ROUNDING, 1 - COSINE_ROUNDING)
    # d/(d - 1) makes a competitor's cosine exact to first order in its mean
    unit = (np.sqrt(d) * d / np.maximum(d - 1, 1) / np.sqrt(Q))[..., None]
    return score_of_coordinate(cosine, D), unit * (rho**2 + T * rho * b) / size, mass[..., None] * w_g


def _aside(cosine: FloatArray, ratio: FloatArray) -> FloatArray:
    """The cosine of an output with the others' sum, from that with the whole, in which it has `ratio` times its
    length."""
    angle = np.arccos(cosine)
    return np.asarray(np.cos(np.minimum(angle + np.arcsin(np.clip(ratio * np.sin(angle), -1, 1)), np.pi)))
