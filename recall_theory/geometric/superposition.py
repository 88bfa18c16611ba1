"""Random superposition: its recall, and how it is best laid out for a target or under a budget of parameters.

e_s = sum_w B_w c_{f_w(s)}: codes c uniform on the unit sphere of R^k, one B_w with orthonormal columns in R^d for
each of `words` relations (or words of relations). Asked for w, the model scores attribute a by <c_a, B_w^T e_s>.
With c the right code, B_w^T e_s = c + B_w^T x, x the sum of n = words - 1 independent uniform unit vectors of R^d;
the N - 1 other codes are independent of it. So

    recall = E Q(A),   Q(a) = Pr(angle of c + B_w^T x to c <= a),   Pr(A > a) = Pr(angle of two codes > a)^(N-1),

which is exact at every N, k, d and number of words. Derivation: docs/derivations/geometric.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv, ndtr

from ..numerics.arrays import FloatArray
from ..numerics.quadrature import gauss_coordinate, gauss_hermite
from ..numerics.quantiser import direction_kept
from ..numerics.thresholds import last_reaching
from ..numerics.unit_sphere import RandomWalk, cap_probability, random_walk_rule
from .geometric_setting import ROUNDED, GeometricSetting

MOST_D, MOST_CODE = (int(GeometricSetting.parameters[name].high) for name in ("d", "code_length"))
GUMBEL_STEP = 1 / 2  # of the grid of log(-log quantile), on which the density of a Gumbel variable is analytic
GUMBEL_STEP_SQUARE_MAPS = 1 / 16  # the same where d = k: what is averaged there has corners
GUMBEL_LOWEST, GUMBEL_HIGHEST = -36, 4  # where that density is below e^-36
SHARP_DIMENSIONS = 32  # up to so many dimensions beyond k the edge of the event is sharp, and takes more nodes
LONGEST_CODE = 64  # codes of up to so many times 2 ln N are tried
DEFICIT_CELLS = 2**11  # of the density of a deficit
DEFICIT_DEVIATIONS = 9  # of noise beyond a digit, at which that grid ends
CODE_TOLERANCE = 1 / 1024  # relative width to which the best code length is sought
KEPT_NODES = 3  # of the share that rounding keeps of an embedding
ADDED_NODES = 8  # of the direction of what it adds
ANGLES = 400  # by which interference, noise and rounding turn a code
COARSE_BITS = 8  # of more bits the range is no matter


class Resolution(NamedTuple):
    """Quadrature nodes for the length of the interference, its direction, and a direction where the event has a sharp
    edge."""

    lengths: int
    directions: int
    sharp_directions: int


FINE = Resolution(12, 64, 400)  # within 1e-3 for a handful of attributes and d near k, mostly within 1e-6
COARSE = Resolution(6, 24, 100)  # for searches: within 1e-3 where recall is high


def cap_angle(k: int, chance: FloatArray) -> FloatArray:
    """The inverse of `cap_probability`, to full relative precision where the angle is small."""
    acute = np.arcsin(np.sqrt(betaincinv((k - 1) / 2, 1 / 2, 2 * np.minimum(chance, 1 - chance))))
    return np.where(chance > 1 / 2, np.pi - acute, acute)


def nearest_competitor(N: int, k: int, step: float = GUMBEL_STEP) -> tuple[FloatArray, FloatArray]:
    """The angle A from a direction in R^k to the nearest of N - 1 codes, and the weights of its values.

    With F the distribution function of one coordinate of a uniform unit vector, F(cos A)^(N-1) is uniform; the
    grid is that of the trapezoid rule over t, F(cos A) = exp(-e^t / (N - 1)).
    """
    t = np.arange(GUMBEL_LOWEST, GUMBEL_HIGHEST, step)
    weights = np.exp(t - np.exp(t))
    return cap_angle(k, -np.expm1(-np.exp(t) / (N - 1))), weights / weights.sum()


def interference(words: int, k: int, d: float, resolution: Resolution = FINE, noise: float = 0.0) -> RandomWalk:
    """The law of x and of noise on each coordinate, read through a map of k columns, at the nodes of Gauss rules."""
    sharp = d > k and (d - k <= SHARP_DIMENSIONS or 4 * words > d)
    directions = resolution.sharp_directions if sharp else resolution.directions
    return random_walk_rule(words - 1, d, resolution.lengths, directions, noise)


def deflection_probability(x: RandomWalk, k: int, d: float, angle: FloatArray) -> FloatArray:
    """The chance that interference turns the right code by no more than each angle, at each node of x; shape
    (nodes, angles). Where d = k it is averaged over the direction of x.

    The code reads 1 + x_1 along itself. Across it k - 1 of the d - 1 other coordinates of x are read, a
    Beta((k-1)/2, (d-k)/2) share of their square.
    """
    if d == k:
        return _deflection_under_square_maps(x, k, angle)
    ahead, across = 1 + x.along, x.squared - x.along**2
    with np.errstate(divide="ignore"):
        share = np.minimum((ahead**2 / across)[:, None] * np.tan(angle) ** 2, 1)
    within = betainc((k - 1) / 2, (d - k) / 2, share)
    forward = ahead[:, None] > 0
    return np.where(angle > np.pi / 2, np.where(forward, 1, 1 - within), np.where(forward, within, 0))


def _deflection_under_square_maps(x: RandomWalk, k: int, angle: FloatArray) -> FloatArray:
    """As a function of the direction of x the event is an indicator, and no rule for smooth functions does it justice.

    In the triangle of sides 1, |x| and c + x, the direction theta of x and the angle a that it turns c by have
    |x| sin(theta - a) = sin a.
    """
    squared, which = np.unique(x.squared, return_inverse=True)
    length, sine = np.sqrt(squared)[:, None], np.sin(angle)
    turn = np.arcsin(np.minimum(sine / length, 1))
    short = (length < 1) & (angle <= np.pi / 2) & (sine < length)
    near = cap_probability(k, np.minimum(angle + turn, np.pi))
    beyond = np.where(short, 1 - cap_probability(k, np.minimum(angle + np.pi - turn, np.pi)), 0)
    return np.where((length >= 1) | short, near + beyond, 1)[which]


def recall_given(x: RandomWalk, N: int, k: int, d: float, step: float | None = None) -> FloatArray:
    """The chance that the right one of N attributes is answered, at each node of the interference x; `step` is that of
    the nearest competitor's grid."""
    angles, chances = nearest_competitor(N, k, step or (GUMBEL_STEP_SQUARE_MAPS if d == k else GUMBEL_STEP))
    return deflection_probability(x, k, d, angles) @ chances


