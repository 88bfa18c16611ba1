"""The shape of the tokens' scores: how far from Gaussian they are over the vocabulary of one seed.

A token has a coefficient of its own in g, and with it a share of its score that no central limit averages:
it depends on the token's class count n (Poisson), on its norm, and on its overlap with what all values share.
What counts for attention is the third cumulant, and at few samples a fact the fourth.
"""

from __future__ import annotations

from math import comb
from typing import Any

from .formulas import attention_formulas as at

__all__ = ["score_cumulants"]


def _own_multiplier(k: int, straight: Any, V: Any, L: Any, d: Any, kappa: Any) -> Any:
    """E h^k of h = z(c^2 Sigma + a)z = rho^2 c^2/V + rho straight, what a token's own coefficient adds to its score."""
    turn = (1 - 1 / L)**2 / V
    total: Any = 0
    for j in range(k + 1):
        moment: Any = 1
        for i in range(k + j):
            moment = moment * (1 + kappa * 2 * i / d)  # E rho^n of a chi^2_d / d
        total = total + comb(k, j) * turn**j * straight**(k - j) * moment
    return total


def _count_cumulants(A: Any, B: Any, Y: Any, lam: Any) -> tuple[Any, Any]:
    """Third and fourth cumulant of A (w^2 - lam) + B w + sqrt(Y) n eta, w = n - lam, n Poisson, eta normal."""
    m2, m3, m4 = lam, lam, 3 * lam**2 + lam
    m5, m6 = 10 * lam**2 + lam, 15 * lam**3 + 25 * lam**2 + lam
    m7 = 105 * lam**3 + 56 * lam**2 + lam
    m8 = 105 * lam**4 + 490 * lam**3 + 119 * lam**2 + lam
    s2, s12, s112 = m4 - m2**2, m3, m5 - m2 * m3  # moments of w^2 - lam with w
    second = A**2 * s2 + 2 * A * B * s12 + B**2 * m2
    third = (A**3 * (m6 - 3 * lam * m4 + 2 * lam**3) + 3 * A**2 * B * (m5 - 2 * lam * m3)
             + 3 * A * B**2 * s2 + B**3 * m3)
    fourth = (A**4 * (m8 - 4 * lam * m6 + 6 * lam**2 * m4 - 3 * lam**4)
              + 4 * A**3 * B * (m7 - 3 * lam * m5 + 3 * lam**2 * m3)
              + 6 * A**2 * B**2 * (m6 - 2 * lam * m4 + lam**3)
              + 4 * A * B**3 * s112 + B**4 * m4)
    n2, n4 = lam**2 + lam, lam**4 + 6 * lam**3 + 7 * lam**2 + lam
    # Cov of the first two summands, and of their square, with n^2 = w^2 + 2 lam w + lam^2
    once = A * s2 + (2 * lam * A + B) * s12 + 2 * lam * B * m2
    square_w2 = (A**2 * (m6 - 2 * lam * m4 + lam**3) + 2 * A * B * s112 + B**2 * m4) - second * lam
    square_w = A**2 * (m5 - 2 * lam * m3) + 2 * A * B * s2 + B**2 * m3
    twice = square_w2 + 2 * lam * square_w
    return (third + 3 * Y * once,
            fourth - 3 * second**2 + 6 * Y * twice + 3 * Y**2 * (n4 - n2**2))


def score_cumulants(V: Any, L: Any, d: Any, N: Any, e: Any, tau: Any, kappa: Any, variance: Any, stored: Any,
                    overlap: Any, lead: Any) -> tuple[Any, Any]:
    """Third and fourth cumulant of the token scores in units of sigma, sigma^2 = variance + overlap.

    `stored` is the part of the variance that comes through the tokens' covariance (mean embedding, noise and
    informative tokens), `overlap` that of the tokens' products with the trigger, `lead` is T.
    """
    c = 1 - 1 / L
    lam = N / V
    q = d / V
    m2, m3, m4 = (at.wishart(k, V, d, kappa) for k in (2, 3, 4))
    strength = at.noise_strength(V, L, d, N, 1)
    facts = at.fact_strength(V, L, d, N, 1)
    a = e * c * tau / L
    # 1. Long embeddings score higher and vary more: own coefficients (rho - 1)/(L V)^2 of the classes' own tokens
    # and (rho - 1)/(N L V) of the sequences that hold them. The mean embedding is independent of the covariance
    # about the mean if embeddings are Gaussian; on the sphere their norms tie them, which has the same effect.
    mean = at.mean_pull(V, L, N, 1, kappa)
    slope = kappa * (at.class_pull(V, L) + at.self_pull(V, L, N)) - (1 - kappa) * mean / V**2 * (V / d + 1)
    # d log variance/d(rho) of what is stored, and of the mean embedding's part of it
    stored_rho = (m3 + 4 * m2 * q + 3 * q**2 + 2 * q * (1 + q) * (1 + 2 * q)) / m4
    mean_rho = (m2 + 4 * q + 3 * q**2) / m3
    embedding = at.mean_embedding(V, L, d, N, 1, kappa)
    norms = 3 * (2 / d) * slope * (variance + overlap + (stored - embedding) * (stored_rho - 1)
                                   + embedding * (mean_rho - 1))
    # 2. A token's own coefficient v_b in the value direction enters twice: through h, and times the token's overlap
    # with what all values share, c zbar + e z_trig/L, which its score contains as well.
    tight = m2 / d
    shared = (mean * c * tight / (V * d) + e * lead / (L * d)) * (1 + 6 * kappa / d)
    common = 6 / V * (strength * c**2 * tight + facts * (c**2 * tight + a)) * shared
    # 3. Class counts: n(n - lam)/(L N^2) as a stored fact and c n(n - 1)/(L N)^2 by its class's covariance.
    h = _own_multiplier(3, c**2 / d + a, V, L, d, kappa)**(1 / 3)
    by_fact, by_class = h / (L * N**2), c / (L * N)**2
    third, fourth = _count_cumulants(by_fact + by_class, lam * by_fact + (2 * lam - 1) * by_class,
                                     by_fact**2 * lam / q, lam)
    # 4. Counts as a noise token, weighted by the labels' pull beta.
    h = _own_multiplier(3, c**2 / d - e * tau / L**2, V, L, d, kappa)
    weighted = h * c / L**2 / N**3 * V * (lam * (4 * lam + 1) / N**3 + 3 * lam / (N**2 * d))
    sigma2 = variance + overlap
    skew = (norms + common + third + weighted) / sigma2**(3 / 2)
    return skew, fourth / sigma2**2 - (1 - kappa) * 6 / (d + 2)
