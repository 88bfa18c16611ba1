"""The shape of the tokens' scores: their third and fourth cumulant over the vocabulary of one seed, by cause.

A token has a coefficient of its own in g, and with it a share of its score that no central limit averages: it depends
on the token's counts, as informative and as noise token, on its norm, and on its overlap with what all values share.
docs/derivations/seed.md, "The shape of the scores".
"""

from __future__ import annotations

import dataclasses
from math import comb

from .generic import Real, cbrt, maximum
from .step_two import (
    Pair,
    StepTwo,
    class_pull,
    fact_strength,
    input_power,
    lead,
    mean_pull,
    mean_squared,
    mlp_mean_squares,
    noise_strength,
    record,
    self_pull,
)
from .wishart_moments import along_mean_on_sphere

MEAN_EMBEDDING = "mean embedding"  # ends the name of a cause, with an MLP and without
OF_MEAN = (MEAN_EMBEDDING, "MLP noise: mean")  # causes that are quadratic in the label noise
LEAST = 1e-300  # guard: acts where there is no noise
LEAST_SHARE = 1 / 1000  # guard: of the mean embedding, below which it matters to nothing by how much it is more
LEAST_TIMES = 1e-6  # guard: acts where all of a seed's scores are their overlap with the trigger


def power_of_norm(k: int, p: StepTwo) -> Real:
    """E |z|^(2k) of a token's embedding."""
    out: Real = 1
    for i in range(k):
        out = out * (1 + p.kappa * 2 * i / p.d)
    return out


def own_multiplier(k: int, straight: Real, p: StepTwo) -> Real:
    """E h^k of h = z(c^2 Sigma + a)z = rho^2 c^2/V + rho straight, what a token's own coefficient adds to its score."""
    turn = p.c**2 / p.V
    return sum(comb(k, j) * turn**j * straight**(k - j) * power_of_norm(k + j, p) for j in range(k + 1))


@dataclasses.dataclass(frozen=True)
class Scores:
    """The scores of one seed: their `noise` by cause, as `step_two.parts` names it, the variance of their `overlap`
    with the trigger, and the lead T. As factors of the usual: the `label` noise, and the mean embedding's variance per
    label noise, `length`, whose squared length has the relative variance `spread` over seeds."""

    noise: dict[str, Real]
    overlap: Real
    lead: Real
    label: Real = 1
    length: Real = 1
    spread: Real = 0


def scores_of_seed(p: StepTwo, typical: dict[str, Real], square: Real, left: Real, T: Real, spread: Real) -> Scores:
    """Those of variance `square`, of which a share is `left` beside the trigger, where the `typical` noise is this.

    The variance differs by the label noise r = b0 Q, which counts twice in the mean embedding's part and once in the
    rest, and by the mean embedding's own spread: given the sum, log r is its regression.
    """
    S = maximum(sum(typical.values()), LEAST)
    share = maximum(sum(value for name, value in typical.items() if name.endswith(OF_MEAN)) / S, LEAST_SHARE)
    label_spread = 2 / p.d + 2 * (1 - 1 / p.N) / (p.V - 1)
    times = maximum(square * left / S, LEAST_TIMES)
    slope = (1 + share) * label_spread
    label = times**(slope / ((1 + share) * slope + share**2 * spread))
    mean = maximum(times - (1 - share) * label, 0) / share
    noise = {name: value * (mean if name.endswith(OF_MEAN) else label) for name, value in typical.items()}
    return Scores(noise, square * (1 - left), T, label, mean / label, spread)


def by_norm(p: StepTwo, noise: dict[str, Real], overlap: Real) -> tuple[Real, Real, Real]:
    """Derivative of a token's variance by its |z|^2; the part of it that is the mean embedding's; and how much larger
    it is by z'Mz, M = W'W/m, with whose neurons tokens pull on themselves.

    `noise` is the variance by cause, as `step_two.parts` names them; `overlap` that of the tokens' products with the
    trigger. What neurons have turned, a = W'x, lies where M is large: a'Ma/a'a is 1 + d/m for the sum of all neurons
    and for what they compare at random, 3 + d/m for what M itself has turned, the linear part.
    """
    q, m = p.d / p.V, p.moments

    def of(*causes: str) -> Real:
        return sum(value for name, value in noise.items() if name.endswith(causes))

    # d log variance/d(rho) of what is stored, of samples of the tokens themselves, and of the mean embedding's part
    stored_rho = (m[3] + 4 * m[2] * q + 3 * q**2 + 2 * q * (1 + q) * (1 + 2 * q)) / m[4]
    sampled_rho = (m[2] + q) / m[2]
    mean_rho = (m[2] + 4 * q + 3 * q**2) / m[3]
    embedding = of(MEAN_EMBEDDING)
    rest = sum(noise.values()) - embedding + overlap
    rest = rest + of("noise tokens", "informative tokens") * (stored_rho - 1)
    rest = rest + of("sequence sampling", "class covariance") * (sampled_rho - 1)
    if p.m is None:
        return rest + embedding * mean_rho, embedding * mean_rho, 0
    shared, along = (square * mean_squared(p)[0] for square in mlp_mean_squares(p))
    neurons, few = of("neurons"), p.d * p.width
    linear = p.A**2 * input_power(p.V, p.L, p.e) / (p.P0 * p.P2)
    turned = mean_rho * (shared * few + along * (2 + few)) + neurons * (2 * linear + few)
    return rest + (shared + along) * (mean_rho - 1) + embedding * mean_rho, embedding * mean_rho, turned


