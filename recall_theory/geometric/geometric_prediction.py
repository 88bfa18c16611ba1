"""The recall that is predicted for a geometric setting, and its variance from seed to seed.

X is 1 where a query (subject s, word r) is answered rightly. The N words of them are not independent:

own       a query by itself, p (1 - p);
codes     where the codes lie is shared by all queries: two that are close hurt one another, and spare others;
maps      how well two of the maps are aligned is shared by all subjects;
subjects  <B_r c, B_q c'> disturbs r and q of one subject alike, and lengthens what disturbs its other relations.

Maps and subjects hold at all sizes but for terms smaller by 1/words, codes to leading order in 1/N. Queries of several
passes share facts besides. Derivation: docs/derivations/geometric.md.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from scipy.special import betainc

from ..numerics.arrays import TINY, FloatArray
from ..numerics.formatting import SCHEMA_VERSION
from ..numerics.quadrature import gauss_beta, gauss_coordinate, gauss_gamma
from ..numerics.quantiser import direction_kept
from ..numerics.unit_sphere import RandomWalk, cap_probability, read_length_rule, rule_of_sum
from ..theory.accuracy import LAW
from ..theory.domain import not_checked
from ..theory.formulas.geometric_laws import chain, chain_shared
from .geometric_setting import ROUNDED, GeometricSetting
from .geometric_simulation import IntArray
from .superposition import (
    COARSE,
    cap_angle,
    deflection_probability,
    interference,
    recall_at,
    recall_given,
    signs_recall,
    superposition_recall,
)

DEFLECTION_QUANTILES = 16  # of the angle by which interference turns a code
DEFLECTION_GRID = 120  # angles at which the law of that angle is inverted
PAIR_QUANTILES = 48  # of the angle of two codes
CAP_QUANTILES = 24  # of a competitor's angle within a cap
MAP_ORDERS = 8  # nodes of the share that a pair of maps has in common, and one more than the orders summed
MAP_NODES = 10  # of the length of what is read beside it, and of the angle between the two
MAP_GUMBEL_STEP = 1 / 4  # of the nearest competitor there: averages over lengths leave no corners
CHAIN_NODES = 24  # at most, of what all passes of a seed share

SPARE_BITS = 8  # of a rounded embedding beyond log2 N, below which subjects share roundings, or nearly
BEYOND_SPARE = 0.15  # the error to expect then


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
    def remarks(self) -> tuple[str, ...]:
        """Where the law is not known to hold: why, and the error to expect."""
        return remarks(self.setting)

    @property
    def passes(self) -> int:
        """Passes of a query."""
        return len(self.setting.word_lengths)

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory geometric predict`."""
        return {"schema_version": SCHEMA_VERSION, "law": LAW, "setting": self.setting.to_dict(),
                "predicted": {"recall": self.recall, "one_pass": self.one_pass, "std": {"recall": self.std}},
                "passes": self.passes, "variance": self.causes, "remarks": list(self.remarks)}


def remarks(setting: GeometricSetting) -> tuple[str, ...]:
    """Why predictions were not checked at a setting and the error to expect; nothing where they were.

    >>> remarks(GeometricSetting(N=100, R=4, d=16, code_length=8, precision=1))
    ()
    """
    s = setting
    if s.precision is None or s.precision * s.width >= math.log2(s.N) + SPARE_BITS:
        return ()
    return not_checked([f"precision = {s.precision} times d = {s.width} is less than log2 N + {SPARE_BITS}, and "
                        "subjects may be rounded alike"], BEYOND_SPARE)