def recall_at(x: RandomWalk, N: int, k: int, d: float) -> FloatArray:
    """`recall_given`, but at each node's own direction of x where d = k and nothing of x is hidden."""
    if d > k:
        return recall_given(x, N, k, d)
    turned = np.arctan2(np.sqrt(np.maximum(x.squared - x.along**2, 0)), 1 + x.along)
    return np.asarray((1 - cap_probability(k, turned)) ** (N - 1))


def superposition_recall(N: int, words: int, k: int, d: float, resolution: Resolution = FINE, *,
                         noise: float = 0.0, precision: int | None = None) -> float:
    """Expected recall of one query: `words` codes superposed, N attributes, 2 <= k <= d; `noise` is the standard
    deviation of Gaussian noise on each coordinate, `precision` the bits to which coordinates are rounded then. Noise,
    like x, has a uniform direction: the law stays exact. With rounding it is near.

    >>> round(superposition_recall(100, 4, 16, 64), 4), round(superposition_recall(100, 4, 16, 64, precision=1), 4)
    (0.9154, 0.7132)
    """
    alone = words == 1 and noise == 0
    if alone and precision is None:
        return 1.0
    x = RandomWalk(np.zeros(1), np.zeros(1), np.ones(1)) if alone else interference(words, k, d, resolution, noise)
    if precision is None:
        given = recall_given(x, N, k, d)
    else:
        x = with_rounding(x, words + d * noise**2, d, precision)
        given = recall_at(x, N, k, d)
    return min(float(x.weights @ given), 1.0)


