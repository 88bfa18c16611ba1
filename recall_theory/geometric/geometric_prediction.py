"""The recall that is predicted for a geometric setting, and its variance from seed to seed.

X is 1 where a query (subject s, word r) is answered rightly. The N words of them are not independent:

own       a query by itself, p (1 - p);
codes     where the codes lie is shared by all queries: two that are close hurt one another, and spare others;
maps      how well two of the maps are aligned is shared by all subjects;
subjects  <B_r c, B_q c'> disturbs r and q of one subject alike, and lengthens what disturbs its other relations.

Maps and subjects are the regressions on each pair of words alone, at all sizes; what is dropped is smaller by 1/k and
1/words, and codes are to leading order in 1/N. Derivation: docs/derivations/geometric.md.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from ..numerics.arrays import FloatArray
from ..numerics.formatting import SCHEMA_VERSION
from ..numerics.quantiser import noise_at
from ..theory.formulas.geometric_laws import chain, chain_shared
from ..theory.predict import LAW
from .geometric_setting import ROUNDED, GeometricSetting
from .superposition import (
    COARSE,
    Angles,
    cap_angles,
    cap_probability,
    deflection_probability,
    interference,
    nearest_competitor,
    signs_recall,
    superposition_recall,
)

DEFLECTION_QUANTILES = 16  # of the angle by which interference turns a code
DEFLECTION_GRID = 120  # angles at which the law of that angle is inverted
PAIR_QUANTILES = 48  # of the angle of two codes
CAP_QUANTILES = 24  # of a competitor's angle within a cap


@dataclasses.dataclass(frozen=True)
class GeometricPrediction:
    """What a setting recalls.

    `recall` of a whole query; `one_pass`, that of each of its passes alone; `std`, the standard deviation of recall
    from seed to seed; `causes`, the variance of one pass by cause.
    """

    setting: GeometricSetting
    recall: float
    one_pass: float
    std: float
    causes: dict[str, float]

    @property
    def passes(self) -> int:
        """Passes of a query."""
        return len(self.setting.word_lengths)

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory geometric predict`."""
        return {"schema_version": SCHEMA_VERSION, "law": LAW, "setting": self.setting.to_dict(),
                "predicted": {"recall": self.recall, "one_pass": self.one_pass, "std": {"recall": self.std}},
                "passes": self.passes, "variance": self.causes, "remarks": []}


def predict(setting: GeometricSetting) -> GeometricPrediction:
    """The expected recall over random bijections, codes, maps and noise; 1 for the exact construction without noise.

    A query of several passes goes on from what the last one answered: the formulas `geometric.chain`, and
    `geometric.chain.shared` for the passes of one seed being right together. Provenance: derived. Exact for one pass.

    >>> prediction = predict(GeometricSetting(N=100, R=4, d=64, code_length=16))
    >>> round(prediction.recall, 4), round(prediction.std, 4)
    (0.9154, 0.0153)
    """
    s = setting
    noise = s.noise_deviation
    if s.construction == "exact" and noise == 0:
        return GeometricPrediction(s, 1.0, 1.0, 0.0, {})
    if s.construction == "exact":
        one_pass = signs_recall(s.N, noise)  # digits, words and subjects are independent
        causes = {"own": one_pass * (1 - one_pass) / s.N / s.words}
    else:
        if s.precision is not None:  # coordinates are nearly normal, and what rounding adds is as good as noise
            power = s.noise**2 + (1 + s.noise**2) * noise_at(ROUNDED, s.precision)
            noise = math.sqrt(power * s.words / s.width)
        one_pass = superposition_recall(s.N, s.words, s.k, s.width, noise=noise)
        causes = variance_by_cause(s.N, s.words, s.k, s.width, noise)
    passes = len(s.word_lengths)
    variance = max(sum(causes.values()), 0.0)
    # Two passes ask two random facts of one seed: their average covariance is the variance of the seed's mean.
    recall = float(chain(one_pass, passes, s.N) + chain_shared(one_pass, passes, s.N, variance))
    std = _spread_of_chains(s.N, passes, one_pass, variance)
    return GeometricPrediction(s, min(max(recall, 0.0), 1.0), one_pass, std, causes)