def predict(setting: GeometricSetting) -> GeometricPrediction:
    """The expected recall over random bijections, codes, maps and noise; 1 for the exact construction without noise.

    A query of several passes goes on from what the last one answered: the formulas `geometric.chain`, and
    `geometric.chain.shared` for the passes of one seed being right together. Provenance: derived. Exact for one pass.

    >>> prediction = predict(GeometricSetting(N=100, R=4, d=64, code_length=16))
    >>> round(prediction.recall, 4), round(prediction.std, 4)
    (0.9154, 0.0153)
    """
    s, noise = setting, setting.noise_deviation
    if s.construction == "exact" and noise == 0:
        return GeometricPrediction(s, 1.0, 1.0, 0.0, {})
    if s.construction == "exact":
        one_pass = signs_recall(s.N, noise)  # digits, words and subjects are independent
        causes = {"own": one_pass * (1 - one_pass) / s.N / s.words}
    else:
        one_pass = superposition_recall(s.N, s.words, s.k, s.width, noise=noise, precision=s.precision)
        if s.precision is not None:  # over seeds, what rounding adds is as good as noise
            kept, _ = direction_kept(np.array([ROUNDED]), s.precision, s.width)
            power = s.noise**2 + (1 + s.noise**2) * max(math.expm1(-kept[0]), 0)
            noise = math.sqrt(power * s.words / s.width)
        causes = variance_by_cause(s.N, s.words, s.k, s.width, noise)
        if s.precision is not None:
            causes["own"] = one_pass * (1 - one_pass) / s.N / s.words
    passes, variance = len(s.word_lengths), max(sum(causes.values()), 0.0)
    # Two passes ask two random facts of one seed: their average covariance is the variance of the seed's mean.
    recall = float(chain(one_pass, passes, s.N) + chain_shared(one_pass, passes, s.N, variance))
    std = math.sqrt(variance) if passes == 1 else _deviation_of_chains(s, one_pass, causes)
    return GeometricPrediction(s, min(max(recall, 0.0), 1.0), one_pass, std, causes)


def _deviation_of_chains(s: GeometricSetting, one_pass: float, causes: dict[str, float]) -> float:
    """The deviation of the recall of several passes from seed to seed.

    Codes and maps are shared by all facts: over seeds the recall of a pass has a Beta law of their variance. Given it,
    facts are right independently, but for those of one subject, and queries vary together where their paths meet.
    """
    own, passes = one_pass * (1 - one_pass), len(s.word_lengths)
    if own == 0:
        return 0.0
    p, weights = np.array([one_pass]), np.ones(1)
    shared = causes.get("codes", 0.0) + causes.get("maps", 0.0)
    if 0 < shared < own:
        strength = own / shared - 1
        # The variance is a polynomial of twice as many degrees.
        p, weights = gauss_beta(one_pass * strength, (1 - one_pass) * strength, min(passes + 1, CHAIN_NODES))
    correlation = causes.get("subjects", 0.0) * s.N * s.words / max(s.words - 1, 1) / own
    within = weights @ variance_of_paths(s.word_lengths, s.N, s.R, p, correlation)
    means = chain(p, passes, s.N)
    return math.sqrt(max(float(within + weights @ (means - weights @ means) ** 2), 0.0))


