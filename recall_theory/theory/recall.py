"""Recall and end-to-end accuracy, averaged over seeds, with their spread from seed to seed.

`recall.node` holds recall at a given seed (tau, snr). It is smooth in both, so that it is computed on a small grid
and interpolated to the nodes of attention's seed law. The variance over seeds is that between nodes and the
facts' scatter at a node (`recall.scatter`). docs/derivations/recall.md has the derivation.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .fact import facts
from .formulas import recall_formulas as rt
from .recall_given_seed import compete
from .seed import SeedLaw, attention_given, token_scatter
from .seed_variance import scatter, wrong_answers
from .training_attention import SPECK, TINY, Classes, Seeds, classes

__all__ = ["recall_and_accuracy", "recall_terms"]

FloatArray = NDArray[np.float64]

SURE = 1 / 100_000  # attention is taken as 1 where this little of a label's count is missed
FACT_SCORES = (20, 12)  # nodes over a fact's own attention score, without and with the trigger in the values
OWN, COUNTS = 20, 24  # nodes over counts at sure attention
FEWER_SCORES = ((1 / 1000, 3), (1 / 40, 6))  # where attention misses less than this: so many nodes
TOGETHER = 8  # settings computed at a time where attention is sure; else each has a quadrature of its own
POINTS = (4, 10)  # least and most points over the snr
PER_POINT = 7 / 8  # of the snr, between points
LIGHT = 1 / 10_000_000  # nodes of the seed law that weigh less do not widen the grid
WIDE = 32  # times V: larger d acts as this one, embeddings being all but orthogonal
NEARBY = 1 / 1000  # the least width of the grid over the snr
BEYOND = 9 / 2  # an snr that exceeds sqrt(2 ln L) by this attends surely


@dataclasses.dataclass(frozen=True)
class Values:
    """What the nodes yield, in any shape: recall, E[share recall], accuracy from wrong picks, scatter of recall."""

    recall: FloatArray
    attended: FloatArray
    wrong: FloatArray
    within: FloatArray

    def stack(self) -> FloatArray:
        return np.stack([self.recall, self.attended, self.wrong, self.within])


def values(seeds: Seeds, scores: int) -> Values:
    """Recall and what goes with it at each row's node, (R,); `scores` nodes over a fact's own, 0 at sure attention."""
    if scores == 0:
        zero, one = np.zeros((len(seeds.V), 1)), np.ones((len(seeds.V), 1))
        free = dataclasses.replace(seeds, snr=zero[:, 0], L=one[:, 0], skew=zero[:, 0], excess=zero[:, 0])
        node = compete(free, Classes(one, one, zero, zero, zero, one), facts(free, 1), n_above=1,
                       n_own=OWN, n_count=COUNTS)
        return Values(node.recall, node.attended, zero[:, 0], scatter(free, node))
    groups = classes(seeds)
    node = compete(seeds, groups, facts(seeds, scores), n_above=4 - seeds.e)
    return Values(node.recall, node.attended, wrong_answers(seeds, groups), scatter(seeds, node))


# --- interpolation over seeds ---------------------------------------------------------------------------

def chebyshev(low: FloatArray, high: FloatArray, n: int) -> FloatArray:
    """n points (B, n) from low to high, denser at the ends."""
    u = (1 - np.cos(np.pi * np.arange(n) / (n - 1))) / 2
    return np.asarray(low[:, None] + (high - low)[:, None] * u)


def barycentric(x: FloatArray, points: FloatArray) -> FloatArray:
    """Weights (B, K, n) of the interpolating polynomial through `points` (B, n), at x (B, K)."""
    gap = x[:, :, None] - points[:, None, :]
    own = points[:, :, None] - points[:, None, :]
    n = points.shape[1]
    span = np.maximum(points[:, -1] - points[:, 0], TINY)[:, None]  # keeps the products in range
    factor = 1 / np.prod(own / span[:, :, None] + np.eye(n), axis=-1)
    hit = np.abs(gap) < SPECK * span[:, :, None]
    ratio = factor[:, None, :] / np.where(hit, 1, gap)
    weight = ratio / ratio.sum(-1, keepdims=True)
    exact = hit / np.maximum(hit.sum(-1, keepdims=True), 1)
    return np.asarray(np.where(hit.any(-1, keepdims=True), exact, weight))


def _taus(law: SeedLaw, e: int) -> FloatArray:
    """(B, T): values of tau that the grid takes; without the trigger in the values tau acts through the snr."""
    first = law.tau[:, :1]
    runs = 1 + np.flatnonzero((np.diff(law.tau, axis=1) != 0).any(axis=0))
    each = np.concatenate([first, law.tau[:, runs]], axis=1)
    if not e:
        return np.ones_like(first)
    return each if each.shape[1] < 4 else each[:, [0, each.shape[1] // 2, each.shape[1] - 1]]


def _line(x: FloatArray, w: FloatArray, y: FloatArray, at: FloatArray) -> FloatArray:
    """The weighted straight line through (x, y), within the range of y, at `at` (B, n)."""
    mx, my = (w * x).sum(-1, keepdims=True), (w * y).sum(-1, keepdims=True)
    slope = (w * (x - mx) * (y - my)).sum(-1, keepdims=True) / np.maximum(
        (w * (x - mx) ** 2).sum(-1, keepdims=True), TINY)
    return np.asarray(np.clip(my + slope * (at - mx), y.min(-1, keepdims=True), y.max(-1, keepdims=True)))


def _snr_range(law: SeedLaw, L: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(B,): where the snr may lie that matters."""
    seen = law.weight > LIGHT
    top = np.sqrt(2 * np.log(np.maximum(L, 2))) + BEYOND
    high = np.minimum(np.where(seen, law.snr, -np.inf).max(-1), top)
    low = np.minimum(np.where(seen, law.snr, np.inf).min(-1), high)
    return low, np.maximum(high, low + NEARBY)


