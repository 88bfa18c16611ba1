"""Step two in closed form: the lead of the informative token and the noise of the tokens' scores, MLP or not.

W_KQ z_EOS is proportional to g, and a key e scores e.g. A neuron sees w.h, a Gaussian of variance s = |h|^2 over the
weights w, with h an averaged embedding, so that an activation phi enters by a few moments over N(0, s). Attention-only
is the identity (A = h1 = 1, the others 0) at 1/m = 0. Scores are in units of gamma eta, as Val1 and W_KQ leave them.
The derivation, line by line, is docs/derivations/seed.md.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import TypeVar, cast

from .generic import Real, maximum, minimum, power_of_complement, power_of_complement_less_one, sign, sqrt
from .registry import Row, formula
from .wishart_moments import all_moments, along_mean_on_sphere

Pair = tuple[Real, Real]  # what a token's score sees, and what the trigger sees
Law = Callable[["StepTwo"], Real]
Result = TypeVar("Result")

_WHERE = "docs/derivations/seed.md"
_REGIME = "V, d large at any ratio d/V; L and N/V at least 2"
_MLP_REGIME = "V, d, m large; L at least 8; N/V at least 2"
_ALONE = "V L d N e tau b0 Q kappa"
_NEURONS = "A B A2 A3 A4 C0 C1 D1 K1 h0 h1 h2 h3 h4 h5 h6 A0 P0 P2"
_exact: Row = functools.partial(formula, reference=_WHERE, regime="exact")


@dataclasses.dataclass(frozen=True)
class StepTwo:
    """What step two depends on: numbers, arrays that broadcast, or symbols.

    V, L, d, N  the sizes; e = 1 where the trigger is in the values, else 0;
    kappa       1 for Gaussian embeddings, whose norms fluctuate, 0 for embeddings on the unit sphere;
    tau         the squared norm of the trigger's embedding (1 on average; exactly 1 on the sphere);
    Q           sum_y (n_y - N/V)^2 of the label counts, in units of its mean N (1 - 1/V);
    b0          the squared length of the output embeddings' projection on the label frequencies' noise, in
                units of its mean: |rbar|^2 = b0 Q (1 - 1/V)/N (1 on average, relative variance 2/d);
    m           the width of the MLP, None without one; then moments over a neuron's input u ~ N(0, s):
    A           (E phi')^2, and what the spread of inputs adds: the linear part;
    B           E phi E phi'', norms of the averaged embeddings, through the mean of phi;
    A2          (E phi'')^2, the quadratic part;
    A3, A4      E phi' E phi''' and E phi'' E phi'''', by which these two change with a sample's norm;
    C0, C1      (E phi'(u) phi'(v) - A)/rho at the overlap rho = eta of samples of two facts, and of one: A2 at none;
    D1          the slope over rho of E phi(u) phi''(v), between these two;
    K1          E phi'(u) phi'(v) + E phi(u) phi''(v) of two samples' inputs, of covariance eta: A + B at none;
    h0, h1, h2  E phi phi', and the mean of its first and second derivative (the self pull);
    h3          E phi' E phi'': what facts add to h0;
    h6, h4, h5  the mean of the third and fourth derivative of phi phi', and the derivative of h3 by s;
    A0, P0, P2  (E phi)^2, E phi^2, the power of a neuron, and E phi'^2, the power of its slope.
    """

    V: Real
    L: Real
    d: Real
    N: Real
    e: Real = 1
    kappa: Real = 1
    tau: Real = 1
    b0: Real = 1
    Q: Real = 1
    m: Real = None
    A: Real = 1
    B: Real = 0
    A2: Real = 0
    A3: Real = 0
    A4: Real = 0
    C0: Real = 0
    C1: Real = 0
    D1: Real = 0
    K1: Real = 1
    h0: Real = 0
    h1: Real = 1
    h2: Real = 0
    h3: Real = 0
    h4: Real = 0
    h5: Real = 0
    h6: Real = 0
    A0: Real = 0
    P0: Real = 0
    P2: Real = 0

    @functools.cached_property
    def c(self) -> Real:
        """Share of a sequence's covariance that its own mean leaves."""
        return 1 - 1 / self.L

    @functools.cached_property
    def lam(self) -> Real:
        """Samples a fact."""
        return self.N / self.V

    @functools.cached_property
    def rr(self) -> Real:
        """|rbar|^2, the power of the label frequencies' noise."""
        return self.b0 * self.Q * (1 - 1 / self.V) / self.N

    @functools.cached_property
    def w0(self) -> Real:
        """Two samples' labels pull on each other by the outputs' overlap or by being equal."""
        return 1 / self.d + 1 / self.V + 1 / self.N

    @functools.cached_property
    def eta(self) -> Real:
        """Overlap of two averaged embeddings: by the trigger and by the mean embedding."""
        return input_overlap(self.V, self.L, self.e * self.tau)

    @functools.cached_property
    def within(self) -> Real:
        """The kernel's slope between two samples of a fact, which overlap by the informative embedding too."""
        return self.A + self.A2 * (self.eta + (1 + self.e * self.tau) / self.L**2)

    @functools.cached_property
    def width(self) -> Real:
        """1/m, 0 without an MLP."""
        return 0 if self.m is None else 1 / self.m

    @functools.cached_property
    def moments(self) -> dict[int, Real]:
        """m_k = E tr (d Sigma)^k/d of the tokens' covariance."""
        return all_moments(self.V, self.d, self.kappa)

    def trace(self, k: int) -> Real:
        """E tr Sigma^k."""
        return self.moments[k] / self.d**(k - 1)

    def along(self, k: int) -> Real:
        """z_trig.Sigma^k z_trig."""
        return self.tau * self.moments[k] / self.d**k

    def gap(self, k: int) -> Real:
        """tr (Sigma - 1/d) Sigma^k / d."""
        return (self.moments[k + 1] - self.moments[k]) / self.d**(k + 1)


def once(law: Callable[[StepTwo], Result]) -> Callable[[StepTwo], Result]:
    """The function, computed once for a `StepTwo` and kept with it: causes of noise share much."""
    key = f"{law.__name__}()"

    @functools.wraps(law)
    def kept(p: StepTwo) -> Result:
        known = p.__dict__
        if key not in known:
            known[key] = law(p)
        return cast("Result", known[key])

    return kept


def record(name: str, title: str, arguments: str = _ALONE, mlp: bool = False, regime: str = "",
           limits: str = "") -> Callable[[Law], Law]:
    """Register a function of `StepTwo` as a formula of the named arguments."""
    return formula(name, title, reference=_WHERE, regime=regime or (_MLP_REGIME if mlp else _REGIME), limits=limits,
                   of=StepTwo, arguments=arguments)


@_exact("mlp.input_power",
        "Mean squared norm of an averaged embedding: the variance of a neuron's input in steps one and two",
        regime="exact for tau = 1", limits="1/L at large L and V")
def input_power(V: Real, L: Real, e: Real) -> Real:
    """s = 1/L + (1 - 1/L)/V + e/L^2."""
    return 1 / L + (1 - 1 / L) / V + e / L**2


def input_overlap(V: Real, L: Real, e: Real) -> Real:
    """1/V + e/L^2, the overlap of two samples' averaged embeddings: by the mean embedding and by the trigger."""
    return 1 / V + e / L**2


# --- the label frequencies' noise ----------------------------------------------------------------

def given_counts(p: StepTwo, mean: Real, slope: Real) -> Real:
    """A sum over labels of a function of their Poisson counts, given Q: its mean, its derivative by Q at 1 (regressed
    on the second Poisson-Charlier polynomial), and a power of Q between, which keeps it positive; 2/V is Q's variance.

    The power is at most sqrt(V), as far as the mean of Q^power is 1 + power (power - 1)/V: less at N < V alone.
    """
    power = minimum(slope / mean, sqrt(p.V))
    return mean * p.Q**power / (1 + power * (power - 1) / p.V)


@once
def squared_counts(p: StepTwo) -> Real:
    """V sum_y n_y^2/N^2."""
    return 1 + p.Q / p.lam


@once
def cubed_counts(p: StepTwo) -> Real:
    """V^2 sum_y n_y^3/N^3."""
    return given_counts(p, 1 + 3 / p.lam + 1 / p.lam**2, 3 / p.lam + 3 / p.lam**2)


def left_beside(p: StepTwo, share: Real) -> Real:
    """What outputs add to beta beside the label noise: they keep V - 1 directions, of which that noise takes one, with
    V sum p^k delta^2/(|delta|^2 sum p^k) = share; on the sphere twice more, since their own norms are fixed."""
    return 1 / (1 + (1 + (3 - 2 * p.kappa) * share) / p.V)


@record("attention.pull_of_noise", "Mean squared pull on noise tokens by the correlation of outputs with the label "
        "noise", "V d N b0 Q")
@once
def pull_of_noise(p: StepTwo) -> Real:
    """W = E sum_y p_y beta_y^2, with beta_y = r_y.rbar and p_y the frequency of label y."""
    V, lam = p.V, p.lam
    skewed = given_counts(p, 1 + (1 - 2 / V) / lam, 1 + 3 / lam)
    rest = left_beside(p, 1 + 1 / lam)
    return (1 - 1 / V) * (p.b0 * p.Q / p.d * rest + p.b0**2 * skewed / V) / p.N


@record("attention.pull_of_facts", "Mean squared pull on informative tokens by the correlation of outputs with the "
        "label noise", "V d N b0 Q")
@once
def pull_of_facts(p: StepTwo) -> Real:
    """W2 = E sum_y p_y^2 beta_y^2."""
    V, lam = p.V, p.lam
    skewed = given_counts(p, 1 + 5 / lam + 1 / lam**2, 1 + 12 / lam + 7 / lam**2)
    rest = left_beside(p, (1 + 5 / lam + 1 / lam**2) / (1 + 1 / lam))
    return (1 - 1 / V) * (p.b0 * p.Q * squared_counts(p) / p.d * rest + p.b0**2 * skewed / V) / (p.N * V)


def noise_strength(p: StepTwo) -> Real:
    """s: the noise tokens' share of the value direction has covariance s Sigma."""
    return p.c * pull_of_noise(p) / (p.N * p.L)


def fact_strength(p: StepTwo) -> Real:
    """s: the informative tokens' share of the value direction has covariance s Sigma; the rr/V that all share add up to
    nothing about their mean."""
    return (pull_of_facts(p) - p.rr**2 / p.V) / p.L**2


# --- the lead ------------------------------------------------------------------------------------

def self_lead(p: StepTwo) -> Real:
    """The part of the lead that each sample exerts on itself, through |rbar|^2."""
    V, L = p.V, p.L
    return p.c * (1 - 1 / V) * p.tau * p.e * p.b0 * p.Q * (p.tau / L**2 + (1 - 1 / V) / (L * p.d)) / p.N


def stored_lead(p: StepTwo) -> Real:
    """The part of the lead that facts store."""
    V, L, d, N = p.V, p.L, p.d, p.N
    stored = (1 - 1 / N) * (1 + p.e / d) / (L**2 * V) + (p.Q - 1) / (N * L**2)
    return p.c * (1 - 1 / V) * p.tau * stored


@record("mlp.attention.curved_lead", "The lead that the curvature of the activation adds",
        "V L d e tau kappa A2 A3 A4 C0 C1 D1", mlp=True, limits="A2 tau (1 + 2 tau)/(V L^4) at V >> L^2, d >> 1")
@once
def curved_lead(p: StepTwo) -> Real:
    d, e, kappa, tau, L, V = p.d, p.e, p.kappa, p.tau, p.L, p.V
    fact, trigger = 1 / L**2, e * tau / L**2  # what samples of one fact, and any two, overlap by
    shared = p.eta + fact
    mean = p.C1 * shared * (fact + trigger) - p.C0 * p.eta * trigger + p.D1 * fact * trigger
    first = fact * (shared + trigger)  # the same to first order in the overlap, per A2
    drawn = (2 * kappa - 1 + 4 * e * (1 + tau) + 4 * e * kappa / d) * fact**2
    of_norms = (kappa + 3 * e * tau + 4 * e * kappa / d) * fact**2  # a sample's mean of phi goes with its norm
    echo = e * (1 - 2 / L) * (1 + 2 * p.moments[2] / d) / L**3
    quadratic = p.A2 * (drawn + of_norms + echo + 2 * fact / V)
    # samples' norms hold the informative token, and go with their overlap with it
    own = 4 * (e * tau + kappa) * p.A3 * fact**2
    own += p.A4 * (6 * e * tau * (2 + tau) + 6 * kappa * (1 + e * tau)) * fact**3
    short = 2 * p.A4 * input_power(V, L, e) * first / (p.c * L)
    return p.c * tau * (1 - 1 / V) / V * (mean + (quadratic + own - short) / d)


@record("mlp.attention.lead_by_mean_embedding", "What of the lead goes with the mean embedding's length, squared",
        "V L tau C1", mlp=True)
def lead_by_mean(p: StepTwo) -> Real:
    """The squared length has the relative variance 2/d."""
    return p.c * p.tau * (1 - 1 / p.V) * p.C1 / (p.V * p.L)**2


@record("mlp.attention.lead", "The lead T of the informative token, its mean over seeds and weights",
        "V L d N e tau b0 Q kappa A A2 A3 A4 C0 C1 D1 h1", mlp=True,
        limits="A times the Attention-only lead where A2 = 0 and h1 = A")
@record("attention.lead", "The lead T = z_trig.g of the informative token, its mean over seeds at given tau, b0 and Q",
        "V L d N e tau b0 Q", regime="exact at any size (b0 = Q = 1: the mean over both)",
        limits="tau/(L^2 V) at large L, V, N")
@once
def lead(p: StepTwo) -> Real:
    return p.A * stored_lead(p) + p.h1 * self_lead(p) + curved_lead(p)


# --- building blocks -----------------------------------------------------------------------------

def along_mean(k: int, p: StepTwo) -> Real:
    """E zbar.Sigma^k zbar: m_k/(V d^k) for Gaussian embeddings, whose mean is independent of Sigma; on the sphere m_k
    is less by (2/V) sum_j m_j m_(k-j), to first order in 1/V."""
    m = p.moments
    tied = (1 - p.kappa) * 2 / p.V * sum(m[j] * m[k - j] for j in range(1, k + 1))
    return (m[k] - tied) / (p.V * p.d**k)


def self_pull(p: StepTwo) -> Real:
    """d/d|z|^2 of a token's mean score: in its own sequence a long embedding pulls more than its neighbours."""
    return p.c**2 * (1 - 1 / p.V) / (p.N * p.L * p.V)


def class_pull(p: StepTwo) -> Real:
    """d/d|z|^2 of a token's mean score, from the covariance of its own class."""
    return p.c / (p.L * p.V)**2


@record("mlp.attention.rise", "What samples of one fact store of the mean embedding and of the trigger's echo",
        "V L N e tau Q C0 C1 D1", mlp=True, limits="A2/(V L^2) at V >> L^2")
@once
def rise(p: StepTwo) -> Real:
    """The kernel is steeper between samples of one fact than between others: by how much, per mean embedding."""
    steeper = p.C1 * (p.eta + 1 / p.L**2) - p.C0 * p.eta + p.D1 / p.L**2
    return steeper * (1 - 1 / p.V) * (1 / p.V + (p.Q - 1) / p.N)


@once
def mean_pull(p: StepTwo) -> Real:
    """The coefficient of Sigma zbar in g: through the label noise, and through samples of one fact.

    On the sphere the norms about the mean are |z - zbar|^2 = const - 2 z.zbar: the pulls of long embeddings
    then add up along the mean, against it. With an MLP a sample that lies along the mean, or all samples where the mean
    is long, have inputs of more power: `longer` of it, half of h6 being the derivative of h1 by the power.
    """
    m = p.moments
    longer = m[4] / (m[3] * p.d * p.L) + 1 / (p.V * p.d)
    stored = p.c**2 * ((1 + 1 / p.L) * (p.h1 + p.h6 * longer) * p.rr + (1 + (1 + p.e * p.tau) / p.L) * rise(p))
    return stored - (1 - p.kappa) * 2 * p.V * (p.h1 * self_pull(p) + p.within * class_pull(p))


@once
def echo(p: StepTwo) -> Real:
    """The coefficient of Sigma z_trig in g: through the label noise, samples of one fact, and classes' own tokens."""
    return p.e * ((p.h1 * p.c * p.rr + rise(p)) * p.c / p.L + p.within * p.c / p.L**2 * (1 / p.V + (p.Q - 1) / p.N))


@once
def stored_by_outputs(p: StepTwo) -> tuple[tuple[Real, Real, Real], tuple[Real, Real, Real]]:
    """(strength, a, b) of what informative and what noise tokens add to the value direction: a vector of covariance
    strength Sigma, which tokens see through c Sigma + a, and the trigger through c Sigma + b."""
    trigger = p.e * p.tau / p.L
    return ((fact_strength(p), trigger * p.c, 3 * trigger * p.c),
            (noise_strength(p), -trigger / p.L, trigger * (p.c - 2 / p.L)))


def _turned(p: StepTwo, k: int, first: Real, second: Real) -> Real:
    """tr Sigma^(k + 2) (c Sigma + first)(c Sigma + second)."""
    return p.c**2 * p.trace(k + 4) + p.c * (first + second) * p.trace(k + 3) + first * second * p.trace(k + 2)


def _stored(p: StepTwo, strength: Real, a: Real, b: Real) -> Pair:
    """Variance over tokens of z.(c Sigma + a)v, and of z_trig.(c Sigma + b)v; v has covariance strength Sigma, and
    weighs what the outputs store."""
    weight = (1 - p.width) * p.K1**2 * strength
    return weight * _turned(p, 0, a, a), weight * p.tau / p.d * _turned(p, -1, b, b)


def _walks(p: StepTwo, k: int) -> tuple[Pair, Pair]:
    """The two pieces of V[S^k], as (token, lead): S M S + S tr S M, and z z' tr S M + e (S z'M z + S M z z' + z z'M S),
    M = S^k.

    V[M] = E dC M dC with dC the fluctuation of C_i over samples, or of C^k over facts. A token sees tr S V beside the
    trigger, since its overlap with what is stored along the trigger follows from the lead; the lead sees
    z_trig'V z_trig.
    """
    trace, along, tau, e = p.trace, p.along, p.tau, p.e
    walked = trace(k + 3) + trace(2) * trace(k + 1), along(k + 2) + along(1) * trace(k + 1)
    turned = (e * trace(2) * along(k),
              tau**2 * trace(k + 1) + e * (along(1) * along(k) + 2 * tau * along(k + 1)))
    return walked, turned


def over_samples(p: StepTwo, k: int) -> Pair:
    """V[S^k] over samples: (c^2/(L-1)) of the tokens' piece and c/L^2 of the trigger's."""
    walked, turned = _walks(p, k)
    return p.c / p.L * walked[0] + p.c / p.L**2 * turned[0], p.c / p.L * walked[1] + p.c / p.L**2 * turned[1]


def over_facts(p: StepTwo, k: int) -> Pair:
    """V[S^k] over facts: (c/L)^2 of both pieces."""
    walked, turned = _walks(p, k)
    return (p.c / p.L)**2 * (walked[0] + turned[0]), (p.c / p.L)**2 * (walked[1] + turned[1])


@once
def mean_squared(p: StepTwo) -> Pair:
    """The pair for Cbar^2, Cbar = c (S + e z_trig z_trig'/L) the mean covariance of keys and values; a token sees it
    beside the trigger."""
    d, e, tau, L = p.d, p.e, p.tau, p.L
    return p.c**2 * p.trace(3), p.c**2 * (p.along(2) + e * (2 * tau**2 / (d * L) + tau**3 / L**2))


@once
def count_overlap(p: StepTwo) -> Real:
    """2 V Cov of a token's two coefficients, n(n - lam)/(L N^2) as a stored fact and c n(n - 1)/(L N)^2. On the sphere
    each of |u|^2, |u|^2 and |z|^2 about the mean is 1 - 1/V; of Gaussian embeddings, norms make up for it."""
    covariance = given_counts(p, 2 * p.lam**3 + 4 * p.lam**2, 2 * p.lam**3 + 12 * p.lam**2 + 4 * p.lam)
    return 2 * p.V * p.c / (p.L**3 * p.N**4) * covariance * (1 - 1 / p.V)**(3 * (1 - p.kappa))


# --- the noise, by cause: variance of a token's score and, over seeds, of the lead ------------------

def mean_embedding(p: StepTwo) -> Pair:
    """The mean embedding is not zero, and label noise stores it."""
    pulled, turned = mean_pull(p), (p.h1 * p.rr + rise(p)) * p.e * p.c * p.tau / p.L
    seen = pulled**2 * along_mean(2, p) + 2 * pulled * turned * along_mean(1, p) + turned**2 / p.V
    square = p.kappa * along_mean(3, p) + (1 - p.kappa) * along_mean_on_sphere(p.V, p.d)[0]
    return pulled**2 * square, p.tau / p.d * seen


def echo_by_lead(p: StepTwo) -> Real:
    """2 k (m2 - 1)/d^2, the part of the echo's noise that goes with the stored trigger, per lead."""
    return 2 * echo(p) * (p.moments[2] - 1) / p.d**2


def trigger_echo(p: StepTwo) -> Pair:
    """The covariance of the tokens turns the stored trigger: the lead sees `echo` times z_trig.Sigma z_trig."""
    m, turned = p.moments, echo(p) / p.d
    token = lead(p) * echo_by_lead(p) + p.tau / p.d * turned**2 * (m[3] - 2 * m[2] + 1)
    return token, 2 * (turned * p.tau)**2 / p.V


def noise_tokens(p: StepTwo) -> Pair:
    """Noise tokens are stored by the correlation of outputs with the label noise.

    What a fact's own samples share is taken off their noise tokens, by |w|^2 p/L^2 (`taken_off`). On the sphere the
    tokens' norms tie what is stored to the mean embedding (`tied`).
    """
    token, seen = _stored(p, *stored_by_outputs(p)[1])
    m = p.moments
    tied = (1 - p.kappa) * 4 / p.V * (m[3] + 2 * p.d / p.V * m[2]) / m[4]
    taken_off = (2 * (1 - p.width) * p.K1 * p.within * p.c**3 * (1 + p.e * p.tau) / (p.L**3 * p.N)
                 * p.b0 * p.Q * (2 + 1 / p.lam) / (p.N * p.V))
    return token * (1 - tied) - taken_off * p.trace(3), seen - taken_off * p.along(2)


def informative_tokens(p: StepTwo) -> Pair:
    """Informative tokens are stored by the correlation of outputs with the label noise."""
    return _stored(p, *stored_by_outputs(p)[0])


@once
def _label_pull(p: StepTwo) -> Real:
    """The part of a sample's squared pull on a random direction that goes by the label noise."""
    return pull_of_noise(p) * (p.e * p.tau / (p.L**2 * p.d) + p.c**2 / (p.V * p.d))


@once
def _squares(p: StepTwo) -> tuple[Real, Real, Real]:
    """Squares of the coefficients with which a sample's covariance is weighted, beyond A^2: pairs of samples, of facts,
    and through norms."""
    Ae, Be = p.A + p.A2 * p.eta, p.B + p.A2 / (p.L * p.d)
    pair, fact = (Ae**2 + p.A2**2 * (2 * p.eta + 1 / length) / (p.L * p.d) - p.A**2 for length in (p.L, p.L**2))
    return pair, fact, Be**2


@record("attention.drawn_square", "Square of what the tokens drawn for one sample store for those of another, in units "
        "of that at V >> d", "V d kappa", regime="V, d large at any ratio d/V", limits="1 at V >> d")
@once
def drawn_square(p: StepTwo) -> Real:
    """(d/V)^2 sum_bb' (y_b.Sigma y_b)(y_b.y_b')^2 - d^2 tr Sigma^4, y the embeddings about their mean: fixed norms take
    off the second term, and norms that fluctuate make up for it."""
    return p.moments[2]**2 - (1 - p.kappa) * p.moments[4] / p.d


@record("attention.drawn_product", "Product of what the tokens drawn for two samples store for each other, in units of "
        "attention.drawn_square", "V d kappa", regime="V, d large at any ratio d/V", limits="d/V at V >> d")
@once
def drawn_product(p: StepTwo) -> Real:
    """(d/V)^2 sum_bb' (y_b.Sigma y_b')(y_b.y_b')^2, which b = b' decides."""
    q, m2 = p.d / p.V, p.moments[2]
    return q * m2 / (1 + (1 - p.kappa) * (3 + 8 * q + 2 * q**2) / (p.d * m2))


def sequence_sampling(p: StepTwo) -> Pair:
    """Each sequence holds a sample of the noise tokens, not their covariance.

    The noise of sample i weighs sample j, and that of j sample i: both hold the same draws (`drawn_product`).
    """
    V, L, d, N, c, tau, m2 = p.V, p.L, p.d, p.N, p.c, p.tau, p.moments[2]
    square, swapped = drawn_square(p), drawn_product(p) / m2
    centred = (1 - 1 / V)**2  # of the squared overlap of two outputs
    b = centred * (1 / d + squared_counts(p) / V)
    labels = _label_pull(p)
    facts = centred * (squared_counts(p) / (d * V) + cubed_counts(p) / V**2) * (square / m2 + 2 * swapped) / d
    pull = facts / L**2 + labels
    few, scale, linear = 1 - p.width, c**2 / (N * L), p.K1**2 - p.A**2
    norms = p.h1**2 * p.kappa * 2 * V / d**2 * self_pull(p)**2
    pair, fact, of_norms = _squares(p)
    weight = p.w0 / N * ((pair + of_norms) / (N * L) + fact / (V * L**2))
    token, seen = over_samples(p, 1)
    pairs = c * b / (N * L * d**2)
    return (few * (p.A**2 * scale * (m2 / d * pull + pairs * (square + m2 * swapped))
                   + weight * token + linear * m2 / d * scale * labels) + norms * m2,
            few * (p.A**2 * tau * scale * (pull / d + pairs * (m2 + swapped))
                   + weight * seen + linear * tau / d * scale * labels) + tau * norms)


@once
def squared_pairs(p: StepTwo) -> Real:
    """E (n (n - 1))^2/lam^4 of a label's count."""
    lam = p.lam
    return given_counts(p, 1 + 4 / lam + 2 / lam**2, 6 / lam + 12 / lam**2 + 2 / lam**3)


@record("attention.stored_variance", "Variance over seeds of what is stored along the trigger itself, but for the "
        "label counts", _ALONE)
@once
def stored_variance(p: StepTwo) -> Real:
    """A sum over directions, of which that of the trigger counts twice if it is in the values."""
    V, L, d, N, c, m2 = p.V, p.L, p.d, p.N, p.c, p.moments[2]
    n2, n3 = squared_counts(p), cubed_counts(p)
    stored = ((1 - 1 / V)**2 * (2 * n2**2 / (L * V * d)**2 + p.kappa * 4 / d * squared_pairs(p) / (L**2 * V**3))
              + (n2 / d + n3 / V) * c * m2 * (1 - 1 / (c * L))**2 / (L * d * N * V)
              + 2 * m2 * (1 / d + 1 / V) / (L * N)**2 / d
              + c**2 * pull_of_facts(p) * along_mean(1, p))
    return (1 - p.width) * (p.A * p.tau * c / L)**2 * (1 + 3 * p.e / d) * stored


def lead_with_noise(p: StepTwo, k: int) -> Real:
    """Covariance over seeds of the lead with g'Sigma^k g beside the trigger: k = 1 is the tokens' variance, 0 is |g|^2.

    By what all labels share, by the trigger's part of it, by each class itself, and by the norms of all embeddings,
    which scale the lead (inputs once, outputs once) and g'Sigma^k g (k + 3, and 2).
    """
    V, d, c = p.V, p.d, p.c
    together, tokens = _by_shared_values(p, k)
    scale = p.kappa * 2 * (k + 5) / (d * V)
    norms = scale * lead(p) * c**4 * ((p.h1 * p.rr)**2 / V * p.moments[k + 2] / d**(k + 2) + tokens)
    norms += 2 / d * lead_by_mean(p) * mean_pull(p)**2 * along_mean(k + 2, p)
    return together + _by_trigger_value(p, k) + _by_class(p, k) + norms


def _by_shared_values(p: StepTwo, k: int) -> Pair:
    """With X and Y what informative and noise tokens add to the value direction v, the lead contains
    c tau/(L |rbar|^2) v.(L X - Y/c); and the part of g'Sigma^k g that X and Y add."""
    c, kernel = p.c, p.K1
    stored = stored_by_outputs(p)
    of_lead = [(by * strength, a) for by, (strength, a, _) in zip((p.L, -1 / c), stored, strict=True)]
    apart = 2 * p.within * kernel * p.tau * c / (p.L * p.rr) * (1 + p.e / p.d)
    mean = p.h1 * p.rr**2 * c**2 * sum(x * (c**2 * along_mean(k + 3, p) + a * along_mean(k + 2, p)) for x, a in of_lead)
    pairs = kernel * sum(x * y * _turned(p, k, first, second) for x, first, _ in stored for y, second in of_lead)
    tokens = kernel**2 * sum(x for x, _, _ in stored) * p.moments[k + 3] / p.d**(k + 2)
    return apart * (mean + pairs), tokens


def _by_trigger_value(p: StepTwo, k: int) -> Real:
    """The value direction's z_trig.v, of mean |rbar|^2 tau/L, is in the lead, and is what turns the stored tokens
    beside c^2 Sigma: by c/|rbar|^2 for informative, by -1/(L |rbar|^2) for noise tokens."""
    c, tau, kernel, t = p.c, p.tau, p.K1, p.trace
    stored = stored_by_outputs(p)
    of_mean = p.h1 * c * p.rr * tau / (p.V * p.d) * (mean_pull(p) / p.d + p.rr * p.e * c * tau / p.L)
    covariance = of_mean + kernel * tau / p.d * sum(x * (c**2 * t(2) + b) for x, _, b in stored)
    turns = 2 * kernel**2 * sum(by * x * (c**2 * t(k + 2) + a * t(k + 1))
                                for by, (x, a, _) in zip((c, -1 / p.L), stored, strict=True))
    return p.e * turns * covariance / p.rr


def _by_class(p: StepTwo, k: int) -> Real:
    """Noise tokens that lie along the informative one of their sequence raise the lead, and what the class stores: of
    the informative token (pull n(n - lam) through v, fact n(n - 1) through the class), of noise tokens through v.

    Where tokens of one class lie along those of another, the outputs' overlaps decide what of it is stored.
    """
    L, d, N, c, tau, lam = p.L, p.d, p.N, p.c, p.tau, p.lam
    kernel = p.K1 * p.b0 / N**2
    (_, a, _), (_, b, _) = stored_by_outputs(p)
    turned, straight = kernel * c**2 / L, kernel * a / L  # of an informative token, times its pull
    again, back = kernel * c**3, kernel * b  # of a noise token, times the pull
    fact = p.within * c / (L * N)**2
    t = p.trace

    def informative(with_pull: Real, with_fact: Real) -> Real:
        """sum_y n^i z_y.Sigma^k g_y."""
        return p.V * (with_pull * (turned * t(k + 2) + straight * t(k + 1)) + with_fact * fact * t(k + 1))

    cubed = informative(given_counts(p, 4 * lam**4 + 18 * lam**3 + 14 * lam**2 + lam,
                                     4 * lam**4 + 42 * lam**3 + 68 * lam**2 + 15 * lam),
                        given_counts(p, 6 * lam**4 + 18 * lam**3 + 8 * lam**2,
                                     7 * lam**4 + 51 * lam**3 + 57 * lam**2 + 8 * lam))
    squared = informative(given_counts(p, 3 * lam**3 + 6 * lam**2 + lam, 3 * lam**3 + 15 * lam**2 + 7 * lam),
                          given_counts(p, 4 * lam**3 + 4 * lam**2, 5 * lam**3 + 15 * lam**2 + 4 * lam))
    both_pulled = p.V * (given_counts(p, lam**4 + 12 * lam**3 + 13 * lam**2 + lam,
                                      lam**4 + 27 * lam**3 + 61 * lam**2 + 15 * lam)
                         + p.Q * N / (d * p.b0) * lam**3 * cubed_counts(p))
    one_pulled = p.V * fact * given_counts(p, 2 * lam**4 + 14 * lam**3 + 8 * lam**2,
                                           2 * lam**4 + 36 * lam**3 + 53 * lam**2 + 8 * lam)
    of_noise = (both_pulled * (turned * again * t(k + 4) + (turned * back + straight * again) * t(k + 3)
                               + straight * back * t(k + 2))
                + one_pulled * (again * t(k + 3) + back * t(k + 2)))
    own = 2 * p.within * tau * c / (L * N)**2 * (c - 1 / L) * (p.K1 * c**2 / (L * N**2) * t(2) * cubed + of_noise)
    overlap = 2 * squared_counts(p) / (p.V * L**2) + c * p.moments[2] / (N * L)
    return own + 2 * tau * (p.within * c / (L * N * d))**2 * overlap * squared


@record("attention.lead_skew", "Third cumulant over seeds of the lead at given tau, b0 and Q", _ALONE)
def lead_third(p: StepTwo) -> Real:
    """What is stored along the trigger is a sum of squares: a gamma variable, of third cumulant 2 variance^2/mean; and
    the overlap of the trigger with the rest of g, normal at given |g|, is larger where more is stored."""
    stored = stored_variance(p)
    return 2 * stored**2 * lead(p) / maximum(lead(p)**2, stored) + 3 * p.tau / p.d * lead_with_noise(p, 0)


def class_covariance(p: StepTwo) -> Pair:
    """The covariance within a class is its own informative token's: m2 (c/L)^2/(V d) [the pull of the class on its
    token + the fluctuation of the token's own], and what of it goes with the stored informative tokens (through the
    class counts) and with `self_pull` (through norms). The lead has, besides, what is stored along the trigger."""
    V, L, d, N, e, tau, lam, c, A = p.V, p.L, p.d, p.N, p.e, p.tau, p.lam, p.c, p.A
    m1, m2 = p.moments[1], p.moments[2]
    n2, n3 = squared_counts(p), cubed_counts(p)
    W2, kappa, few = pull_of_facts(p), p.kappa, 1 - p.width
    facts = n2 * (n2 / (V * L**2) + c * m2 / (N * L)) / d**2
    noise = n3 * c * m2 / (V * N * L * d) * (1 - 1 / (c * L))**2  # less what is taken off the class's noise tokens
    # on the sphere |u|^2 and |z|^2 about the mean are 1 - 1/V each; of Gaussian embeddings, norms make up for it
    fluctuation = (given_counts(p, 4 / lam + 2 / lam**2, 4 / lam + 12 / lam**2 + 2 / lam**3)
                   * (1 - 1 / V)**(4 * (1 - kappa)) + kappa * 4 / d * squared_pairs(p))
    # a token sees one power of Sigma more than the trigger
    own = (c / L)**2 / (V * d)
    pulls = A**2 * own * ((1 - 1 / V)**2 * (facts + noise) + W2 * c**2 / d)
    norms = kappa * 4 / d**2 * class_pull(p) * self_pull(p) * V
    drawn = p.within**2 * own * fluctuation / (V * L)**2 + p.within * p.h1 * norms
    a, overlap = e * c * tau / L, p.K1 * p.within * p.b0 * count_overlap(p)
    linear = m2 * ((1 + e * tau) * pulls + drawn) + overlap * (c**2 * p.trace(3) + a * p.trace(2))
    # what the trigger in the values adds is in `stored_variance`
    linear_seen = tau * m1 * (pulls + drawn) + overlap * (c**2 * p.along(2) + 3 * a * p.along(1))
    # what beyond A^2 weights the covariance of facts
    pair, _, _ = _squares(p)
    Ae = (A + p.A2 * p.eta)**2 - A**2
    token, seen = over_facts(p, 1)
    labels = (p.K1**2 - A**2) * own * W2 * c**2 / d
    weight_pair, weight_fact = p.w0 / (N * V * L) * pair, p.w0 / (V * L)**2 * Ae
    turned = p.w0 / V**2 * Ae * c**2 / L**4 * m2 / d  # along z_trig: on the lead alone
    curved = curved_lead(p)
    of_counts = (4 / lam + 6 / lam**2 + 1 / lam**3) / V * (curved**2 + 2 * curved * A * c * tau / (V * L**2))
    # a fact's own |x|^2 and x.z_trig tilt phi' by B/L^2
    tilt = p.w0 / (N * V) * (c * tau)**2 * ((4 * p.K1**2 - 4 * A**2) * e * tau / d + 2 * p.B**2 / d) / L**4
    of_mean = 2 / d * lead_by_mean(p)**2
    extra = (weight_pair + weight_fact) * seen + tau * m1 * labels + tau**2 * turned + of_counts + tilt + of_mean
    return (few * (linear + (weight_pair + weight_fact) * token + m2 * (1 + e * tau) * labels),
            few * (linear_seen + extra) + stored_variance(p))


@once
def mlp_mean_squares(p: StepTwo) -> tuple[Real, Real]:
    """Square of the coefficient of the random direction W'1/m: each sample with itself, and facts with themselves (h3);
    and that by which W turns what all samples share at random.

    A neuron's input power s w'S w differs from neuron to neuron, and is larger where its weights lie along the
    direction that is looked at.
    """
    m, s = p.moments, input_power(p.V, p.L, p.e)
    own, facts = p.b0 * p.Q / p.N, 1 / (p.V * p.L**2)
    c = _of_mean_weights(p)
    first = own * s * p.h2 / 2 + facts * (p.h3 + s * p.h5)  # d h0/ds = h2/2, d h3/ds = h5
    second = own * s**2 * p.h4 / 4 + facts * 2 * s * p.h5
    along, spread = 2 * m[4] / (m[3] * p.d), 2 * m[2] / p.d
    return ((c**2 + 2 * c * first * along + (first**2 + c * second) * spread) * p.width,
            own**2 * (p.h1**2 * p.eta + p.h2**2 * p.eta**2 / 2) * p.width)


def _of_mean_weights(p: StepTwo) -> Real:
    """The coefficient of W'1/m: each sample with itself, and facts with themselves."""
    return p.b0 * p.Q / p.N * p.h0 + p.h3 / (p.V * p.L**2)


def mlp_mean(p: StepTwo) -> Pair:
    """The finite width turns what all samples share, the mean of phi phi', into a random direction W'1/m."""
    square, (token, seen) = sum(mlp_mean_squares(p)), mean_squared(p)
    return square * token, square * seen


def mlp_noise(p: StepTwo) -> Pair:
    """Samples are compared by m neurons instead of by the kernel."""
    e, tau, d, A, A2, L, V, N = p.e, p.tau, p.d, p.A, p.A2, p.L, p.V, p.N
    along, across = 4 * e * tau + 2, e * (3 * tau**2 + 4 * tau)
    curved = A2 * p.c**2 / (L**4 * V)
    tilt = across * p.moments[2] / d, along * tau**2 + across * tau / d
    scale = p.w0 * p.width * (p.P0 / N + A / (V * L**2) + A2 * along / (4 * L**4 * V))
    shared, samples, facts = mean_squared(p), over_samples(p, 0), over_facts(p, 0)
    # what the means alone give, phi and phi' pulling along the same label noise, is in `mlp_mean`
    means = p.w0 * p.width * p.A0 * A / N**2
    token, seen = (scale * (p.P2 / N * (shared[i] + samples[i]) + A / V * facts[i] + curved * tilt[i])
                   - means * shared[i] for i in (0, 1))
    return token, seen + 8 * e * p.width * tau**4 * (A2 * p.c / (V * L**4))**2


@dataclasses.dataclass(frozen=True)
class Cause:
    """One cause of noise: its `pair` of variances, the name that it has without an MLP and with one, and how many
    powers of the tokens' covariance its vectors have been turned by (z_b.g sees one more)."""

    pair: Callable[[StepTwo], Pair]
    alone: str | None
    mlp: str
    power: int


CAUSES = (
    Cause(mean_embedding, "mean embedding", "mean bias: mean embedding", 2),
    Cause(trigger_echo, "trigger echo", "mean bias: trigger echo", 1),
    Cause(noise_tokens, "noise tokens", "gradient noise: noise tokens", 3),
    Cause(informative_tokens, "informative tokens", "gradient noise: informative tokens", 3),
    Cause(sequence_sampling, "sequence sampling", "gradient noise: sequence sampling", 1),
    Cause(class_covariance, "class covariance", "interference: class covariance", 1),
    (NEURON_MEAN := Cause(mlp_mean, None, "MLP noise: mean", 2)),
    Cause(mlp_noise, None, "MLP noise: neurons", 1),
)


def kernel_slope(p: StepTwo, cause: Cause) -> Real:
    """d |Sigma g|^2/(g.Sigma g) of a direction g of that cause, and with an MLP d g.Sigma M Sigma g/(g.Sigma g), with
    M = W'W/m: the slope of the kernel of two tokens, or one, in the product of their scores.

    What is stored for all passes the neurons: g = Sigma M x, and their mean Sigma W'1/m; free moments of M.
    """
    m, i, c = p.moments, cause.power, p.d * p.width
    if cause is NEURON_MEAN:
        mean = (m[4] + c * m[2]**2) / m[3]
    elif cause.alone and i > 1:
        mean = ((m[i + 2] + c * (m[i - 2] * m[4] + 2 * m[2] * m[i]) + c**2 * m[i - 2] * m[2]**2)
                / (m[i + 1] + c * m[i - 2] * m[3]))
    else:
        mean = m[i + 2] / m[i + 1]
    # of the ratio, from the ratio of means: both are quadratic forms of a random vector in d dimensions
    both = m[2 * i + 3] if 2 * i + 3 in m else m[2 * i + 2]**2 / m[2 * i + 1]
    return mean / (1 + 2 / p.d * (both / (m[i + 1] * m[i + 2]) - m[2 * i + 2] / m[i + 1]**2))


def mean_weights(p: StepTwo) -> Real:
    """Squared correlation, with its sign, of the score that the neurons' mean makes with overlaps with W'1/m."""
    first, second = mlp_mean_squares(p)
    return sign(_of_mean_weights(p)) * first / (first + second) * p.moments[2]**2 / p.moments[3]


record("mlp.attention.mean_weights", "Squared correlation of the score that the neurons' mean makes with a token's "
       "overlap with the mean weights", f"{_ALONE} m {_NEURONS}", mlp=True)(mean_weights)


def _on_record(cause: Cause, what: str, title: str, law: Law, arguments: tuple[str, str]) -> None:
    """Register what a function of `StepTwo` gives for a cause, without an MLP and with one, of these arguments."""
    name, (alone, mlp) = cause.mlp.split(": ")[-1].replace(" ", "_"), arguments
    if cause.alone:
        record(f"attention.{what}.{name}", title, alone)(law)
    record(f"mlp.attention.{what}.{name if cause.alone else 'mlp_' + name}", title, mlp, mlp=True)(law)


def _all_on_record(cause: Cause) -> None:
    """Register the slope of the kernel for a cause, and its two variances."""
    of_noise = (cause.pair.__doc__ or "").split(":")[0].replace("\n", " ").strip(" .")
    of_noise, name = of_noise[0].lower() + of_noise[1:], cause.mlp.split(": ")[-1]
    every = (_ALONE, f"{_ALONE} m {_NEURONS}")
    _on_record(cause, "kernel_slope", f"Slope of the kernel in two tokens' scores: {name}",
               lambda p: kernel_slope(p, cause), ("V d kappa", "V d m kappa"))
    _on_record(cause, "variance", f"Token noise: {of_noise}", lambda p: cause.pair(p)[0], every)
    _on_record(cause, "lead_variance", f"Variance of the lead over seeds: {of_noise}",
               lambda p: cause.pair(p)[1], every)


for _cause in CAUSES:
    _all_on_record(_cause)


def parts(p: StepTwo) -> dict[str, Pair]:
    """By cause, the variance of a token's score and that of the lead over seeds, under the names of the model.

    The overlap of a token with the stored trigger is not among them: it follows from the lead.
    """
    if p.m is None:
        return {cause.alone: cause.pair(p) for cause in CAUSES if cause.alone}
    return {cause.mlp: cause.pair(p) for cause in CAUSES}


# --- the rivals of a sequence ----------------------------------------------------------------------

def distinct_tokens(these: Real, V: Real, n: Real) -> Pair:
    """Mean and variance of how many of W tokens, `these`, are among n draws from V: W (1 - a) and
    W [a + (W - 1) b - W a^2].

    Written with 1 - a and b/a^2 - 1 = (1 - 1/(V-1)^2)^n - 1, a = (1 - 1/V)^n and b = (1 - 2/V)^n: a, b and a^2 alone
    cancel at large V.
    """
    missing, present = power_of_complement(V, n), -power_of_complement_less_one(V, n)
    beside = (these - 1) * missing * power_of_complement_less_one(maximum(V - 1, 1)**2, n)
    return these * present, these * missing * (beside + present)


for _name, _missing, _subject in (
        ("rivals", 0, "distinct tokens, other than the informative one, among the L - 1 noise tokens"),
        ("others", 1, "distinct tokens among L - 1 noise tokens, none of which is the informative one")):
    _exact(f"attention.{_name}", f"Mean number of {_subject}", limits="L - 1 as V -> infinity, V - 1 as L -> infinity",
           arguments="V L")(lambda V, L, missing=_missing: distinct_tokens(V - 1, V - missing, L - 1)[0])
    _exact(f"attention.{_name}_variance", f"Variance of the number of {_subject}",
           regime="exact; V at least 3" if _missing else "exact", limits="0 as V -> infinity at fixed L",
           arguments="V L")(lambda V, L, missing=_missing: distinct_tokens(V - 1, V - missing, L - 1)[1])