def norms(p: StepTwo, slope_of_variance: tuple[Real, Real, Real], label: Real) -> Real:
    """Long embeddings score higher and vary more: own coefficients (rho - 1)/(L V)^2 of the classes' own tokens
    and (rho - 1)/(N L V) of the sequences that hold them.

    The mean embedding is independent of the covariance about the mean if embeddings are Gaussian; on the sphere their
    norms tie them, which has the same effect; what it shows there by itself is in `along_mean_on_sphere`.
    """
    whole, embedding, turned = slope_of_variance
    own = (p.within * class_pull(p) + p.h1 * self_pull(p)) * (p.kappa * whole + turned)
    tied = label * (1 - p.kappa) * mean_pull(p) / p.V**2 * (p.V / p.d + 1) * (whole - embedding)
    return 3 * (2 / p.d) * (own - tied)


def directions(p: StepTwo, slope_of_variance: tuple[Real, Real, Real]) -> Real:
    """Fourth cumulant of a direction alone: minus that which the norm would add to make the score normal; -6/(d + 2) of
    one coordinate of a unit vector. That of the mean embedding alone is in `along_mean_on_sphere`."""
    whole, embedding, _ = slope_of_variance
    return -(1 - p.kappa) * 6 / (p.d + 2) * (whole**2 - embedding**2)


def shared_values(p: StepTwo, scores: Scores) -> Pair:
    """Third and fourth cumulant: a token's own coefficient v_b in the value direction enters twice, through h, and
    times the token's overlap q_b with what all values share, c zbar + e z_trig/L, which its score contains as well.

    v_b h + v_b q_b + s_b, v_b normal and q_b and s_b jointly normal, has 6 E[v^2] h E[q s] and
    12 E[v^2] E[q s]^2 + 12 (E[v^2] h)^2 E[q^2] + 6 (E[v^2] E[q^2])^2, with E|z|^6 and, in its first term, E|z|^8.
    """
    a, tight, label = p.e * p.c * p.tau / p.L, p.moments[2] / p.d, scores.label
    overlap = scores.length * mean_pull(p) * p.c * tight / (p.V * p.d) + p.e * scores.lead / (p.L * p.d)
    noise, facts = (p.K1**2 / p.V * strength for strength in (noise_strength(p), fact_strength(p)))
    straight = noise * p.c**2 * tight + facts * (p.c**2 * tight + a)  # E[v^2] h, and this and the next per label noise
    own = noise + facts
    square = (scores.length * p.c**2 / p.V + label * p.e * p.tau / p.L**2) / p.d  # E[q^2], times label noise
    fourth = 12 * label * (own * overlap**2 * (1 + 12 * p.kappa / p.d) + straight**2 * square)
    return 6 * label * straight * overlap * (1 + 6 * p.kappa / p.d), fourth + 6 * (own * square)**2


def own_counts(p: StepTwo) -> tuple[Real, Real, Real]:
    """(A, B, Y): a token's own share is A (n^2 - mean) + B n + sqrt(Y) n eta, eta normal: by its class count n as a
    stored fact, n(n - lam)/(L N^2), and c n(n - 1)/(L N)^2 by its class's covariance."""
    lam, a = p.lam, p.e * p.c * p.tau / p.L
    h = cbrt(own_multiplier(3, p.c**2 / p.d + a, p))
    by_fact, by_class = p.K1 * h / (p.L * p.N**2), p.within * p.c / (p.L * p.N)**2
    return by_fact + by_class, lam * by_fact + (2 * lam - 1) * by_class, by_fact**2 * lam * p.V / p.d


def class_counts(p: StepTwo) -> Pair:
    """Third and fourth cumulant of X = A (w^2 - lam) + B w + sqrt(Y) n eta, w = n - lam, n Poisson, eta normal."""
    (A, B, Y), lam = own_counts(p), p.lam
    central = [1]  # moments of w
    for k in range(1, 9):
        central.append(lam * sum(comb(k - 1, j) * central[j] for j in range(k - 1)))

    def mean(power: int, j: int = 0) -> Real:
        """E [A (w^2 - lam) + B w]^power w^j."""
        return sum(comb(power, i) * A**i * B**(power - i) * sum(
            comb(i, k) * (-lam)**(i - k) * central[2 * k + power - i + j] for k in range(i + 1))
            for i in range(power + 1))

    def with_count(power: int) -> Real:
        """Cov([A (w^2 - lam) + B w]^power, n^2)."""
        return mean(power, 2) - lam * mean(power) + 2 * lam * mean(power, 1)

    of_square = lam + 6 * lam**2 + 4 * lam**3  # Var n^2
    return (mean(3) + 3 * Y * with_count(1),
            mean(4) - 3 * mean(2)**2 + 6 * Y * with_count(2) + 3 * Y**2 * of_square)