def _interpolated(law: SeedLaw, sizes: tuple[FloatArray, ...], e: int, sphere: bool, scores: int,
                  n: int) -> FloatArray:
    """(4, B, K): `Values` at the nodes of the law, through n points over the snr and a few over tau."""
    V, L, d, N = sizes
    tau = _taus(law, e)
    B, T = tau.shape
    low, high = _snr_range(law, L)
    snr = low[:, None] if scores == 0 else chebyshev(low, high, n)
    n = snr.shape[1]
    skew, excess = (_line(law.snr, law.weight, a, snr) for a in (law.skew, law.excess))

    def rows(a: FloatArray) -> FloatArray:
        return np.broadcast_to(a.reshape(B, -1, a.shape[-1]) if a.ndim == 3 else a[:, None, None],
                               (B, T, n)).reshape(-1)

    seeds = Seeds(rows(V), rows(L), rows(d), rows(N), rows(tau[:, :, None]), rows(snr[:, None, :]),
                  rows(skew[:, None, :]), rows(excess[:, None, :]), e, sphere, per_setting=T * n)
    found = values(seeds, scores).stack().reshape(4, B, T, n)
    by_tau = np.ones((B, law.tau.shape[1], 1)) if T == 1 else barycentric(law.tau, tau)
    by_snr = (np.ones((B, law.snr.shape[1], 1)) if n == 1
              else barycentric(np.clip(law.snr, low[:, None], high[:, None]), snr))
    at: FloatArray = np.einsum("vbtn,bkt,bkn->vbk", found, by_tau, by_snr, optimize=True)
    return np.asarray(np.clip(at, 0, 1))


