"""How much the recall of one draw scatters from seed to seed, in the four parts that do not vanish together.

X is 1 where a query (subject s, word r) is answered rightly. The N words of them are not independent:

own       a query by itself, p (1 - p);
codes     queries for the same attribute share its rivals, and two attributes that are close are so for both;
maps      how well two of the maps are aligned is shared by all subjects;
subjects  <B_r c, B_q c'> disturbs r and q of one subject alike, and lengthens what disturbs its other relations.

Leading order in 1/N, 1/words and the maps' 1/k. Derivation: docs/derivations/geometric.md.
"""

from __future__ import annotations

import math

import numpy as np

from .superposition import COARSE, Angles, interference, nearest_rival, turned_at_most

__all__ = ["variance"]

REPLICAS = 16  # values of the angle of deflection at which two draws of the interference are compared
ANGLES = 120  # of the grid on which the law of that angle is inverted
FARTHEST = 37  # standard deviations, at which a probability is below the least float
NUDGE = 1 / 64  # relative change of d that gives the slope of recall


def variance(N: int, words: int, k: int, d: int) -> dict[str, float]:
    """The variance of one seed's recall by cause; their sum is at least 0. Sizes as for `recall`.

    >>> parts = variance(100, 4, 16, 64)
    >>> round(math.sqrt(sum(parts.values())), 4)
    0.0158
    """
    if words == 1:
        return dict.fromkeys(("own", "codes", "maps", "subjects"), 0.0)
    p, slope, lead = _sensitivities(N, words, k, d)
    others = words - 1
    # Recall depends on the squared length of the interference as it does on 1/d.
    longer = -slope / others
    pairs, rest = words * others / 2, others * (words - 2) / 2
    together = 4 * pairs * (lead + longer * (words - 2)) ** 2
    alone = words * (others * lead**2 + 4 * rest * longer**2)
    parts = {
        "own": p * (1 - p) / N / words,
        "codes": _shared_rivals(N, words, k, d) * (2 - 1 / words) / N,
        "maps": (2 * slope * (1 - k / d) / k) ** 2 / (words * others),
        "subjects": (together - alone) / (d * float(N) * words**2),
    }
    # The last is a difference of leading orders; it cannot take away more than the others give.
    parts["subjects"] = max(parts["subjects"], -parts["own"])
    return parts


def _sensitivities(N: int, words: int, k: int, d: int) -> tuple[float, float, float]:
    """Recall, its slope in ln d, and its slope in the component of the interference along the right code."""
    angles, chances = nearest_rival(N, k)
    x = interference(words, k, d, COARSE)
    given_x = turned_at_most(x, k, d, angles) @ chances
    p = min(float(x.weights @ given_x), 1.0)
    further = d * (1 + NUDGE)
    y = interference(words, k, further, COARSE)
    slope = (float(y.weights @ turned_at_most(y, k, further, angles) @ chances) - p) / math.log1p(NUDGE)
    lead = float((x.weights * x.along) @ given_x) * d / (words - 1)
    return p, slope, lead


def _shared_rivals(N: int, words: int, k: int, d: int) -> float:
    """Covariance of two queries for one attribute: two independent deflections, the same rivals.

    A rival is out of both caps with the probability that a bivariate normal gives for the same single
    probabilities and correlation cos(first angle) cos(second).
    """
    from scipy.special import betainc, ndtri

    typical = math.atan(math.sqrt((words - 1) * (k - 1) / d))
    theta = np.geomspace(typical / 100, math.pi, ANGLES)
    x = interference(words, k, d, COARSE)
    law = x.weights @ turned_at_most(x, k, d, Angles(np.sin(theta) ** 2, theta > math.pi / 2))
    law = np.maximum.accumulate(law) + 1e-12 * np.arange(ANGLES)
    angle = np.interp((np.arange(REPLICAS) + 1 / 2) / REPLICAS, law, theta)
    cap = betainc((k - 1) / 2, 1 / 2, np.sin(angle) ** 2) / 2
    cap = np.where(angle > math.pi / 2, 1 - cap, cap)
    right = np.exp((N - 1) * np.log1p(-cap))
    either = cap[:, None] + cap - _both_below(ndtri(cap), np.cos(angle))
    both = np.exp((N - 1) * np.log1p(-np.minimum(either, 1 - 1e-16)))
    return float(max(np.mean(both) - np.mean(right) ** 2, 0))


def _both_below(z: np.ndarray, cosine: np.ndarray) -> np.ndarray:
    """Pr(X < z_i, Y < z_j) of unit Gaussians with correlation cosine_i cosine_j, by Owen's T function."""
    from scipy.special import ndtr, owens_t

    z = np.clip(np.where(z == 0, 1e-12, z), -FARTHEST, FARTHEST)
    h, g = z[:, None], z[None, :]
    r = cosine[:, None] * cosine
    q = np.sqrt(1 - r * r)
    below = (ndtr(h) + ndtr(g)) / 2 - owens_t(h, (g - r * h) / (h * q)) - owens_t(g, (h - r * g) / (g * q))
    return np.clip(below - np.where(h * g < 0, 1 / 2, 0), 0, 1)