def with_rounding(x: RandomWalk, power: float, d: float, bits: int) -> RandomWalk:
    """x and what rounding to `bits` a coordinate adds to the embedding e = c + x, of mean square `power`, with the sum
    scaled to the length of the right code c: only its angle with c counts.

    What rounding adds to the part that it keeps of e is orthogonal to e, of uniform direction there.
    Derivation: docs/derivations/geometric.md.
    """
    square = 1 + 2 * x.along + x.squared
    deviation = np.sqrt(square / power) if bits <= COARSE_BITS else np.ones(1)
    mean, variance = direction_kept(ROUNDED / deviation, bits, d)
    z, z_weights = gauss_hermite(KEPT_NODES)
    kept = np.minimum(np.exp(mean[:, None] + np.sqrt(variance)[:, None] * z), 1)
    added = np.sqrt(square[:, None] * (1 / kept - 1))
    u, u_weights = gauss_coordinate(d - 1, ADDED_NODES, least=2)
    across = np.sqrt(np.maximum(x.squared - x.along**2, 0) / square)  # the sine of c and e
    beside = (added * across[:, None])[..., None] * u / math.sqrt(max(d - 1, 2))  # what is added, along c
    ahead = (1 + x.along)[:, None, None] + beside
    length = square[:, None, None] + (added**2)[..., None]
    angle = np.arctan2(np.sqrt(np.maximum(length - ahead**2, 0)), ahead).ravel()
    weights = (x.weights[:, None, None] * z_weights[:, None] * u_weights).ravel()
    # equal masses of neighbours count as one
    order = np.argsort(angle)
    angle, weights = angle[order], weights[order]
    part = np.minimum((np.cumsum(weights) - weights / 2) * ANGLES, ANGLES - 1).astype(int)
    mass, moment = (np.asarray(np.bincount(part, values, ANGLES), dtype=float) for values in (weights, weights * angle))
    less = 2 * np.sin(moment[mass > 0] / mass[mass > 0] / 2) ** 2  # 1 - cos
    return RandomWalk(2 * less, -less, mass[mass > 0])


def signs_recall(N: int, noise: float) -> float:
    """Expected recall of N codes of signs, the binary digits of their numbers, read with Gaussian noise of this
    deviation on each digit. Exact at every N but for the grid of a density (1e-5).

    Derivation: docs/derivations/geometric.md.

    >>> round(signs_recall(8, 0.7), 4), round(signs_recall(6, 0.7), 4)
    (0.7874, 0.8261)
    """
    from scipy.signal import fftconvolve

    keep = float(ndtr(1 / noise))
    if N & (N - 1) == 0:
        return keep ** (N.bit_length() - 1)
    # Half the deficit: masses at 0, in equal cells up to where no digit reaches, and beyond them.
    edges = np.linspace(0, 1 + DEFICIT_DEVIATIONS * noise, DEFICIT_CELLS + 1)
    # A right and a wrong digit where they are above 0, and the mass at 0.
    right, wrong = (np.pad(np.diff(ndtr((edges - mean) / noise)), 1) for mean in (1, -1))
    zero = np.eye(1, DEFICIT_CELLS + 2)[0]

    def above(mass: FloatArray) -> FloatArray:
        """The chance of more than each value, half of its own cell among it."""
        return mass.sum() - np.cumsum(mass) + mass / 2

    def added(mass: FloatArray, digit: FloatArray) -> FloatArray:
        """The law of a deficit that grows by a positive digit; two cells' sum is on an edge, half to each side."""
        cells = fftconvolve(mass[1:-1], digit[1:-1])[:DEFICIT_CELLS]
        total = mass[0] * digit
        total[1:-1] += (cells + np.append(0, cells[:-1])) / 2
        total[-1] = mass.sum() * digit.sum() - total[:-1].sum()
        return total

    free, tight = zero[::-1], 0 * zero
    for bit in range(N.bit_length()):  # both are divided by 2 a digit
        if N >> bit & 1:
            tight = tight * above(right) + wrong * above(free) + zero * keep * free.sum()
            free = right * above(free) + free * above(right) + zero * keep * free.sum()
        else:
            free, tight = keep * free + added(free, right), keep * tight + added(tight, wrong)
        free, tight = free / 2, tight / 2
    return min(float(tight.sum()) * 2 ** N.bit_length() / N, 1.0)