def _spread_of_chains(N: int, h: int, one_pass: float, variance: float) -> float:
    """The deviation of the recall of h passes, 1/N + (1 - 1/N) y^h with y = (N p - 1)/(N - 1), where p is normal over
    seeds: to second order in its variance."""
    y, v = (N * one_pass - 1) / (N - 1), variance * (N / (N - 1)) ** 2
    first = h**2 * v * abs(y) ** (2 * h - 2)
    second = (h * (h - 1)) ** 2 / 2 + h**2 * (h - 1) * (h - 2)
    return (1 - 1 / N) * math.sqrt(first + second * v**2 * abs(y) ** max(2 * h - 4, 0))


def variance_by_cause(N: int, words: int, k: int, d: int, noise: float = 0.0) -> dict[str, float]:
    """The variance of one seed's recall by cause; their sum is at least 0. Sizes as for `superposition_recall`.

    >>> causes = variance_by_cause(100, 4, 16, 64)
    >>> round(math.sqrt(sum(causes.values())), 4)
    0.0153
    """
    if words == 1:
        p = superposition_recall(N, words, k, d, COARSE, noise=noise)
        codes = _variance_of_codes(N, words, k, d, noise) if noise > 0 else 0.0
        return {"own": p * (1 - p) / N, "codes": codes, "maps": 0.0, "subjects": 0.0}
    p, lead, longer, aligned = _sensitivities(N, words, k, d, noise)
    others = words - 1
    pairs, rest = words * others / 2, others * (words - 2) / 2
    together = 4 * pairs * (lead + longer * (words - 2)) ** 2
    alone = words * (others * lead**2 + 4 * rest * longer**2)
    causes: dict[str, float] = {
        "own": p * (1 - p) / N / words,
        "codes": _variance_of_codes(N, words, k, d, noise),
        "maps": 2 * others / words * aligned**2,
        "subjects": (together - alone) / (d * float(N) * words**2),
    }
    # Differences of leading orders; together they cannot take away more than queries by themselves give.
    causes["codes"] = max(causes["codes"], -causes["own"] / 4)
    causes["subjects"] = max(causes["subjects"], -causes["own"] / 2)
    return causes


def _sensitivities(N: int, words: int, k: int, d: int, noise: float) -> tuple[float, float, float, float]:
    """Recall, and its regression on the interference x of one query: its slopes in the component of x along the right
    code and in |x|^2, and its covariance with |B_w^T B_w'|^2 for one other word w', over the deviation of that."""
    others = words - 1
    x = interference(words, k, d, COARSE, noise)
    across = np.maximum(x.squared - x.along**2, 0)
    if d == k:  # nothing of x is hidden, and the maps have nothing to align
        turned = np.arctan2(np.sqrt(across), 1 + x.along)
        given_x = (1 - cap_probability(k, turned)) ** (N - 1)
        aligned = 0.0
    else:
        angles, chances = nearest_competitor(N, k)
        given_x = deflection_probability(x, k, d, angles) @ chances
        # n codes u, and noise, make up x; S is the sum of their squared components along x. With r the share of |x|^2
        # that is read, sum |B_w^T u|^2 is S r + (n - S)(k - r)/(d - 1) on average, given x and r.
        n, total = others, others + noise**2 * d
        relative = (2 * n * (n - 1) / d + 4 * n * noise**2 + 2 * d * noise**4) / total**2  # variance of |x|^2
        S = n / total * (x.squared / total + (n - 1) / d + noise**2 - relative)
        by_share, constant = (S * d - n) / (d - 1), (n - S) * k / (d - 1)
        across_read = across / x.squared
        of_winners = deflection_probability(x, k, d, angles, moment=1) @ chances  # of the share of what is across
        shares = x.along**2 / x.squared
        codes_read = by_share * (shares * given_x + across_read * of_winners) + constant * given_x
        mean = x.weights @ (by_share * (shares + across_read * (k - 1) / (d - 1)) + constant)
        covariance = float(x.weights @ codes_read - (x.weights @ given_x) * mean) / n * (d - k) / (d - 1)
        aligned = covariance / math.sqrt(2 * k**2 * (d - k) ** 2 / (d**2 * (d - 1) * (d + 2)))
    p = min(float(x.weights @ given_x), 1.0)
    lead = float((x.weights * x.along) @ given_x) / ((words - 1) / d + noise**2)
    deviation = x.squared - x.weights @ x.squared
    spread = float(x.weights @ deviation**2)
    longer = float((x.weights * deviation) @ given_x) / spread if words > 2 or noise > 0 else 0.0
    return p, lead, longer, aligned


