"""What a Hebbian memory recalls at finite size: W = sum_x u_f(x) e_x^T, answer argmax_y <u_y, W e_x>.

With Gaussian embeddings the scores of all n outputs are, given the value read out, one vector whose length along the
coefficients is known and which is Gaussian across them. Rotation leaves three independent random numbers, over which
recall is integrated. On the sphere a competitor's chance is that of a coordinate of a unit vector, given what the other
facts add. Derivation, with what is dropped: docs/derivations/hebbian.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from ...numerics.arrays import TINY, FloatArray
from ...numerics.quadrature import gauss_beta, gauss_coordinate, gauss_gamma
from ...numerics.thresholds import last_reaching
from ...numerics.unit_sphere import cap_probability, equal_steps
from ...settings import SettingError
from ..formulas import memory_laws as laws

EMBEDDINGS = ("gaussian", "sphere")
SIZE_PRECISION = 1 / 10**7  # to which sizes are found, exactly where it is below 1
MOST_FACTS = 10**15  # floats hold every integer up to here
MOST_STORED = 10**19  # of a search: more than the widest memory holds
LARGEST_D = 10**9  # the largest d, as in a Setting
NODES = 12  # of a Gauss rule over a length
NOISE_STEP, NOISE_END = 1 / 8, 9  # of the rule over the right output's own noise, in standard deviations
OWN_NODES = 5  # of the rule over a competitor's own coefficient, on either side of 0
BELOW_ONE = 1 - np.finfo(float).eps


def hebbian_recall(n: ArrayLike, d: ArrayLike, embedding: str = "gaussian",
                   rank: ArrayLike | None = None) -> FloatArray:
    """Expected fraction of n facts that a Hebbian memory of d x d numbers recalls.

    n: facts, each with an output of its own (at least 2); d: embedding dimension (at least 1, on the sphere 2).
    `embedding` is "gaussian" (entries iid N(0, 1/d)) or "sphere" (normalised). `rank`, for Gaussian embeddings,
    is the dimension that a random projection leaves of the outputs (None: d). n, d and rank broadcast; the result has
    their shape.

    Raises `SettingError` outside these ranges. Provenance: derived, docs/derivations/hebbian.md. Within 0.005 of
    simulation, on the sphere from d = 8 on, and 0.015 below.

    >>> [round(float(hebbian_recall(1024, 128, e)), 3) for e in ("gaussian", "sphere")]
    [0.626, 0.68]
    """
    return 1 - hebbian_errors(n, d, embedding, rank)


def hebbian_errors(n: ArrayLike, d: ArrayLike, embedding: str = "gaussian",
                   rank: ArrayLike | None = None) -> FloatArray:
    """1 - `hebbian_recall`, without cancellation where nearly all is recalled.

    >>> float(hebbian_errors(100, 1000)) < 1e-12
    True
    """
    if embedding not in EMBEDDINGS:
        raise SettingError("embedding", f"embedding={embedding!r} is not one of {', '.join(EMBEDDINGS)}")
    if rank is not None and embedding != "gaussian":
        raise SettingError("rank", "rank is for Gaussian embeddings: a projection leaves no unit vectors")
    sizes = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (n, d, d if rank is None else rank)))
    ranges = (("n", 2, MOST_STORED), ("d", _least(embedding), LARGEST_D), ("rank", 1, LARGEST_D))
    for value, (name, low, high) in zip(sizes, ranges, strict=True):
        bad = ~((value >= low) & (value <= high))
        if bad.any():
            raise SettingError(name, f"{name}={value[bad].flat[0]:g} is not from {low} to {high:g}")
    if (sizes[2] > sizes[1]).any():
        raise SettingError("rank", "rank is above d: a projection cannot add dimensions")
    errors = np.vectorize(gaussian_errors if embedding == "gaussian" else sphere_errors, otypes=[float])
    return np.clip(errors(*sizes[:3 if embedding == "gaussian" else 2]), 0, 1)


def _least(embedding: str) -> int:
    """The least d: on a line, unit vectors are signs."""
    return 2 if embedding == "sphere" else 1


def hebbian_capacity(d: float, target: float, embedding: str = "gaussian", rank: float | None = None,
                     all_right: bool = False) -> int | None:
    """The most facts n at which recall reaches the target, exact to 10^7 and to as many parts beyond; None where
    not even two facts do.

    With `all_right`, at which all n are right with probability `target` or more: n (1 - recall) <= 1 - target, by the
    union bound.

    >>> hebbian_capacity(128, 0.99), hebbian_capacity(128, 0.99, all_right=True)
    (344, 145)
    """
    if d < _least(embedding):
        return None
    leading = laws.hebbian_all(float(d)) if all_right else laws.rank_most(float(d), float(rank or d))
    return last_reaching(lambda n: _spare(n, d, embedding, rank, target, all_right), 0, 2, MOST_STORED, float(leading),
                         relative=SIZE_PRECISION, scale=float)


def hebbian_dimension(n: float, target: float, embedding: str = "gaussian", rank: float | None = None,
                      all_right: bool = False) -> int | None:
    """The least d at which a Hebbian memory of n facts reaches the target; `rank` and `all_right` as in
    `hebbian_capacity`. None where 10^9 dimensions do not reach it.

    >>> hebbian_dimension(344, 0.99)
    128
    """
    low = max(_least(embedding), math.ceil(rank or 1))
    leading = math.sqrt((8 if all_right else 2) * n * math.log(n))
    return last_reaching(lambda d: _spare(n, d, embedding, rank, target, all_right), 0, LARGEST_D, low,
                         leading if rank is None else leading**2 / rank, relative=SIZE_PRECISION, scale=float)


def _spare(n: float, d: float, embedding: str, rank: float | None, target: float, all_right: bool) -> float:
    """log of the errors allowed over those expected: negative where the target is missed."""
    errors = float(hebbian_errors(n, d, embedding, rank)) * (n if all_right else 1)
    return math.log(1 - target) - math.log(max(errors, math.ulp(0)))


# --- the chance of an error, at one pair of sizes ------------------------------------------------------

def gaussian_errors(n: float, d: float, outputs: float) -> float:
    """The chance of a wrong answer with n facts, keys of d and outputs of so many dimensions, Gaussian."""
    share, w_share = gauss_beta(d / 2, (n - 1) / 2, NODES)  # of the squared coefficients, the query's own
    square, w_square = gauss_gamma(2 / outputs, NODES)
    noise, w_noise = _noise()
    c, s = np.sqrt(share)[:, None, None], np.sqrt(1 - share)[:, None, None]
    R = np.sqrt(outputs * np.maximum(square, 0))[:, None]
    lead = c * R - s * noise
    along = s * R + c * noise
    above = np.minimum(_one_competitor(lead, along, n - 1), BELOW_ONE)
    wrong = -np.expm1((n - 1) * np.log1p(-above)) + _together(lead, along, n - 1)
    return float(w_share @ (wrong @ w_noise) @ w_square)


def _one_competitor(lead: FloatArray, along: FloatArray, m: float) -> FloatArray:
    """The chance that one of m competitors scores above `lead`: along v plus sqrt(1 - v^2) times a standard normal,
    v a coordinate of a uniform unit vector of R^m."""
    square, weight = gauss_beta(1 / 2, (m - 1) / 2, OWN_NODES) if m > 1 else (np.ones(1), np.ones(1))
    above = np.zeros_like(lead)
    for v, rest, w in zip(np.sqrt(square), np.sqrt(np.maximum(1 - square, TINY)), weight, strict=True):
        above += w / 2 * (ndtr((along * v - lead) / rest) + ndtr((-along * v - lead) / rest))
    return above


def _together(lead: FloatArray, along: FloatArray, m: float) -> FloatArray:
    """What the chance that none of m competitors scores above `lead` lacks of a product: their squares add up."""
    variance = (along**2 + m - 1) / m
    z2 = lead**2 / variance
    shared = 1 - (m - 1) / (m * variance**2)
    below = np.exp((m - 2) * log_ndtr(lead / np.sqrt(variance)))
    return np.asarray(shared * (m - 1) * z2 / 4 * np.exp(-z2) / (2 * math.pi) * below)


def sphere_errors(n: float, d: float) -> float:
    """The same with unit vectors, d at least 2.

    Output y and the right one differ by (u_y - u_0).(value read out), and that is their difference on the value with
    the coefficient of u_y subtracted from that of u_0 and its own left out: a vector that doesn't depend on u_y.
    """
    others = n - 2  # facts besides the two
    length, w_length = np.zeros(1), np.ones(1)
    if others:
        spread = 2 * (d - 1) / (others * (d + 2)) + 2 * (others - 1) / (others * d)  # relative variance
        chi, w_length = gauss_gamma(spread, NODES)
        length = np.sqrt(others / d * np.maximum(chi, 0))
    cosine, w_cosine = equal_steps(d, round(2 * NOISE_END / NOISE_STEP), NOISE_END)  # with the right output
    own, w_own = gauss_coordinate(d, NODES, least=2)  # a competitor's coefficient
    along = 1 + np.outer(length, cosine / np.sqrt(d))
    across2 = np.maximum(np.square(length)[:, None] - (along - 1) ** 2, 0)
    lead = along[..., None] - own / np.sqrt(d)
    above = np.minimum(cap_probability(d, np.arctan2(np.sqrt(across2)[..., None], lead)) @ w_own, BELOW_ONE)
    wrong = -np.expm1((n - 1) * np.log1p(-above))
    # Two competitors that win at once: each one's own coefficient acts on the other through the value read out.
    both = np.exp(-ndtri(np.maximum(above, TINY)) ** 2) / (2 * math.pi * d * (along**2 + across2 + 1))
    wrong -= (n - 1) * (n - 2) / 2 * both * np.exp((n - 3) * np.log1p(-above))
    return float(w_length @ wrong @ w_cosine)


def _noise() -> tuple[FloatArray, FloatArray]:
    """A standard normal variable by the trapezoid rule: what follows may be steep in it."""
    x = np.arange(-NOISE_END, NOISE_END + NOISE_STEP, NOISE_STEP)
    return x, np.exp(-x * x / 2) * NOISE_STEP / math.sqrt(2 * math.pi)
