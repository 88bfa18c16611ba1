"""Step two in closed form: the lead of the informative token and the noise of the tokens' scores.

W_KQ z_EOS is proportional to g, and a key e scores e.g. Every function here takes the same arguments:

    V, L, d, N  the sizes; e = 1 where the trigger is in the values, else 0;
    tau         the squared norm of the trigger's embedding (1 on average; exactly 1 on the sphere);
    b0          the squared length of the output embeddings' projection on the label frequencies' noise, in
                units of its mean: |rbar|^2 = b0 (1 - 1/V)/N (1 on average, relative variance 2/d);
    kappa       1 for Gaussian embeddings, whose norms fluctuate, 0 for embeddings on the unit sphere.

Scores are in units of gamma eta, as Val1 and W_KQ leave them. The derivation, line by line, is
docs/derivations/attention.md; c = 1 - 1/L and lam = N/V throughout.
"""

from __future__ import annotations

from math import comb
from typing import Any

from .generic import power_of_complement, power_of_complement_less_one
from .registry import formula

__all__ = [
    "class_covariance",
    "distinct_rivals",
    "distinct_rivals_variance",
    "informative_tokens",
    "lead",
    "lead_variance",
    "mean_embedding",
    "noise_tokens",
    "power_of_complement",
    "sequence_sampling",
    "trigger_echo",
]

_WHERE = "docs/derivations/attention.md"
_REGIME = "V, d large at any ratio d/V; L and N/V at least 2"


# --- moments of the tokens' covariance ------------------------------------------------------------