@record("attention.cumulant.noise_counts", "Third cumulant of the tokens' scores by their counts as noise",
        "V L d N e tau kappa")
def noise_counts(p: StepTwo) -> Real:
    """A token stands M_y times as noise with label y, Poisson of mean rho n_y. Its own share is a quadratic form of
    these counts, c sum K_yy' M_y M_y'/(N L)^2 with K the outputs' Gram matrix, and a linear one,
    h sum M_y beta_y/(N L); h = rho^2 c^2/V + rho (c^2/d - e tau/L^2)."""
    V, d, N, lam, c = p.V, p.d, p.N, p.lam, p.c
    rho, unit = (p.L - 1) / V, 1 / (N * p.L)
    n2, n3 = V * (lam**2 + lam), V * (lam**3 + 3 * lam**2 + lam)
    straight = c**2 / d - p.e * p.tau / p.L**2
    h1, h2, h3 = (p.K1**k * own_multiplier(k, straight, p) for k in (1, 2, 3))
    form = p.K1 * c * unit**2
    # With D the counts of the labels, E of: tr (K D)^3; sum K^2 n n' beta; sum n beta K n' beta'; sum n beta^3
    cube = n3 + 3 * n2 * N / d + N**3 / d**2
    once = 1 + 2 * lam + N / d
    twice = lam * ((1 + 5 / lam + 1 / lam**2) / V + (3 + 1 / lam) / d + V / d**2)
    thrice = V * lam * ((4 * lam + 1) / N**3 + 3 / (N**2 * d))
    return (power_of_norm(3, p) * form**3 * (8 * rho**3 * cube + 4 * rho**2 * n2)
            + 12 * form**2 * rho**2 * h1 * unit * once
            + 6 * form * rho**2 * h2 * unit**2 * twice
            + rho * h3 * unit**3 * thrice)


def cumulants(p: StepTwo, scores: Scores) -> tuple[dict[str, Real], Real]:
    """The third cumulant of a token's score, by cause, and the fourth without what goes with the third ones of norms
    and noise counts."""
    slope, pull, mean = by_norm(p, scores.noise, scores.overlap), mean_pull(p), scores.length * scores.label
    # powers of the mean embedding's length, over their means: of a lognormal variable
    of_third, of_fourth = mean**(3 / 2) / (1 + scores.spread)**(3 / 8), mean**2 / (1 + scores.spread)
    embedding = [(1 - p.kappa) * value for value in along_mean_on_sphere(p.V, p.d)[1:]]
    third, fourth = class_counts(p)
    label = scores.label**(3 / 2)  # counts' own variance goes with the label noise
    shared, of_shared = shared_values(p, scores)
    by_cause = {"norms": norms(p, slope, scores.label), "mean embedding": pull**3 * embedding[0] * of_third,
                "shared values": shared, "class counts": label * third, "noise counts": label * noise_counts(p)}
    return by_cause, scores.label**2 * fourth + of_shared + directions(p, slope) + pull**4 * embedding[1] * of_fourth


record("attention.cumulant.mean_embedding", "Third cumulant of the tokens' products with Sigma zbar on the sphere",
       "V d")(lambda p: along_mean_on_sphere(p.V, p.d)[1])
record("attention.cumulant.mean_embedding.fourth",
       "Fourth cumulant of the tokens' products with Sigma zbar on the sphere",
       "V d")(lambda p: along_mean_on_sphere(p.V, p.d)[2])
record("attention.cumulant.class_counts.fourth", "Fourth cumulant of the tokens' scores by their counts as facts",
       "V L d N e tau kappa")(lambda p: class_counts(p)[1])
record("attention.cumulant.class_counts", "Third cumulant of the tokens' scores by their counts as facts",
       "V L d N e tau kappa")(lambda p: class_counts(p)[0])
record("attention.cumulant.shared_values", "Third cumulant of the tokens' scores by what all values share",
       "V L d N e tau b0 kappa")(lambda p: shared_values(p, Scores({}, 0, lead(p)))[0])  # at the mean lead
record("attention.cumulant.shared_values.fourth", "Fourth cumulant of the tokens' scores by what all values share",
       "V L d N e tau b0 kappa")(lambda p: shared_values(p, Scores({}, 0, lead(p)))[1])
