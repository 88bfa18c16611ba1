"""How much the recall of one draw scatters from seed to seed, in the four parts that do not vanish together.

X is 1 where a query (subject s, word r) is answered rightly. The N words of them are not independent:

own       a query by itself, p (1 - p);
codes     where the codes lie is shared by all queries: two that are close hurt one another, and spare others;
maps      how well two of the maps are aligned is shared by all subjects;
subjects  <B_r c, B_q c'> disturbs r and q of one subject alike, and lengthens what disturbs its other relations.

Leading order in 1/N, 1/words and the maps' 1/k. Derivation: docs/derivations/geometric.md.
"""

from __future__ import annotations

import math

import numpy as np

from .superposition import COARSE, Angles, interference, nearest_rival, turned_at_most

__all__ = ["variance"]

REPLICAS = 16  # quantiles of the angle of deflection
PAIRS, INNER = 48, 24  # quantiles of the angle of two codes, and of a rival's within a cap
ANGLES = 120  # of the grid on which the law of that angle is inverted
NUDGE = 1 / 64  # relative change of d that gives the slope of recall


def variance(N: int, words: int, k: int, d: int) -> dict[str, float]:
    """The variance of one seed's recall by cause; their sum is at least 0. Sizes as for `recall`.

    >>> parts = variance(100, 4, 16, 64)
    >>> round(math.sqrt(sum(parts.values())), 4)
    0.0153
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
        "codes": _through_codes(N, words, k, d),
        "maps": (2 * slope * (1 - k / d) / k) ** 2 / (words * others),
        "subjects": (together - alone) / (d * float(N) * words**2),
    }
    # Differences of leading orders; together they cannot take away more than queries by themselves give.
    parts["codes"] = max(parts["codes"], -parts["own"] / 4)
    parts["subjects"] = max(parts["subjects"], -parts["own"] / 2)
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


def _through_codes(N: int, words: int, k: int, d: int) -> float:
    """The variance of recall that comes from where the codes lie, through pairs of them.

    One code alone tells nothing, by symmetry. Two at an angle theta change the recall of each other's attribute by
    `hurt` (they compete) and that of each of N - 2 others by `spared` (rivals that are close count for less than two).
    """
    angle = _deflections(words, k, d)
    cap = _within(k, angle)
    theta = _angle_at(k, (np.arange(PAIRS) + 1 / 2) / PAIRS)
    inner = _angle_at(k, np.minimum((np.arange(INNER) + 1 / 2) / INNER * cap[:, None], 1 - 1e-12))
    # For a rival a at an angle beta of what is read: the chance that b, theta away from a, is in the cap too.
    second = _second(k, angle[:, None, None], inner[:, :, None], theta)
    both = cap[:, None] * second.mean(axis=1)
    other = _second(k, angle[:, None], angle[:, None], theta)
    alone = np.exp((N - 3) * np.log1p(-np.minimum(cap, 1 - 1e-16)))  # no rival among the N - 3 others
    spared = (alone[:, None] * (both - both.mean(axis=1, keepdims=True))).mean(axis=0)
    hurt = -((alone * (1 - cap))[:, None] * (other - other.mean(axis=1, keepdims=True))).mean(axis=0)
    pairs = (N - 1) / 2 / N * float(np.var(2 * hurt + (N - 2) * spared))
    # What queries for one attribute share is in `own` once for each of them.
    return pairs - (N - 1) / N / words * float(np.var(hurt))


def _deflections(words: int, k: int, d: int) -> np.ndarray:
    """Quantiles of the angle by which interference turns a code."""
    typical = math.atan(math.sqrt((words - 1) * (k - 1) / d))
    theta = np.geomspace(typical / 100, math.pi, ANGLES)
    x = interference(words, k, d, COARSE)
    law = x.weights @ turned_at_most(x, k, d, Angles(np.sin(theta) ** 2, theta > math.pi / 2))
    law = np.maximum.accumulate(law) + 1e-12 * np.arange(ANGLES)
    return np.interp((np.arange(REPLICAS) + 1 / 2) / REPLICAS, law, theta)


def _within(k: int, angle: np.ndarray) -> np.ndarray:
    """The chance that a random direction of R^k is within an angle of a given one."""
    from scipy.special import betainc

    cap = betainc((k - 1) / 2, 1 / 2, np.sin(angle) ** 2) / 2
    return np.where(angle > math.pi / 2, 1 - cap, cap)


def _angle_at(k: int, chance: np.ndarray) -> np.ndarray:
    """The inverse of `_within`."""
    from scipy.special import betaincinv

    angle = np.arcsin(np.sqrt(betaincinv((k - 1) / 2, 1 / 2, 2 * np.minimum(chance, 1 - chance))))
    return np.where(chance > 1 / 2, math.pi - angle, angle)


def _second(k: int, cap: np.ndarray, beta: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """The chance that a direction at an angle theta of one that is beta away from the centre is within the cap: a
    spherical triangle whose third angle is random."""
    from scipy.special import betainc

    with np.errstate(divide="ignore", invalid="ignore"):
        least = (np.cos(cap) - np.cos(beta) * np.cos(theta)) / (np.sin(beta) * np.sin(theta))
    least = np.clip(np.nan_to_num(least), -1, 1)
    if k == 2:  # of two directions one, at either side
        return np.where(least >= 1, 0.0, np.where(least <= -1, 1.0, 1 / 2))
    beyond = betainc((k - 2) / 2, 1 / 2, 1 - least**2) / 2
    return np.where(least < 0, 1 - beyond, beyond)