def recall_and_accuracy(law: SeedLaw, V: ArrayLike, L: ArrayLike, d: ArrayLike, N: ArrayLike,
                        embedding: str = "gaussian", trigger_in_value: bool = True) -> dict[str, FloatArray]:
    """Recall and accuracy with their standard deviations over seeds, each (B,), from the seed law of attention.

    Keys: recall, accuracy, recall_std, accuracy_std. Sizes broadcast to (B,), the law's first axis; embedding is
    "gaussian" or "sphere".

    >>> from recall_theory.theory.seed import seed_law
    >>> found = recall_and_accuracy(seed_law(256, 16, 64, 25600), 256, 16, 64, 25600)
    >>> round(float(found["recall"][0]), 2)
    0.25
    """
    V, L, d, N = _flat(V, L, d, N)
    d = np.minimum(d, V * WIDE)
    if embedding == "sphere":
        d = np.maximum(d, 2)  # a line has no directions to average over
    sizes = (V, L, d, N)
    attention = attention_given(law)  # (B, K)
    finite = (law.weight * token_scatter(law)).sum(-1)  # variance of attention at a node
    finite = np.minimum(np.nan_to_num(finite), 1 / 4)
    miss = np.where(L > 1, 1 - (law.weight * attention).sum(-1), 0)
    sure = miss * np.maximum(N / V, 1) < SURE
    scores = np.full(len(V), FACT_SCORES[int(trigger_in_value)])
    for bound, few in reversed(FEWER_SCORES):
        scores[miss < bound] = few
    scores[sure] = 0
    low, high = _snr_range(law, L)
    points = np.clip(np.ceil((high - low) / PER_POINT) + 2, *POINTS).astype(int)
    points[sure] = 1
    out = {k: np.zeros(len(V)) for k in ("recall", "accuracy", "recall_std", "accuracy_std")}
    for chosen, n in sorted(set(zip(scores.tolist(), points.tolist(), strict=True))):
        index = np.flatnonzero((scores == chosen) & (points == n))
        size = TOGETHER if chosen == 0 else 1
        for start in range(0, len(index), size):
            i = index[start:start + size]
            part = _part(law, i)
            found = _interpolated(part, tuple(a[i] for a in sizes), int(trigger_in_value),
                                  embedding == "sphere", chosen, n)
            for name, value in _moments(part, Values(*found), attention[i], finite[i]).items():
                out[name][i] = value
    return out


def _flat(*values: ArrayLike) -> list[FloatArray]:
    """Sizes as arrays of one length."""
    return list(np.broadcast_arrays(*(np.atleast_1d(np.asarray(v, dtype=float)).reshape(-1) for v in values)))


def _part(law: SeedLaw, index: NDArray[np.intp]) -> SeedLaw:
    """The seed law of some of the settings."""
    fields: dict[str, Any] = {f.name: getattr(law, f.name) for f in dataclasses.fields(law)}
    chosen: dict[str, Any] = {k: v if v is None else v[index] for k, v in fields.items()}
    return SeedLaw(**chosen)


def _moments(law: SeedLaw, at: Values, attention: FloatArray, finite: FloatArray) -> dict[str, FloatArray]:
    """Means over nodes; variance between nodes, the scatter at a node, and that which attention's own brings."""
    weight = law.weight
    same = (law.tau[:, :, None] == law.tau[:, None, :]) * weight[:, None, :]
    turn = attention - (same * attention[:, None, :]).sum(-1) / np.maximum(same.sum(-1), TINY)
    share = np.minimum(at.attended / np.maximum(at.recall, TINY), 1)
    out = {}
    for name, value, scale in (("recall", at.recall, 1),
                               ("accuracy", at.attended + at.wrong, share)):
        mean = (weight * value).sum(-1)
        slope = (weight * turn * value).sum(-1) / np.maximum((weight * turn**2).sum(-1), TINY)
        variance = ((weight * (value - mean[:, None]) ** 2).sum(-1) + (weight * at.within * scale**2).sum(-1)
                    + np.clip(slope, 0, 1) ** 2 * finite)
        out[name], out[name + "_std"] = mean, np.sqrt(variance)
    return out


def recall_terms(V: ArrayLike, L: ArrayLike, d: ArrayLike, N: ArrayLike, embedding: str = "gaussian",
                 trigger_in_value: bool = True) -> dict[str, FloatArray]:
    """Contributions (B,) to (noise/signal)^2 of recall at right attention and tau = 1, by cause.

    >>> {k: round(float(v[0]), 4) for k, v in recall_terms(512, 32, 128, 51200).items()}
    {'interference': 0.0625, 'gradient noise': 0.0006, 'mean bias': 0.04, 'token overlap': 0.0258}
    """
    V, L, d, N = _flat(V, L, d, N)
    e = 1 if trigger_in_value else 0
    terms = {"interference": rt.interference(V, d, e, 1), "gradient noise": rt.gradient_noise(V, d, N, e, 1)}
    if e:
        terms["mean bias"] = rt.mean_bias(V, d, N, e, 1)
    terms["token overlap"] = rt.token_overlap(d, N, V, e, 1)
    return {k: np.broadcast_to(v, V.shape) for k, v in terms.items()}