def wishart(k: int, V: Any, d: Any, kappa: Any) -> Any:
    """E tr (d Sigma)^k / d for Sigma the covariance of V embeddings about their mean.

    Exact for k <= 4 and Gaussian embeddings (a real Wishart matrix of V - 1 degrees of freedom), to order
    1/V on the sphere; for k > 4 the limit of large V and d, the Narayana polynomial, in the ratio that is right
    for k = 2.
    """
    n = V - 1
    s = 2 * kappa - 1  # repeated tokens have |z|^2 + 1/d more (Gaussian) or less (sphere) to add
    if k == 1:
        return n / V
    if k == 2:
        return n * (n + d + s) / V**2
    if k == 3:
        return n * (n**2 + 3 * n * d + d**2 + s * 3 * (n + d) + 3 + kappa) / V**3
    if k == 4:
        return n * (n**3 + 6 * n**2 * d + 6 * n * d**2 + d**3 + s * 6 * (n**2 + d**2)
                    + (32 * kappa - 15) * n * d + (21 * (n + d) + 20) * kappa) / V**4
    q = (d + s) / n
    return (n / V)**k * (1 + sum(comb(k, j) * comb(k, j + 1) // k * q**j for j in range(1, k)))


# --- the label frequencies' noise ----------------------------------------------------------------

def pull_of_noise(V: Any, d: Any, N: Any, b0: Any) -> Any:
    """W = E sum_y p_y beta_y^2, with beta_y = r_y.rbar and p_y the frequency of label y."""
    lam = N / V
    rest = 1 - (2 + 1 / lam) / V  # outputs keep V - 1 directions, of which the noise itself takes one
    return (1 - 1 / V) * (b0 / d * rest + b0**2 * (1 + (1 - 2 / V) / lam) / V) / N


def pull_of_facts(V: Any, d: Any, N: Any, b0: Any) -> Any:
    """W2 = E sum_y p_y^2 beta_y^2."""
    lam = N / V
    rest = 1 - (2 + 1 / lam) / V
    return (1 - 1 / V) * (b0 * (1 + 1 / lam) / d * rest
                          + b0**2 * (1 + 5 / lam + 1 / lam**2) / V) / (N * V)


def noise_strength(V: Any, L: Any, d: Any, N: Any, b0: Any) -> Any:
    """s: the noise tokens' share of the value direction has covariance s Sigma."""
    return (1 - 1 / L) * pull_of_noise(V, d, N, b0) / (N * L)


def fact_strength(V: Any, L: Any, d: Any, N: Any, b0: Any) -> Any:
    """s: the informative tokens' share of the value direction has covariance s Sigma."""
    return pull_of_facts(V, d, N, b0) / L**2


# --- the lead ------------------------------------------------------------------------------------

@formula("attention.lead", title="The lead T = z_trig.g of the informative token, its mean over seeds at "
         "given tau and b0", provenance="derived", reference=_WHERE,
         regime="exact at any size (b0 = 1: the mean over b0 too)",
         limits="tau/(L^2 V) at large L, V, N")
def lead(V: Any, L: Any, d: Any, N: Any, e: Any, tau: Any, b0: Any) -> Any:
    """T0 = c (1 - 1/V) tau { (1 - 1/N)(1 + e/d)/(L^2 V) + (b0 - 1) q/((1 + q) N L^2)
    + e b0 [tau/L^2 + (1 - 1/V)/(L d)]/N }; the b0 - 1 is the share of it that the counts' spread has."""
    c = 1 - 1 / L
    stored = (1 - 1 / N) * (1 + e / d) / (L**2 * V) + (b0 - 1) * d / ((V + d) * N * L**2)
    self_pull = e * b0 * (tau / L**2 + (1 - 1 / V) / (L * d)) / N
    return c * (1 - 1 / V) * tau * (stored + self_pull)


# --- the variance of the tokens' scores ----------------------------------------------------------

def along_mean(k: int, V: Any, d: Any, kappa: Any) -> Any:
    """V d^k E zbar.Sigma^k zbar: m_k for Gaussian embeddings, whose mean is independent of Sigma; on the sphere
    less (2/V) sum_j m_j m_(k-j), to first order in 1/V."""
    m = [1] + [wishart(j, V, d, kappa) for j in range(1, k + 1)]
    return m[k] - (1 - kappa) * 2 / V * sum(m[j] * m[k - j] for j in range(1, k + 1))


def self_pull(V: Any, L: Any, N: Any) -> Any:
    """d/d|z|^2 of a token's mean score: in its own sequence a long embedding pulls more than its neighbours."""
    return (1 - 1 / L)**2 * (1 - 1 / V) / (N * L * V)


def class_pull(V: Any, L: Any) -> Any:
    """d/d|z|^2 of a token's mean score, from the covariance of its own class."""
    return (1 - 1 / L) / (L * V)**2


def mean_pull(V: Any, L: Any, N: Any, b0: Any, kappa: Any) -> Any:
    """The coefficient of Sigma zbar in g.

    On the sphere the norms about the mean are |z - zbar|^2 = const - 2 z.zbar: the pulls of long embeddings
    then add up along the mean, against it.
    """
    stored = (1 - 1 / L)**2 * (1 + 1 / L) * b0 * (1 - 1 / V) / N
    return stored - (1 - kappa) * 2 * V * (self_pull(V, L, N) + class_pull(V, L))


@formula("attention.variance.mean_embedding", title="Token noise: the mean embedding is not zero, and "
         "label noise stores it", provenance="derived", reference=_WHERE, regime=_REGIME,
         limits="V / (N^2 V^2 d^3) as d/V -> 0")
def mean_embedding(V: Any, L: Any, d: Any, N: Any, b0: Any, kappa: Any) -> Any:
    """M^2 m3 / (V d^3), M = c^2 (1 + 1/L) b0 (1 - 1/V)/N for Gaussian embeddings."""
    return mean_pull(V, L, N, b0, kappa)**2 * along_mean(3, V, d, kappa) / (V * d**3)


def _stored(strength: Any, a: Any, V: Any, L: Any, d: Any, kappa: Any) -> Any:
    """Variance over tokens of z.(c^2 Sigma + a)v for v of covariance strength * Sigma."""
    c = 1 - 1 / L
    m2, m3, m4 = (wishart(k, V, d, kappa) for k in (2, 3, 4))
    return strength * (c**4 * m4 / d**3 + 2 * c**2 * a * m3 / d**2 + a**2 * m2 / d)


@formula("attention.variance.noise_tokens", title="Token noise: noise tokens are stored by the correlation of "
         "outputs with the label noise", provenance="derived", reference=_WHERE, regime=_REGIME)
def noise_tokens(V: Any, L: Any, d: Any, N: Any, e: Any, tau: Any, b0: Any, kappa: Any) -> Any:
    """s [c^4 m4/d^3 + 2 c^2 a m3/d^2 + a^2 m2/d], s = c W/(N L), a = -e tau/L^2."""
    return _stored(noise_strength(V, L, d, N, b0), -e * tau / L**2, V, L, d, kappa)


@formula("attention.variance.informative_tokens", title="Token noise: informative tokens are stored by the "
         "correlation of outputs with the label noise", provenance="derived", reference=_WHERE,
         regime=_REGIME)
def informative_tokens(V: Any, L: Any, d: Any, N: Any, e: Any, tau: Any, b0: Any, kappa: Any) -> Any:
    """s [c^4 m4/d^3 + 2 c^2 a m3/d^2 + a^2 m2/d], s = W2/L^2, a = e c tau/L."""
    a = e * (1 - 1 / L) * tau / L
    return _stored(fact_strength(V, L, d, N, b0), a, V, L, d, kappa)


def _sequence_pull(V: Any, L: Any, d: Any, N: Any, e: Any, tau: Any, b0: Any, kappa: Any) -> Any:
    """E |m_y|^2/d, over samples: the squared pull of a random direction by a sample's label."""
    lam = N / V
    c = 1 - 1 / L
    facts = wishart(2, V, d, kappa) / d * ((1 + 1 / lam) / (d * V) + (1 + 3 / lam + 1 / lam**2) / V**2)
    W = pull_of_noise(V, d, N, b0)
    return facts / L**2 + W * e * tau / (L**2 * d) + W * c**2 / (V * d)


@formula("attention.variance.sequence_sampling", title="Token noise: each sequence holds a sample of the noise "
         "tokens, not their covariance", provenance="derived", reference=_WHERE, regime=_REGIME)
def sequence_sampling(V: Any, L: Any, d: Any, N: Any, e: Any, tau: Any, b0: Any, kappa: Any) -> Any:
    """(c^2/(N L)) [(m2/d) E_i + c b (m2^2 + q)/(N L d^2)] + kappa 2 V m2 self^2/d^2."""
    c = 1 - 1 / L
    m2 = wishart(2, V, d, kappa)
    b = 1 / d + (1 + V / N) / V
    pull = _sequence_pull(V, L, d, N, e, tau, b0, kappa)
    return (c**2 / (N * L) * (m2 / d * pull + c * b * (m2**2 + d / V) / (N * L * d**2))
            + kappa * 2 * V * m2 / d**2 * self_pull(V, L, N)**2)


def count_overlap(V: Any, L: Any, N: Any) -> Any:
    """2 V Cov of a token's two coefficients, n(n - lam)/(L N^2) as a stored fact and c n(n - 1)/(L N)^2."""
    lam = N / V
    return 2 * V * (1 - 1 / L) / (L**3 * N**4) * (2 * lam**3 + 4 * lam**2)


@formula("attention.variance.class_covariance", title="Token noise: the covariance within a class is its "
         "own informative token's", provenance="derived", reference=_WHERE, regime=_REGIME)
def class_covariance(V: Any, L: Any, d: Any, N: Any, e: Any, tau: Any, b0: Any, kappa: Any) -> Any:
    """m2 (c/L)^2/(V d) [the pull of the class on its token + the fluctuation of the token's own], and what
    of it goes with the stored informative tokens (through the class counts) and with `self_pull` (through norms)."""
    lam = N / V
    c = 1 - 1 / L
    m2 = wishart(2, V, d, kappa)
    second = 1 + 3 / lam + 1 / lam**2  # E n^2 (n - 1 ...)^2 / lam^4 of a Poisson count
    facts = (1 + 1 / lam) * ((1 + 1 / lam) / (V * L**2) + c * m2 / (N * L)) / d**2
    noise = second * c * m2 / (V * N * L * d)
    labels = pull_of_facts(V, d, N, b0) * c**2 / d
    own = 4 / lam + 2 / lam**2 + kappa * 4 / d * (1 + 4 / lam + 2 / lam**2)
    alone = m2 * (c / L)**2 / (V * d) * ((1 + e * tau) * (facts + noise + labels) + own / (V * L)**2)
    m3 = wishart(3, V, d, kappa)
    counts = b0 * count_overlap(V, L, N) * (c**2 * m3 / d**2 + e * c * tau / L * m2 / d)
    norms = kappa * 4 / d * class_pull(V, L) * self_pull(V, L, N) * V * m2 / d
    return alone + counts + norms


def echo(V: Any, L: Any, N: Any, e: Any, b0: Any) -> Any:
    """The coefficient of Sigma z_trig in g: through the label noise, and through the classes' own tokens."""
    c = 1 - 1 / L
    return e * (c**2 * b0 * (1 - 1 / V) / (N * L) + c / (L**2 * V))


@formula("attention.variance.trigger_echo", title="Token noise: the covariance of the tokens turns the "
         "stored trigger", provenance="derived", reference=_WHERE, regime=_REGIME,
         limits="0 as d/V -> 0, and without the trigger in the values")
def trigger_echo(V: Any, L: Any, d: Any, N: Any, e: Any, tau: Any, b0: Any, kappa: Any) -> Any:
    """(tau/d) [2 g_t k (m2 - 1)/d + k^2 (m3 - 2 m2 + 1)/d^2], k = e (c^2 rr/L + c/(L^2 V)), g_t = T0/tau."""
    k = echo(V, L, N, e, b0)
    g_t = lead(V, L, d, N, e, tau, b0) / tau
    m2, m3 = wishart(2, V, d, kappa), wishart(3, V, d, kappa)
    return tau / d * (2 * g_t * k * (m2 - 1) / d + k**2 * (m3 - 2 * m2 + 1) / d**2)


# --- the variance of the lead over seeds -----------------------------------------------------------

def _shared(strength: Any, a: Any, tau: Any, V: Any, L: Any, d: Any, kappa: Any) -> Any:
    """Variance of z_trig.(c^2 Sigma + a)v for v of covariance strength * Sigma."""
    c = 1 - 1 / L
    m1, m2, m3 = (wishart(k, V, d, kappa) for k in (1, 2, 3))
    return strength * tau / d * (c**4 * m3 / d**2 + 2 * c**2 * a * m2 / d + a**2 * m1)


def lead_variance_parts(V: Any, L: Any, d: Any, N: Any, e: Any, tau: Any, b0: Any,
                        kappa: Any) -> dict[str, Any]:
    """The summands of `lead_variance`, by cause."""
    c = 1 - 1 / L
    lam = N / V
    rr = b0 * (1 - 1 / V) / N
    m2 = wishart(2, V, d, kappa)
    second = 1 + 3 / lam + 1 / lam**2
    W2 = pull_of_facts(V, d, N, b0)
    b = 1 / d + (1 + 1 / lam) / V
    pulled, turned = mean_pull(V, L, N, b0, kappa), rr * e * c * tau / L
    stored = (2 * (1 + 1 / lam)**2 / (L * V * d)**2
              + ((1 + 1 / lam) / d + second / V) * c * m2 * (1 - 1 / (c * L))**2 / (L * d * N * V)
              + 2 * m2 * (1 / d + 1 / V) / (L * N)**2 / d
              + c**2 * W2 / (V * d)
              + kappa * 4 / d * (1 + 4 / lam + 2 / lam**2) / (L**2 * V**3)
              + 2 / ((V + d) * (N * L)**2))
    pull = _sequence_pull(V, L, d, N, e, tau, b0, kappa)
    return {
        "noise tokens": _shared(noise_strength(V, L, d, N, b0), e * tau * (c / L - 2 / L**2), tau,
                                V, L, d, kappa),
        "informative tokens": _shared(fact_strength(V, L, d, N, b0), 3 * e * c * tau / L, tau,
                                      V, L, d, kappa),
        "mean embedding": tau / (V * d) * (
            pulled**2 * along_mean(2, V, d, kappa) / d**2
            + 2 * pulled * turned * along_mean(1, V, d, kappa) / d + turned**2),
        "stored trigger": tau**2 * (c / L)**2 * stored,
        "sequence sampling": tau * (c**2 / (N * L) * (pull / d + c * b * m2 / (N * L * d**2))
                                    + kappa * 2 * V / d**2 * self_pull(V, L, N)**2),
        "class covariance": tau * class_covariance(V, L, d, N, e, tau, b0, kappa),
    }


@formula("attention.lead_variance", title="Variance over seeds of the lead T at given tau and b0",
         provenance="derived", reference=_WHERE, regime=_REGIME)
def lead_variance(V: Any, L: Any, d: Any, N: Any, e: Any, tau: Any, b0: Any, kappa: Any) -> Any:
    """The token noise seen by z_trig (one power of Sigma less) and the fluctuation of g_t."""
    parts = list(lead_variance_parts(V, L, d, N, e, tau, b0, kappa).values())
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


# --- the rivals of a sequence ----------------------------------------------------------------------

@formula("attention.rivals", title="Mean number of distinct tokens, other than the informative one, among "
         "the L - 1 noise tokens", provenance="derived", reference=_WHERE, regime="exact",
         limits="L - 1 as V -> infinity, V - 1 as L -> infinity")
def distinct_rivals(V: Any, L: Any) -> Any:
    """(V - 1) (1 - (1 - 1/V)^(L-1))."""
    return -(V - 1) * power_of_complement_less_one(V, L - 1)


@formula("attention.rivals_variance", title="Variance of the number of distinct tokens, other than the "
         "informative one, among the L - 1 noise tokens", provenance="derived", reference=_WHERE,
         regime="exact", limits="0 as V -> infinity at fixed L")
def distinct_rivals_variance(V: Any, L: Any) -> Any:
    """(V - 1) [a + (V - 2) b - (V - 1) a^2], a = (1 - 1/V)^(L-1), b = (1 - 2/V)^(L-1).

    Written with 1 - a and b/a^2 - 1 = (1 - 1/(V-1)^2)^(L-1) - 1: a, b and a^2 alone cancel at large V.
    """
    a = power_of_complement(V, L - 1)
    beside = (V - 2) * a * power_of_complement_less_one((V - 1) ** 2, L - 1)
    return (V - 1) * a * (beside - power_of_complement_less_one(V, L - 1))