def _variance_of_codes(N: int, words: int, k: int, d: int, noise: float) -> float:
    """The variance of recall that comes from where the codes lie, through pairs of them.

    One code alone tells nothing, by symmetry. Two at an angle theta change the recall of each other's attribute by
    `hurt` (they compete) and that of each of N - 2 others by `spared` (competitors that are close count for less than
    two).
    """
    angle = _deflection_quantiles(words, k, d, noise)
    cap = cap_probability(k, angle)
    theta = cap_angles(k, _midpoints(PAIR_QUANTILES)).radians
    inner = cap_angles(k, np.minimum(_midpoints(CAP_QUANTILES) * cap[:, None], 1 - 1e-12)).radians
    # For a competitor a at an angle beta of what is read: the chance that b, theta away from a, is in the cap too.
    second = _triangle_probability(k, angle[:, None, None], inner[:, :, None], theta)
    both = cap[:, None] * second.mean(axis=1)
    other = _triangle_probability(k, angle[:, None], angle[:, None], theta)
    alone = np.exp((N - 3) * np.log1p(-np.minimum(cap, 1 - 1e-16)))  # no competitor among the N - 3 others
    spared = (alone[:, None] * (both - both.mean(axis=1, keepdims=True))).mean(axis=0)
    hurt = -((alone * (1 - cap))[:, None] * (other - other.mean(axis=1, keepdims=True))).mean(axis=0)
    pairs = (N - 1) / 2 / N * float(np.var(2 * hurt + (N - 2) * spared))
    # What queries for one attribute share is in `own` once for each of them.
    return pairs - (N - 1) / N / words * float(np.var(hurt))


def _midpoints(count: int) -> FloatArray:
    """The levels of `count` equally likely quantiles."""
    return (np.arange(count) + 1 / 2) / count


def _deflection_quantiles(words: int, k: int, d: int, noise: float) -> FloatArray:
    """Quantiles of the angle by which interference turns a code."""
    typical = math.atan(math.sqrt(((words - 1) / d + noise**2) * (k - 1)))
    theta = np.geomspace(typical / 100, math.pi, DEFLECTION_GRID)
    x = interference(words, k, d, COARSE, noise)
    law = x.weights @ deflection_probability(x, k, d, Angles(np.sin(theta) ** 2, theta > math.pi / 2))
    law = np.maximum.accumulate(law) + 1e-12 * np.arange(DEFLECTION_GRID)
    return np.interp(_midpoints(DEFLECTION_QUANTILES), law, theta)


def _triangle_probability(k: int, cap: FloatArray, beta: FloatArray, theta: FloatArray) -> FloatArray:
    """The chance that a direction at an angle theta of one that is beta away from the centre is within the cap: a
    spherical triangle whose third angle is random."""
    from scipy.special import betainc

    with np.errstate(divide="ignore", invalid="ignore"):
        least = (np.cos(cap) - np.cos(beta) * np.cos(theta)) / (np.sin(beta) * np.sin(theta))
    least = np.clip(np.nan_to_num(least), -1, 1)
    if k == 2:  # of two directions one, at either side
        return np.select([least >= 1, least <= -1], [0.0, 1.0], 1 / 2)
    beyond = betainc((k - 2) / 2, 1 / 2, 1 - least**2) / 2
    return np.where(least < 0, 1 - beyond, beyond)