def parameter_count(N: int, words: int, slots: int, k: int, d: int) -> float:
    """Numbers in a model: N embeddings of dimension d, an MLP of width 2 words k that reads them and `slots`
    coordinates of relations and writes a code, its bias, and the unembedding."""
    width = 2.0 * words * k
    return N * float(d) + width * (d + slots + 1 + k) + N * float(k)


def superposition_dimension(N: int, words: int, k: int, target: float, resolution: Resolution = FINE) -> int | None:
    """The least d at which random superposition recalls with probability `target`; None beyond 10^9.

    >>> superposition_dimension(1024, 8, 64, 0.99)
    257
    """
    bend = 2 * math.log(N)
    guess = (words - 1) * bend / max(1 - bend / k, 1 / 8)
    return last_reaching(lambda d: superposition_recall(N, words, k, d, resolution), target, MOST_D, k, guess)


def cheapest(N: int, words: int, slots: int, target: float) -> tuple[int, int] | None:
    """Code length and dimension that reach the target with the fewest parameters; None where none do."""

    def cost(k: int) -> float:
        d = superposition_dimension(N, words, k, target, COARSE)
        return math.inf if d is None else parameter_count(N, words, slots, k, d)

    k = _least_costly(cost, 2, max(8, round(LONGEST_CODE * 2 * math.log(N))))
    d = superposition_dimension(N, words, k, target)
    return None if d is None else (k, d)


def best_within(N: int, words: int, slots: int, budget: int) -> tuple[int, int] | None:
    """Code length and dimension of the best recall that so many parameters buy; None where they buy none."""

    def affordable_d(k: int) -> int:
        spare = budget - parameter_count(N, words, slots, k, 0)
        return min(math.floor(spare / (N + 2 * words * k)), MOST_D)

    longest = last_reaching(lambda k: affordable_d(k) >= k, 1, 2, MOST_CODE, guess=2)
    if longest is None:
        return None
    k = _least_costly(lambda k: -superposition_recall(N, words, k, affordable_d(k), COARSE), 2, longest)
    return k, affordable_d(k)


def _least_costly(cost: Callable[[int], float], low: int, high: int) -> int:
    """An integer at which a cost with one valley in log k is least, by golden sections.

    SciPy's searches want a bracket whose ends cost more than its inside; here the valley may lie at an end, and
    costs may be infinite.
    """
    cost = functools.cache(cost)
    golden = (math.sqrt(5) - 1) / 2
    a, b = math.log(low), math.log(high)
    while b - a > CODE_TOLERANCE and round(math.exp(b)) - round(math.exp(a)) > 2:
        left, right = b - golden * (b - a), a + golden * (b - a)
        if cost(round(math.exp(left))) <= cost(round(math.exp(right))):
            b = right
        else:
            a = left
    around = range(max(low, round(math.exp(a))), min(high, round(math.exp(b))) + 1)
    return min(around, key=cost) if len(around) <= 4 else round(math.exp((a + b) / 2))
