"""The right label's own score: its law on a grid, and what it wins, averaged over its output's noise.

A node is a fact with a share of right attention, a count of right picks and a length; it holds the lead T of the right
label over the noise, of power Q. Given these, the own score is a function of one normal variable x, the noise of the
label's own output, that depends on T and Q only through the node's middle (the score at x = 0). Averages over x are
therefore linear maps between a grid of scores and a grid of middles: `Grid` holds them, `spread_out` takes masses from
nodes to scores, `averaged` a function of the score from the grid to nodes. docs/derivations/recall.md.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.quadrature import gauss_gamma, gauss_poisson
from ..numerics.unit_sphere import coordinate_of_score, peizer_pratt_scale, score_of_coordinate
from .competitors import BELOW, STEP
from .fact import Facts, Weights
from .training_attention import TINY, Classes, Seeds, attended_share

FloatArray = NDArray[np.float64]

FINE = 2  # steps of the fine grid to one of the competitors' (`_coarse` halves)
PAD = 16  # points of the fine grid beyond both ends, where a chance to win no longer changes
MARGIN = 4  # of them, those to which a middle may go
REACH, NOISE_STEP = 6, 1 / 4  # nodes over x on the sphere: as far as this, this far apart
FAR = 60  # exponents beyond which e^-x counts for nothing: sums slow down a hundredfold over the least of floats
ALIKE = 1 / 500  # widths of the noise that differ by less are one
INSIDE = 1 / 8  # of their range, the least distance of the typical width from its ends
AT_ONE = 1 - 1 / 1_000_000  # the greatest squared cosine
NARROW = 1 / 1000  # least share of the noise in a score


@dataclasses.dataclass(frozen=True)
class Nodes:
    """Nodes over one fact: fields (R, F, A, n, S) for A shares of right attention, n counts and S lengths, or ones.

    The weights `mass` of a fact sum to 1. middle: the score at x = 0. wider: variance of the noise of the label's own
    output, per that of the others'. own: that noise's share of the score's variance. gain_unit: what gains are in units
    of. lead: T. share: of right attention; surplus: count of right picks less its mean. typical (R, F): the noise's
    share of |Y|^2 at a typical lead. chi (R, S): typical lengths (Gaussian embeddings).
    """

    mass: FloatArray
    middle: FloatArray
    wider: FloatArray
    own: FloatArray
    gain_unit: FloatArray
    lead: FloatArray
    share: FloatArray
    surplus: FloatArray
    typical: FloatArray
    chi: FloatArray

    def flat(self, a: FloatArray) -> FloatArray:
        """A field as (R, F, nodes)."""
        R, F = self.mass.shape[:2]
        return np.broadcast_to(a, self.mass.shape).reshape(R, F, -1)


def square_spread(lam: FloatArray, t: FloatArray, v: FloatArray) -> FloatArray:
    """E theta^4/(E theta^2)^2 - 1 of one competitor at right attention, from the Poisson moments of its count."""
    i = 1 / lam
    fourth = (t**4 * (3 * i**2 + i**3) + 6 * t * t * v * (i + 4 * i**2 + i**3)
              + 3 * v * v * (1 + 6 * i + 7 * i**2 + i**3))
    second = t * t * i + v * (1 + i)
    return np.asarray(np.maximum(fourth / second**2 - 1, 0))


def own_nodes(seeds: Seeds, groups: Classes, facts: Facts, w: Weights, noise: FloatArray, n_above: int, n_own: int,
              n_length: int) -> Nodes:
    """The nodes over each fact; noise (R, F) is the power of its competitors."""
    V, d, lam = (a[:, None, None, None] for a in (seeds.V, seeds.d, seeds.lam))
    each = facts.same_score  # what depends on the score alone is the same for so many neighbours
    few_share, few_w = attended_share(seeds, facts.zeta[:, ::each], n_above)
    share, w_share, count, w_count = (np.repeat(a, each, axis=1) for a in (
        few_share, few_w, *gauss_poisson(seeds.lam[:, None, None] * few_share, n_own)))
    lead = count / lam * facts.s[:, :, None, None] - w.mean[:, :, None, None]
    lead = (lead + ((1 - share) * (groups.wrong[:, :1] * facts.alpha)[:, :, None])[..., None]) * (1 - 1 / V)
    power = noise[:, :, None, None] + lead**2 / V
    typical = noise / (noise + np.maximum(facts.s - facts.t, 0) ** 2)
    length = square_spread(seeds.lam[:, None], facts.t, facts.s / seeds.d[:, None]) / seeds.V[:, None] * typical**2
    stretch, w_stretch = gauss_gamma(2 / seeds.d[:, None] + length, n_length)  # (R, F, S)
    missed = 1 - share - (groups.weight * (1 - groups.share)).sum(-1)[:, None, None]
    wider = 1 + d * w.common_pick[:, :, None, None] * missed[..., None] ** 2 / power
    own = power / (power + lead**2)
    if seeds.sphere:
        rho = lead[..., None] / np.sqrt(np.maximum(power[..., None] * stretch[:, :, None, None, :], TINY))
        D = peizer_pratt_scale(d)[..., None]
        middle = np.copysign(np.sqrt(D * np.log1p(rho**2)), rho)
        unit = np.sqrt(stretch[:, :, None, None, :] / power[..., None])
        chi = np.ones_like(seeds.V)[:, None]
    else:
        length_of = np.sqrt(seeds.d[:, None, None] * stretch) * (1 + length[..., None] / 2)
        middle = length_of[:, :, None, None, :] * (lead / np.sqrt(power + lead**2))[..., None]
        unit = (1 / np.sqrt(power))[..., None]
        chi = (facts.weight[..., None] * length_of).sum(axis=1)
    mass = (w_share[..., None] * w_count)[..., None] * w_stretch[:, :, None, None, :]
    # tiny vocabularies on a circle can leave no noise at all: 0/0 is then no lead
    middle, unit = np.nan_to_num(middle), np.nan_to_num(unit)
    return Nodes(mass, middle, np.nan_to_num(wider, nan=1.0)[..., None], own[..., None], unit, lead[..., None],
                 share[..., None, None], (count - lam * share[..., None])[..., None], typical, chi)


@dataclasses.dataclass(frozen=True)
class Grid:
    """Maps between M middles and scores, for G settings, S lengths and w widths (G, w) of the noise.

    to_scores (G, S, w, M, U): the chance that a node of this middle has this score of the fine grid; typical
    (G, S, M, J): the same at a typical width, on the coarse grid; gains: that times the gain of its competitors.
    """

    widths: FloatArray
    to_scores: FloatArray
    typical: FloatArray
    gains: FloatArray


def scores_of(coarse: int) -> tuple[FloatArray, FloatArray]:
    """The fine grids of scores and of middles that go with a coarse grid of so many points."""
    fine = np.arange(-PAD, FINE * (coarse - 1) + PAD + 1) * STEP / FINE + BELOW
    return fine, fine[PAD - MARGIN:len(fine) - PAD + MARGIN]


def make_grid(seeds: Seeds, nodes: Nodes, coarse: int) -> Grid:
    """The maps for these nodes and a coarse grid of so many points."""
    P = seeds.per_setting
    of_setting = nodes.wider.reshape(len(seeds.V) // P, -1)
    low, high = of_setting.min(axis=-1), of_setting.max(axis=-1)
    if (high - low).max() < ALIKE:
        widths = (low + high)[:, None] / 2
    else:
        mean = (np.broadcast_to(nodes.wider, nodes.mass.shape) * nodes.mass).reshape(len(low), -1).sum(-1)
        mean = mean / nodes.mass.reshape(len(low), -1).sum(-1)
        edge = INSIDE * (high - low)
        widths = np.stack([low, np.clip(mean, low + edge, high - edge), high], axis=-1)
    chi = nodes.chi.reshape(len(widths), P, -1).mean(axis=1)
    make = _on_the_sphere if seeds.sphere else _gaussian
    to_scores, gains = make(seeds.d[::P], widths, chi, coarse)
    return Grid(widths, to_scores, _coarse(to_scores[:, :, widths.shape[1] // 2]), _coarse(gains))


def _coarse(fine: FloatArray) -> FloatArray:
    """Masses (..., U) on the fine grid, shared between the neighbours (..., J) on the coarse one."""
    low, high = fine[..., :PAD].sum(-1), fine[..., fine.shape[-1] - PAD:].sum(-1)
    inner = fine[..., PAD:fine.shape[-1] - PAD]
    between = inner[..., 1::FINE] / 2
    out = inner[..., ::FINE].copy()
    out[..., 1:] += between
    out[..., :-1] += between
    out[..., 0] += low
    out[..., -1] += high
    return np.asarray(out)


def _gaussian(_: FloatArray, widths: FloatArray, chi: FloatArray, coarse: int) -> tuple[FloatArray, FloatArray]:
    """score = middle + (noise x) with noise^2 = width (1 - middle^2/chi^2); gain = chi noise - middle x/chi."""
    score, middle = scores_of(coarse)
    chi = chi[:, :, None, None, None]
    w = widths[:, None, :, None, None]
    angle = np.sqrt(np.maximum(1 - (middle[:, None] / chi) ** 2, NARROW))
    x = (score - middle[:, None]) / (angle * np.sqrt(w))
    density = np.exp(-np.minimum(x * x / 2, FAR))
    density = density / density.sum(-1, keepdims=True)
    one = widths.shape[1] // 2
    gains = density[:, :, one] * (chi * angle - middle[:, None] / chi * x)[:, :, one]
    return density, gains


def _on_the_sphere(d: FloatArray, widths: FloatArray, _: FloatArray, coarse: int) -> tuple[FloatArray, FloatArray]:
    """The cosine of an output with the value read out, where its own part is rho times the noise around it."""
    score, middle = scores_of(coarse)
    h = STEP / FINE
    G, w, M, U = *widths.shape, len(middle), len(score)
    d, D = d[:, None, None, None], peizer_pratt_scale(d)[:, None, None, None]
    x = np.arange(-REACH, REACH + NOISE_STEP / 2, NOISE_STEP)
    mass = np.exp(-x * x / 2) / np.exp(-x * x / 2).sum()
    cosine = coordinate_of_score(middle[:, None], D)
    cosine = np.clip(cosine, -1 + NARROW, 1 - NARROW)
    rho = cosine / np.sqrt(1 - cosine**2)
    own = coordinate_of_score(x, D) * np.sqrt(widths)[:, :, None, None]  # (G, w, 1, X)
    size = np.sqrt(np.maximum(rho**2 + 1 + 2 * rho * own, NARROW))
    cosine = (rho + own) / size
    u = score_of_coordinate(cosine, D, 1 - AT_ONE)
    gain = np.broadcast_to((1 + rho * own) / size * d / (np.maximum(d, 2) - 1), u.shape)
    low, weights = _lagrange(np.clip((u - score[0]) / h, 0, U - 1), U)
    at = np.arange(G * w * M).reshape(G, w, M, 1) * U + low
    density, gains = np.zeros(G * w * M * U), np.zeros(G * w * M * U)
    for k, part in enumerate(weights):
        part = part * mass
        density += np.bincount((at + k).ravel(), part.ravel(), len(density))
        gains += np.bincount((at + k).ravel(), (part * gain).ravel(), len(density))
    one = w // 2
    return density.reshape(G, 1, w, M, U), gains.reshape(G, 1, w, M, U)[:, :, one]


def _lagrange(position: FloatArray, n: int) -> tuple[NDArray[np.intp], tuple[FloatArray, ...]]:
    """First index and four weights of cubic interpolation at a position among n points 0..n-1."""
    low = np.clip(position.astype(np.intp) - 1, 0, n - 4)
    t = position - low
    a, b, c = t - 1, t - 2, t - 3
    bc, ta = b * c, t * a
    return low, (-a * bc / 6, t * bc / 2, -ta * c / 2, ta * b / 6)


def _quadratic(x: FloatArray, points: FloatArray) -> list[Any]:
    """Weights at x of the parabola through three points (..., 3), or of the constant at one."""
    if points.shape[-1] == 1:
        return [1.0]
    a, b, c = points[..., 0], points[..., 1], points[..., 2]
    return [(x - b) * (x - c) / ((a - b) * (a - c)), (x - a) * (x - c) / ((b - a) * (b - c)),
            (x - a) * (x - b) / ((c - a) * (c - b))]


@dataclasses.dataclass(frozen=True)
class Places:
    """Where nodes (R, F, nodes) lie on the grid: which row of maps, where among its middles and among its widths.

    beyond: what the gain of a node past the grid's last middle is, per that of a node there; 1 within the grid.
    """

    fact: NDArray[np.intp]
    position: FloatArray
    by_width: list[Any]
    beyond: FloatArray


def places(seeds: Seeds, nodes: Nodes, grid: Grid) -> Places:
    """The nodes' places on the grid."""
    R, F = nodes.mass.shape[:2]
    _, S, _, M, _ = grid.to_scores.shape
    middle = nodes.flat(nodes.middle)
    last = BELOW + (M - 1 - MARGIN) * STEP / FINE
    position = np.clip((middle - BELOW) * (FINE / STEP) + MARGIN, 0, M - 1)
    loose = (np.exp(-last**2 / peizer_pratt_scale(seeds.d))[:, None, None] if seeds.sphere  # the noise's share there
             else 1 - last**2 / (nodes.chi**2).mean(-1)[:, None, None])
    past = np.sqrt(np.minimum(nodes.flat(nodes.own) / np.maximum(loose, NARROW), 1))
    beyond = np.where(middle > last, past, 1)
    length = np.arange(position.shape[-1]) % nodes.mass.shape[-1] if S > 1 else 0
    r, f = np.arange(R)[:, None, None], np.arange(F)[:, None]
    by_width = _quadratic(nodes.flat(nodes.wider), np.repeat(grid.widths, R // len(grid.widths), axis=0)[:, None, None])
    return Places((r * S + length) * F + f, position, by_width, beyond)


def spread_out(at: Places, values: FloatArray, maps: FloatArray) -> FloatArray:
    """(R, F, J): masses `values` (R, F, nodes), carried to the coarse grid of scores by maps (G, S, M, J)."""
    G, S, M, J = maps.shape
    R, F, _ = values.shape
    low = np.minimum(at.position.astype(np.intp), M - 2)
    upper = values * (at.position - low)
    cell = (at.fact * M + low).ravel()
    size = R * S * F * M
    on_middles = (np.bincount(cell, (values - upper).ravel(), size)
                  + np.bincount(cell + 1, upper.ravel(), size)).reshape(G, R // G, S, F, M)
    return np.asarray(np.matmul(on_middles, maps[:, None]).sum(axis=2)).reshape(R, F, J)


def averaged(at: Places, grid: Grid, function: FloatArray) -> FloatArray:
    """(R, F, nodes): the mean over x of a function (R, F, U) of the score, at each node."""
    G, _, w, M, U = grid.to_scores.shape
    R, F, _ = function.shape
    mean = np.matmul(function.reshape(G, R // G, 1, 1, F, U), grid.to_scores.swapaxes(-1, -2)[:, None])
    flat = np.ascontiguousarray(mean.transpose(3, 0, 1, 2, 4, 5)).reshape(w, -1)
    low, weights = _lagrange(at.position, M)
    cell = at.fact * M + low
    out = 0.0
    for q in range(w):
        line = sum(part * flat[q].take(cell + k) for k, part in enumerate(weights))
        out = out + at.by_width[q] * line
    return np.asarray(out)