def variance_of_paths(lengths: tuple[int, ...], N: int, R: int, p: FloatArray, correlation: float = 0.0) -> FloatArray:
    """The variance of the fraction of right queries, all subjects and words, where facts are right independently.

    Two queries share facts where one comes to a subject at which the other is, too, and both ask the same relations
    from there on. `lengths` are the relations asked in each pass, `p` the recall of one pass (n,), `correlation` that
    of two facts of one subject. Returns (n,). Provenance: derived, docs/derivations/geometric.md; paths that meet twice
    are left out, of relative order 1/N.

    >>> round(float(variance_of_paths((1,), 50, 4, np.array([0.5]))[0]), 6)   # p (1 - p)/(N R)
    0.00125
    >>> round(float(variance_of_paths((1, 1), 50, 4, np.array([0.5]))[0]), 6)
    0.001309
    """
    passes, wrong = len(lengths), 1 - p
    decay = ((N * p - 1) / (N - 1)) ** np.arange(passes + 1)[:, None]
    # The chance of being right after so many passes, from a wrong subject and from a right one: (2, passes + 1, n).
    after = np.stack([(1 - decay) / N, 1 / N + (1 - 1 / N) * decay])
    back, nothing = wrong / (N - 1), 0 * p
    stay = 1 - back
    # Both right, the first, the second, both at one wrong subject, at two: the chance of each (rows) a pass after each.
    step = np.array([[p, p * back, p * back, back, back**2],
                     [nothing, p * stay, wrong * back, nothing, back * stay],
                     [nothing, wrong * back, p * stay, nothing, back * stay],
                     [wrong, nothing, nothing, stay, nothing],
                     [nothing, wrong * stay, wrong * stay, nothing, stay**2]])
    first_right, second_right = [1, 1, 0, 0, 0], [1, 0, 1, 0, 0]
    relations = np.append(lengths, np.zeros(passes + 1, int))

    def come_apart(one: IntArray, other: IntArray) -> FloatArray:
        """The chance that pass number `one` of a query and `other` of another one ask different words."""
        return np.where(relations[one] == relations[other], 1 - float(R) ** -relations[one], 1.0)

    # Two queries are at one subject after `one` and `other` passes, each right or wrong; then they share passes.
    one, other = np.indices((passes + 1, passes + 1))
    right, right_other = after[1][one], after[1][other]
    both, first, second = right * right_other, right * (1 - right_other), (1 - right) * right_other
    state = np.stack([both, first, second, 0 * both, 1 - both - first - second])
    weight = np.where((one > 0) & (other > 0), come_apart(one - 1, other - 1), 1.0) / N
    total = np.zeros_like(p)
    while weight.any():
        left, left_other = np.maximum(passes - one, 0), np.maximum(passes - other, 0)
        go_on = (left > 0) & (left_other > 0)
        ends = (state * after[first_right][:, left] * after[second_right][:, left_other]).sum(axis=0)
        parting = decay[np.maximum(left - 1, 0)] * decay[np.maximum(left_other - 1, 0)] * p * wrong
        ends += np.where(go_on, correlation, 0)[..., None] * state[0] * parting
        parted = np.where(go_on, come_apart(one, other), 1.0)
        total += np.tensordot(weight * parted, ends - after[1][passes] ** 2)
        state = np.einsum("ijn,j...n->i...n", step, state)
        weight = np.where(go_on, weight * (1 - parted), 0)
        one, other = one + 1, other + 1
    return total


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
    p, lead, longer = _sensitivities(N, words, k, d, noise)
    others = words - 1
    pairs, rest = words * others / 2, others * (words - 2) / 2
    # What all words of a subject share: overlaps of two codes, noise along each code, and the length of the noise.
    together = (4 * pairs / d * (lead + longer * (words - 2)) ** 2
                + words * noise**2 * (lead + 2 * longer * others) ** 2 + 2 * d * noise**4 * (words * longer) ** 2)
    alone = words * (others / d * lead**2 + 4 * rest / d * longer**2 + noise**2 * (lead**2 + 4 * others * longer**2)
                     + 2 * d * noise**4 * longer**2)
    own = p * (1 - p) / N / words
    # Differences of leading orders; together they cannot take away more than queries by themselves give.
    return {"own": own, "codes": max(_variance_of_codes(N, words, k, d, noise), -own / 4),
            "maps": _variance_of_maps(N, words, k, d, noise),
            "subjects": max((together - alone) / (float(N) * words**2), -own / 2)}


def _sensitivities(N: int, words: int, k: int, d: int, noise: float) -> tuple[float, float, float]:
    """Recall, and its regression on the interference x of one query: its slopes in the component of x along the right
    code and in |x|^2."""
    x = interference(words, k, d, COARSE, noise)
    given_x = recall_at(x, N, k, d)
    lead = float((x.weights * x.along) @ given_x) / ((words - 1) / d + noise**2)
    deviation = x.squared - x.weights @ x.squared
    spread = float(x.weights @ deviation**2)
    longer = float((x.weights * deviation) @ given_x) / spread if words > 2 or noise > 0 else 0.0
    return min(float(x.weights @ given_x), 1.0), lead, longer


