"""The one-step reading: what Val1, the first gradient step, recalls when asked with a token's embedding.

logits_j = z_out(j)^T Val1 z_in(k) = z_out(j).Y with Y = sum_y theta_y z_out(y) and, in units of eta/(N L),

    theta_y = X_y - mean X,  X_y = n_y (1[y=k] s + A) + M_yk s + n_y o_y + noise tokens' overlaps,

s = |z_k|^2, n_y the label counts, M_yk how often token k is noise at label y, A = (e z_trig + (L-1) zbar).z_k
what all labels share (trigger and mean embedding), o_y = z_y.z_k. Proofs: docs/derivations/one_step.md.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.special import gammaln, ndtr

from ..numerics.arrays import TINY, FloatArray
from ..numerics.forced_choice import forced_choice_inverse
from ..numerics.quadrature import gauss_charlier, gauss_hermite
from ..numerics.unit_sphere import score_of_coordinate, skewed_of_score, wallace_scale
from .domain import not_checked
from .formulas.generic import log
from .formulas.registry import Row, formula

_WHERE = "docs/derivations/one_step.md"
_noise: Row = functools.partial(formula, reference=_WHERE, regime="one-step reading; V, d large",
                                unit="(noise/signal)^2")
MOST_COUNTS = 1000  # counts told apart in one sum
TRIGGER_NODES = 16  # even: at an overlap of exactly nought counts would tie that never do
COUNT_END = 6  # standard deviations of a count that the sums run over
LABEL_NODES = 10  # Gauss nodes over a label's count
NOISE_NODES = 5  # and over how often the token asked for is noise at that label
LOWEST, HIGHEST = 5, 9  # a score below -5 never wins, one above 9 always does
BEYOND_TERMS = 3  # times the samples that the terms ask for: about what it takes. It acts on the time of a search alone
MOST_RAISED = 8  # times the samples that interference at most adds to that guess
LEAST_V = 64  # from which the law was compared with simulation
BELOW_LEAST = {16: 0.05, 2: 0.25}  # error to expect below it, by the least V
THRESHOLDS = 64  # nodes over a competitor's score
LIFTS = 8  # nodes over the competitors' share in the winner's direction


# --- the noise, term by term ------------------------------------------------------------------------

sampling = _noise(  # overlaps of the L - 1 noise tokens with the token asked for
    "one_step.sampling", "Noise tokens stored with the label", limits="V^2 L/(N d^2): the leading term at N << V L")(
    lambda V, L, d, N: V**2 * (L - 1) / (N * d**2))
own_noise_token = _noise("one_step.own_noise_token", "The token itself, as noise at other labels")(
    lambda V, L, d, N: V * (L - 1) * (1 + (L - 1) / V) / (N * d))
interference = _noise("one_step.interference", "Interference of the V stored facts")(
    lambda V, d, N: V * (1 + V / N) / d**2)
trigger_overlap = _noise("one_step.trigger_overlap", "The trigger that all values share")(
    lambda V, d, N, e: e * V**2 / (N * d**2))
mean_embedding = _noise("one_step.mean_embedding", "The mean embedding that all noise shares")(
    lambda V, L, d, N: V * (L - 1) ** 2 / (N * d**2))
one_step_law = formula(
    "one_step.law", "Least N for almost all facts by one step", reference=_WHERE, regime="N << V L; L << V; d << V",
    limits="multiplicative in N, d^2 and 1/L")(lambda V, L, d: 2 * V**2 * L * log(V) / d**2)


def one_step_terms(V: ArrayLike, L: ArrayLike, d: ArrayLike, N: ArrayLike, embedding: str = "gaussian",
                   trigger_in_value: bool = True) -> dict[str, FloatArray]:
    """Named contributions (B,) to (noise/signal)^2 of the one-step reading.

    With orthogonal embeddings only the token's own counts are left, and only the labels' own counts compete.
    """
    v, length, dim, n = _sizes(V, L, d, N)
    e = int(trigger_in_value)
    if embedding == "orthogonal":
        rho = (length - 1) / v
        inside = (dim <= v) / v
        return {"own count": (1 + rho) * v / n, "noise token": (1 + rho) * rho * v / n,
                "trigger overlap": e * inside * v / n}
    return {"sampling": sampling(v, length, dim, n), "noise token": own_noise_token(v, length, dim, n),
            "interference": interference(v, dim, n), "trigger overlap": trigger_overlap(v, dim, n, e),
            "mean embedding": mean_embedding(v, length, dim, n)}


def one_step_samples(V: int, L: int, d: int, target: float, *, noise: float = 0) -> float:
    """About the N at which the one-step reading recalls a share `target`, with Gaussian embeddings and `noise` as in
    `one_step_recall`: from the terms as Gaussian noise, for a search to start from.

    >>> round(one_step_samples(64, 16, 64, 0.9, noise=1))
    2916
    """
    in_limit, of_one = (sum(one_step_terms(V, L, d, N).values()) + noise * sampling(V, L, d, N) for N in (np.inf, 1.0))
    allowed = max(float(forced_choice_inverse(target, V)), 1.0) ** -2
    left = max(allowed - float(in_limit[0]), allowed / MOST_RAISED)
    return max(1.0, BEYOND_TERMS * float((of_one - in_limit)[0]) / left)


def remarks(V: int) -> tuple[str, ...]:
    """Why a reading was not checked and the error to expect; nothing from `LEAST_V` on.

    >>> remarks(64)
    ()
    """
    if V >= LEAST_V:
        return ()
    error = next(error for least, error in BELOW_LEAST.items() if V >= least)
    return not_checked([f"V = {V} is below {LEAST_V}, from where on reading one gradient was compared with simulation; "
                        "predictions are too low there, most often"], error)


# --- the law of recall --------------------------------------------------------------------------------

def one_step_recall(V: ArrayLike, L: ArrayLike, d: ArrayLike, N: ArrayLike, embedding: str = "gaussian",
                    trigger_in_value: bool = True, *, noise: float = 0) -> FloatArray:
    """Expected fraction (B,) of facts that the first gradient step alone recalls.

    V >= 2, L >= 1, d >= 1 (d >= V if orthogonal), N >= 1 broadcast. `embedding` as in `Setting`. `noise` is the
    variance of Gaussian noise added to the gradient, in units of what the noise tokens give it (not for
    orthogonal embeddings). Derived in docs/derivations/one_step.md, to 0.02 for V of `LEAST_V` and more;
    `remarks` say what holds below.

    >>> one_step_recall(128, 8, 64, [512, 8192]).round(2)
    array([0.34, 0.85])
    """
    if noise < 0 or (noise > 0 and embedding == "orthogonal"):
        raise ValueError(f"noise={noise!r} is not a number of at least 0, which orthogonal embeddings have to be")
    sizes = _sizes(V, L, d, N)
    readings = [Reading(v, length, dim, n, int(trigger_in_value), embedding, noise)
                for v, length, dim, n in zip(*(x.ravel().tolist() for x in sizes), strict=True)]
    return np.array([reading.recall() for reading in readings]).reshape(sizes[0].shape)


def _sizes(*sizes: ArrayLike) -> list[FloatArray]:
    return list(np.broadcast_arrays(*(np.atleast_1d(np.asarray(x, dtype=float)) for x in sizes)))


def _gamma(z: FloatArray, variance: ArrayLike) -> FloatArray:
    """A gamma variable of mean 1 and that variance at the normal quantile z, at least 0."""
    deviation = np.sqrt(variance)
    return np.maximum(1 + deviation * skewed_of_score(z, 2 * deviation), 0)


@dataclasses.dataclass(frozen=True)
class Reading:
    """One reading: sizes, 1 or 0 for the trigger in the values, embeddings, and the noise added to the gradient."""

    V: float
    L: float
    d: float
    N: float
    e: int
    embedding: str
    noise: float

    def recall(self) -> float:
        """Gaussian and sphere: an average over s, A, the competitors' total and the winner's own noise."""
        if self.embedding == "orthogonal":
            return _orthogonal(self.V, self.L, self.d, self.N, self.e)
        z, ws = (np.zeros(1), np.ones(1)) if self.embedding == "sphere" else gauss_hermite(3, symmetric=True)
        s = np.ones(1) if self.embedding == "sphere" else np.maximum(_gamma(z, 2 / self.d), np.finfo(float).eps)
        spread = np.sqrt(s / self.d * (self.e + (self.L - 1) ** 2 / self.V))
        x, wx = gauss_hermite(5, symmetric=True)
        return min(1.0, sum(float(ws[i] * wx[j]) * self.given_shared(float(s[i]), float(spread[i] * x[j]))
                            for i, j in np.ndindex(len(s), len(x))))

    @functools.cached_property
    def counts(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Nodes and weights of a label's count (n,), and of how often the token asked for is noise there (n, m)."""
        lam, rho = self.N / self.V, (self.L - 1) / self.V
        n, wn = gauss_charlier(lam, LABEL_NODES)
        return n, wn, *gauss_charlier(rho * n, NOISE_NODES)

    def given_shared(self, s: float, shared: float) -> float:
        """Recall given s = |z_k|^2 and what all labels share."""
        V, L, d, lam, rho = self.V, self.L, self.d, self.N / self.V, (self.L - 1) / self.V
        added = self.noise * lam * (L - 1)  # to each label as so many more noise tokens, but Gaussian
        n, wn, m, wm = self.counts
        mean = ((n - lam) * shared)[:, None] + (m - lam * rho) * s
        variance = ((n * (n + L - 1) + added) * s / d + added * s * s / V)[:, None] + 0 * mean
        weight = wn[:, None] * wm
        mean, variance, weight = mean.ravel(), variance.ravel(), weight.ravel()
        second = float(weight @ (mean**2 + variance))
        fourth = float(weight @ (mean**4 + 6 * mean**2 * variance + 3 * variance**2))
        # The winner's own coefficient theta: counts n, and 5 nodes of the overlaps of its noise tokens.
        x, wx = gauss_hermite(5, symmetric=True)
        own_mean = n * s * (1 - 1 / V) + (n - lam) * (shared + rho * s)
        own_sd = np.sqrt((n * (L - 1) + added) * s * (s / V + 1 / d))
        theta = (own_mean[:, None] + own_sd[:, None] * x).ravel()
        w_theta = (wn[:, None] * wx).ravel()
        q, wq = gauss_hermite(3, symmetric=True)
        second *= 1 - 1 / V  # about the mean of all labels, which is subtracted
        rivals = (V - 1) * second * _gamma(q, np.clip((fourth / second**2 - 1) / V, 0, 1))
        z, wz = gauss_hermite(11, symmetric=True)
        chi, wc = gauss_hermite(3, symmetric=True)
        theta, rivals, z = theta[:, None, None, None], rivals[:, None, None], z[:, None]
        weights = w_theta[:, None, None, None] * wq[:, None, None] * wz[:, None] * wc
        if self.embedding == "sphere":
            rest = max(d - 1, 1) * _gamma(chi, 2 / max(d - 1, 1))
            own = theta + np.sqrt(rivals / d) * z
            length = np.sqrt(np.maximum((own**2 + rivals * rest / d) / d, TINY))
            lead = own / length
            lift = ((z**2 + rest) / d + theta * z / np.sqrt(rivals * d)) / length
        else:
            norm = np.sqrt(d * _gamma(chi, 2 / d))
            both = np.sqrt(rivals + theta**2)
            lead = (norm * theta + np.sqrt(rivals) * z) / both
            lift = (norm - theta * z / np.sqrt(rivals)) / both
        # In units of the competitors' spread: lift * theta_j is what a competitor has of its own. The coefficients sum
        # to zero, so that competitors have -theta/(V - 1) each: as if the lead were higher.
        lead, lift = lead + lift * theta / (V - 1), lift * np.sqrt(second)
        wins = self.none_above(lead, lift, mean / np.sqrt(second), variance / second, weight)
        return float((wins * weights).sum())

    def none_above(self, lead: FloatArray, lift: FloatArray, mean: FloatArray, variance: FloatArray,
                   weight: FloatArray) -> FloatArray:
        """Probability that a score `lead` beats V - 1 independent ones of lift * theta_j + unit noise: a table over
        both, interpolated linearly."""
        low, high = float(lift.min()), float(lift.max())
        g = np.linspace(low, max(high, low + TINY), LIFTS)[:, None, None]
        widest = float(np.sqrt(1 + (g**2 * (mean**2 + variance)).max()))
        a = np.linspace(max(float(lead.min()), -LOWEST), max(min(float(lead.max()), HIGHEST * widest), 1 - LOWEST),
                        THRESHOLDS)[:, None]
        sd = np.sqrt(g**2 * variance + np.maximum(1 - (mean**2 + variance) / self.V, TINY))
        # On the sphere a score is |Y| times a coordinate of a unit vector, tilted by theta_j: never above |Y|.
        sphere = self.embedding == "sphere"
        threshold = score_of_coordinate(a / np.sqrt(self.d), wallace_scale(self.d)) if sphere else a
        above = ndtr((g * mean - threshold) / sd) @ weight  # (LIFTS, THRESHOLDS)
        wins = np.exp((self.V - 1) * np.log1p(-np.minimum(above, 1 - np.finfo(float).eps)))
        places = (lift - low) / max(high - low, TINY) * (LIFTS - 1), (lead - a[0, 0]) / (a[1, 0] - a[0, 0])
        return scipy.ndimage.map_coordinates(wins, np.broadcast_arrays(*places), order=1, mode="nearest")


def _orthogonal(V: float, L: float, d: float, N: float, e: int) -> float:
    """Counts alone: n_k + M_kk against M_jk, and n_j t_k beside it where the trigger is in the span."""
    lam, rho = N / V, (L - 1) / V
    gap = max(1, int(np.sqrt(lam) / 4))
    n = gap * np.arange(int(max(0, lam - COUNT_END * np.sqrt(lam)) / gap),
                        int((lam + COUNT_END * np.sqrt(lam) + COUNT_END) / gap) + 2)
    wn = np.exp(n * np.log(lam) - lam - gammaln(n + 1))
    wn = wn / wn.sum()
    inside = e == 1 and d == V
    x, wx = gauss_hermite(TRIGGER_NODES, symmetric=True) if inside else (np.zeros(1), np.ones(1))
    reach = 2 * COUNT_END * (np.sqrt(lam * rho * (1 + rho)) + 1)
    low, top = max(0, lam * rho - reach), lam * rho + reach
    step = max(1, int(np.sqrt(lam * rho) / 4), int((top - low) / MOST_COUNTS))
    m = step * np.arange(int(low / step), int(top / step) + 2)
    rate = np.maximum(rho * n, TINY)[:, None]  # law (n, M) of M given n
    if step == 1:
        law = np.exp(m * np.log(rate) - rate - gammaln(m + 1))
    else:
        law = ndtr((m + step / 2 - rate) / np.sqrt(rate)) - ndtr((m - step / 2 - rate) / np.sqrt(rate))
    law = law / np.maximum(law.sum(axis=1, keepdims=True), TINY)
    counts = (wn[:, None] * law).ravel()
    total = 0.0
    for xi, wi in zip(x, wx, strict=True):
        t = float(xi) / np.sqrt(V)
        value = (m + t * n[:, None]).ravel()
        own = (n[:, None] * (1 + t) + m).ravel()
        order = np.argsort(value, kind="stable")
        value, cumulative = value[order], np.concatenate([[0], np.cumsum(counts[order])])
        slack = step / 2 if step > 1 else np.finfo(float).eps * top
        below = cumulative[np.searchsorted(value, own - slack, side="left")]
        upto = cumulative[np.searchsorted(value, own + slack, side="right")]
        equal = np.maximum(upto - below, 0)
        upto = np.minimum(upto, 1)
        tied = np.where(equal * V > TINY, (upto**V - below**V) / np.maximum(V * equal, TINY), upto ** (V - 1))
        total += wi * float(counts @ tied)
    return min(total, 1.0)