def _variance_of_maps(N: int, words: int, k: int, d: int, noise: float) -> float:
    """The variance of recall that comes from how the maps of each pair of words are aligned.

    u is what one other word adds to x. Recall given |B^T u|^2, a Beta variable, is a series in its orthogonal
    polynomials; the mean of one of them over all u of a map has the share `kept` of its variance.
    """
    if d == k:  # nothing is hidden
        return 0.0
    squared, weights = gauss_beta(k / 2, (d - k) / 2, MAP_ORDERS)
    given_u = _recall_given_read(N, words, k, d, noise, squared)
    # Orthonormal polynomials at their own Gauss nodes, the constant first.
    scaled, root = 2 * (squared - squared[0]) / np.ptp(squared) - 1, np.sqrt(weights)
    basis, _ = np.linalg.qr(root[:, None] * np.polynomial.chebyshev.chebvander(scaled, MAP_ORDERS - 1))
    series = basis.T @ (root * given_u)
    m = np.arange(MAP_ORDERS - 1)
    kept = np.cumprod((d - k + 2 * m) * (1 + 2 * m) / ((d - 1 + 2 * m) * (k + 2 * m)))
    return 2 * (words - 1) / words * float(kept @ series[1:] ** 2)


def _recall_given_read(N: int, words: int, k: int, d: int, noise: float, squared: FloatArray) -> FloatArray:
    """Recall where one other code is read with each of these squared lengths (n,); the rest of x and noise are random.
    """
    rest = read_length_rule(words - 2, k, d, COARSE.lengths, MAP_NODES) if words > 2 else None
    if noise > 0:
        chi, chi_weights = gauss_gamma(2 / k, MAP_NODES)
        gaussian = noise**2 * k * chi, chi_weights
        rest = gaussian if rest is None else rule_of_sum(rest, gaussian, k, MAP_NODES)
    total, weights, step = squared[:, None], np.ones(1), None
    if rest is not None:
        u, u_weights = gauss_coordinate(k, MAP_NODES, least=2)
        alone, others = squared[:, None, None], rest[0][:, None]
        total = np.maximum(alone + others + 2 * np.sqrt(alone * others / k) * u, TINY).reshape(len(squared), -1)
        weights, step = (rest[1][:, None] * u_weights).ravel(), MAP_GUMBEL_STEP
    # What is read has a uniform direction of R^k, as if maps were onto.
    read = RandomWalk(total.ravel(), np.zeros(total.size), np.ones(total.size))
    return recall_given(read, N, k, k, step).reshape(total.shape) @ weights


def _variance_of_codes(N: int, words: int, k: int, d: int, noise: float) -> float:
    """The variance of recall that comes from where the codes lie, through pairs of them.

    One code alone tells nothing, by symmetry. Two at an angle theta change the recall of each other's attribute by
    `hurt` (they compete) and that of each of N - 2 others by `spared` (competitors that are close count for less than
    two).
    """
    angle = _deflection_quantiles(words, k, d, noise)
    cap = cap_probability(k, angle)
    theta = cap_angle(k, _midpoints(PAIR_QUANTILES))
    inner = cap_angle(k, np.minimum(_midpoints(CAP_QUANTILES) * cap[:, None], 1 - 1e-12))
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
    law = np.maximum.accumulate(x.weights @ deflection_probability(x, k, d, theta))
    return np.interp(_midpoints(DEFLECTION_QUANTILES), law + 1e-12 * np.arange(DEFLECTION_GRID), theta)


def _triangle_probability(k: int, cap: FloatArray, beta: FloatArray, theta: FloatArray) -> FloatArray:
    """The chance that a direction at an angle theta of one that is beta away from the centre is within the cap: a
    spherical triangle whose third angle is random."""
    with np.errstate(divide="ignore", invalid="ignore"):
        least = (np.cos(cap) - np.cos(beta) * np.cos(theta)) / (np.sin(beta) * np.sin(theta))
    least = np.clip(np.nan_to_num(least), -1, 1)
    if k == 2:  # of two directions one, at either side
        return np.select([least >= 1, least <= -1], [0.0, 1.0], 1 / 2)
    beyond = betainc((k - 2) / 2, 1 / 2, 1 - least**2) / 2
    return np.where(least < 0, 1 - beyond, beyond)
