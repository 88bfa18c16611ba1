"""The capacity as one expression: each leading law solved for V, N, d or L, to second order, and the least of them.

A law reads signal^2 = 2 ln(competitors) noise^2. Here the square of a lead stands in place of 2 ln(competitors), that
of the target on accuracy; V = exp(y) follows from Lambert's W by one step of Newton's method. A branch is one law; the
capacity is the least V of all branches. docs/derivations/capacity.md has the derivation, the regime and the error of
each. Branches of attention have the smaller of L and V for the number of competitors.
"""

from __future__ import annotations

import dataclasses
import functools

from .generic import (
    Real,
    cbrt,
    euler_gamma,
    exp,
    greatest,
    if_positive,
    infinity,
    lambert_w,
    least,
    log,
    normal_quantile,
    pi,
    sqrt,
    whole,
)
from .registry import Row, formula
from .step_two import StepTwo

Lead = tuple[Real, Real]  # of attention: over the tokens' scores, and over the seeds
Branches = dict[str, Real]  # by name: the largest V, or L, or the least N, or d, that each allows

_PAGE = "docs/derivations/capacity.md"
_LARGE = "V, L, d, N large, d << V, N >> V; all but the named noise negligible"
FINITE, MIXED = "finite rates", "mixed tokens"  # the branches that they bring
NOTHING = 10**30  # one over the noise that attention is said to bear where it bears none
_law: Row = functools.partial(formula, reference=_PAGE, regime=_LARGE)


# --- the lead that a target needs ------------------------------------------------------------------

def _typical(y: Real) -> Real:
    """Where half of all facts win against exp(y) competitors: the largest of them is typically a + gamma/sqrt(2 y)."""
    root = sqrt(2 * y)
    return root - (log(y) + log(4 * pi(y))) / (2 * root) + euler_gamma(y) / root


def _deviation(y: Real, spread: Real) -> Real:
    """Deviation of a fact's own noise less that of the largest competitor, a Gumbel variable over sqrt(2 y)."""
    return sqrt(spread + pi(y)**2 / (12 * y))


def _lead(y: Real, target: Real, spread: Real) -> Real:
    return _typical(y) + normal_quantile(target) * _deviation(y, spread)


def _slope(y: Real, target: Real, spread: Real) -> Real:
    """d lead/dy."""
    root = sqrt(2 * y)
    typical = 1 / root - 1 / (2 * y * root) + (log(y) + log(4 * pi(y)) - 2 * euler_gamma(y)) / (2 * root**3)
    return typical - normal_quantile(target) * pi(y)**2 / (24 * y**2 * _deviation(y, spread))


lead = _law("capacity.lead", "Lead with which a share of all facts beats K competitors, in their standard deviations",
            regime="K large; spread is 1 for recall, 2 for attention", limits="sqrt(2 ln K) as K -> infinity"
            )(lambda K, target, spread: _lead(log(K), target, spread))


def _newton(y: Real, power: int, s: Real, growth: Real) -> Real:
    """K of K^power s^2 = x after one step of Newton's method from y = ln K, where K^power 2 ln K = x."""
    return exp(y - (2 * log(s) - log(2 * y)) / (power + 2 * growth))


def power_law(x: Real, power: int, target: Real, spread: Real) -> Real:
    """The K at which K^power lead^2 = x."""
    y = lambert_w(power * x / 2) / power
    s = _lead(y, target, spread)
    return _newton(y, power, s, _slope(y, target, spread) / s)


# --- branches solved for V ----------------------------------------------------------------------------

@_law("capacity.interference", "Largest V: stored pairs overlap",
      limits="law.recall.interference as V -> infinity; relative error of order 1/(ln V)^2 and (ln V/d)^2")
def interference(d: Real, e: Real, target: Real) -> Real:
    """V lead^2 (1 + r)^2 (1 + e) = d^2: lengths and overlaps raise the lead by the share
    r = [lead + (1 + e) typical + e Phi^-1(target)/deviation] lead/(2 d)."""
    x = d**2 / (1 + e)
    y = lambert_w(x / 2)
    s = _lead(y, target, 1)
    return _newton(y, 1, s * (1 + _raised(y, target, e) / d), _slope(y, target, 1) / s)


def _raised(y: Real, target: Real, e: Real) -> Real:
    """d times the share by which lengths and overlaps raise the lead that recall needs."""
    s = _lead(y, target, 1)
    return (s + (1 + e) * _typical(y) + e * normal_quantile(target) / _deviation(y, 1)) * s / 2


gradient_noise = _law(
    "capacity.gradient_noise", "Largest V: stored pairs overlap, through the sampling of the label counts",
    limits="at targets above 1 - 1/e never the least: between capacity.interference and capacity.coverage"
)(lambda d, N, e, target: power_law(N * d**2 / (1 + e), 2, target, 1))

few_samples = _law(
    "capacity.few_samples", "Largest V at N/V = lam fixed, trigger in keys only: facts that occurred n times or more",
    regime="V, d large at any N/V, e = 0; target is the share asked of the facts that occurred n times just",
    limits="capacity.interference as N/V -> infinity and n -> N/V, but for lengths and overlaps"
)(lambda d, lam, count, target: power_law((d * count / lam)**2 / (1 + 1 / lam), 1, target, 1))

mean_bias = _law(
    "capacity.mean_bias", "Largest V: label frequencies' noise carried by what all values share",
    limits="law.recall.mean_bias at shared = tau = 1 as V -> infinity; infinite at shared = 0"
)(lambda d, N, shared, target: if_positive(shared, lambda: power_law(N * d / shared**2, 2, target, 1),
                                           infinity(shared)))

coverage = _law("capacity.coverage", "Largest V: every fact must occur", regime="exact but for 1/V",
                limits="law.recall.coverage at target 1 - 1/V")(lambda N, target: N / -log(1 - target))


def _needed_counts(y: Real, shared: Real, target: Real) -> tuple[Real, Real]:
    """N/V at which a fact's count n_k, in the share `target`, is above every n_j/r, r = 1 + 1/shared, and its d ln/dy.

    The largest of V Poisson counts is x with lam h(x/lam) = typical^2/2, h(u) = u ln u - u + 1; n_k is lam - z
    sqrt(lam): h to second order about r makes it a quadratic equation for sqrt(lam).
    """
    r, z, typical = 1 + 1 / shared, normal_quantile(target), _typical(y)
    h = r * log(r) - r + 1
    turn = r * log(r) * z
    root = sqrt(turn**2 + 2 * h * (typical**2 - r * z**2))
    of_lead = (turn + root) / (2 * h)
    return of_lead**2, 2 * typical * _slope(y, whole(1, y) / 2, 1) / (root * of_lead)


@_law("capacity.counts", "Largest V: no other label may occur 1 + 1/shared times as often",
      regime="V large, d >> V, what all values share and the fact's own part as shared : 1",
      limits="V ln V = (r ln r - r + 1) N, r = 1 + 1/shared, as V -> infinity; infinite at shared = 0")
def counts(N: Real, shared: Real, target: Real) -> Real:
    """V lam(V) = N, lam such that P(r n_k > max n_j) = target for Poisson counts of mean lam."""
    def at_balance() -> Real:
        r = 1 + 1 / shared
        y = lambert_w(N * (r * log(r) - r + 1))
        needed, slope = _needed_counts(y, shared, target)
        return exp(y - (y + log(needed) - log(N)) / (1 + slope))

    return if_positive(shared, at_balance, infinity(shared))


def _log_competitors(V: Real, L: Real) -> Real:
    """The logarithm of the smaller of L and V, 2 at least."""
    return log(least(L, greatest(V, whole(2, L))))


def _even(y: Real, turn: Real, target: Real) -> Lead:
    """The lead of attention, where own score and seed miss together: spread 1 of the scores and turn^2 of the seeds."""
    z, own = normal_quantile(target), _deviation(y, 1)
    both = sqrt(own**2 + turn**2)
    return _typical(y) + z * own**2 / both, z * turn**2 / both


def _uneven(labels: Real, y: Real, turn: Real, d: Real, shared: Real, *, target: Real) -> Lead:
    """The lead at which a share eta = d/(V shared^2 typical^2) of all labels, of ln V = labels, is missed, in a share
    `target` of the seeds."""
    missed = least(d / (exp(labels) * (_typical(labels) * shared)**2), whole(1, d) / 2)
    return _typical(y) - normal_quantile(missed) * _deviation(y, 1), normal_quantile(target) * turn


def _turn(d: Real, L: Real, e: Real) -> Real:
    """Deviation of the lead over seeds in units of the tokens': the mean embedding turns the trigger's share."""
    return 1 + e * d / L


def _room(lead: Lead, d: Real) -> Real:
    """The noise S of attention that a lead bears, beside 1/d of the stored trigger: 1 - w sqrt(S) = s sqrt(S + 1/d);
    next to nothing where the trigger alone is more."""
    s, w = lead
    left = greatest(1 - s**2 / d, whole(1, d) / NOTHING)
    return (left / (w + s * sqrt(left + w**2 / d)))**2


_attention: Row = functools.partial(_law, limits="law.attention of its name as L -> infinity, at d >> 2 ln L")


@_attention("capacity.mean_embedding", "Largest V: the mean embedding is stored by the label frequencies' noise")
def mean_embedding(d: Real, N: Real, L: Real, e: Real, target: Real) -> Real:
    """V L^4/(N^2 d^3) = S, of `_room` at the lead of `_even`."""
    x = N**2 * d**3 / L**4
    y = _log_competitors(x / (2 * log(L)), L)
    return x * _room(_even(y, _turn(d, L, e), target), d)


@_law("capacity.uneven_attention",
      "Largest V: labels attended in training carry what all values share, those missed do not",
      regime="as capacity.mean_embedding, d << V", limits="below capacity.mean_embedding where V >> d and shared > 0")
def uneven_attention(d: Real, N: Real, L: Real, e: Real, shared: Real, target: Real) -> Real:
    """V L^4/(N^2 d^3) = S, of `_room` at the lead of `_uneven`: by one step of Newton's method from x/(4 ln L), between
    the ends of [sqrt(2 ln L) + sqrt(2 ln(V/d))]^2."""
    x = N**2 * d**3 / L**4
    V = least(x / (4 * log(L)), d**2 / lambert_w(d**2))  # beyond what interference leaves it does not matter

    def after_step() -> Real:
        y = _log_competitors(V, L)
        s, w = _uneven(_log_competitors(V, V), y, _turn(d, L, e), d, shared, target=target)
        found = x * _room((s, w), d)
        slope = _deviation(y, 1)**2 / (s - _typical(y)) + if_positive(L - V, lambda: 1 / sqrt(2 * y), 0 * V)
        steep = 2 * slope / (s + w)  # -d ln found/d ln V, to leading order
        return found * (V / found)**(steep / (1 + steep))

    return if_positive(shared, after_step, infinity(shared))


def _of_scores(L: Real, d: Real, target: Real) -> Real:
    """The noise S of attention that is borne where it differs from token to token alone: _room at t = 1."""
    return _room(_even(log(L), 1, target), d)


noise_tokens = _attention(  # V^2 L^3/(N^2 d^4) = S
    "capacity.noise_tokens", "Largest V: noise tokens stored by the label frequencies' noise",
    regime=f"{_LARGE}; L << d N/V with the trigger in the values"
)(lambda d, N, L, target: N * d**2 * sqrt(_of_scores(L, d, target) / L**3))

informative_tokens = _attention(  # V L^2/(N d^4) = S
    "capacity.informative_tokens", "Largest V: informative tokens stored by the label frequencies' noise"
)(lambda d, N, L, target: N * d**4 / L**2 * _of_scores(L, d, target))

finite_width = _law(  # V^2 L^4 x/(N d)^2 = S
    "capacity.finite_width", "Largest V: an MLP of m neurons blurs what is stored in step two",
    limits="mlp.law.attention.mlp_noise as L -> infinity", regime=f"{_LARGE}; x is P0 P2 (1/L + 1/d)/(A^2 m)"
)(lambda d, N, L, x, target: if_positive(x, lambda: N * d / L**2 * sqrt(_of_scores(L, d, target) / x), infinity(x)))


@_law("capacity.mlp_mean", "Largest V: an MLP of m neurons turns what all samples share into a random direction",
      limits="mlp.law.attention.mlp_mean as y -> 0 and L -> infinity",
      regime=f"{_LARGE}; x is (h0^2 + e h1^2/L^2)/(A^2 m) and y is h1^2/(A^2 m), the mean token's share")
def mlp_mean(d: Real, N: Real, L: Real, x: Real, y: Real, target: Real) -> Real:
    """V L^4 (V x + y)/(N d)^2 = S."""
    room = _of_scores(L, d, target) * (N * d)**2 / L**4
    return 2 * room / (y + sqrt(y**2 + 4 * x * room))


_NEURONS = f"{_LARGE}, V >> L; x is P0 P2/(A^2 m), of the moments at that L"


@_law("capacity.dimension_by_neurons", "Least d: the neurons' noise blurs what is stored in step two",
      limits="mlp.law.attention.mlp_noise solved for d as L -> infinity", regime=_NEURONS)
def dimension_by_neurons(V: Real, N: Real, L: Real, x: Real, target: Real) -> Real:
    """d0^2 = c (1/L + 1/d0), c = x (V L^2 (s + w)/N)^2, by two steps of Newton's method from the root of
    c^(2/3) + c/L; the trigger's overlap adds s (s + w)/(2 + L/(L + d0))."""
    s, w = _even(log(L), 1, target)
    c = x * (V * L**2 * (s + w) / N)**2
    d = sqrt(cbrt(c)**2 + c / L)
    for _ in range(2):
        d = d - (d**3 - c * d / L - c) / (3 * d**2 - c / L)
    return d + s * (s + w) / (2 + L / (L + d))


@_law("capacity.longest_by_neurons", "Longest L: the neurons' noise blurs what is stored in step two",
      limits="mlp.law.attention.mlp_noise solved for L as L -> infinity", regime=_NEURONS)
def longest_by_neurons(V: Real, d: Real, N: Real, x: Real, target: Real) -> Real:
    """lead^2 L^3 (1 + L/d) = (N d/V)^2/x, by one step of Newton's method from the smaller of its ends."""
    most = (N * d / V)**2 / x
    y = log(least(power_law(most, 3, target, 2), power_law(most * d, 4, target, 2)))
    s, over = _lead(y, target, 2), exp(y) / d
    missed = 3 * y + log(1 + over) + 2 * log(s) - log(most)
    return exp(y - missed / (3 + over / (1 + over) + 2 * _slope(y, target, 2) / s))


_SOFT = "V, d, L large, N >> V; interference and the noise tokens that are mixed in are all the noise"


@_law("capacity.at_rates", "Largest V: eta*gamma is enough for mixtures to be answered right", regime=_SOFT,
      limits="too large near the edge of interference; where V lead^2 << d^2/L no condition, and that of "
      "capacity.mixed_tokens decides")
def at_rates(d: Real, L: Real, e: Real, beta: Real, target: Real) -> Real:
    """V L^2 ln sqrt(c V) = beta (1 - 1/L): V = x/W(c x), x = 2 beta (1 - 1/L)/L^2, c = lead^2 L/d^2 with the lead at
    V of the lead 1, d^2 at most; what interference takes of c is left to its own branch."""
    x = 2 * beta * (1 - 1 / L) / L**2
    V = least(x / lambert_w(x * L / d**2), d**2)
    c = _lead(log(greatest(V, whole(4, x))), target, 1)**2 * L / d**2
    return x / lambert_w(c * x)


def _larger(w: Real, power: int) -> Real:
    """By which factor the root x of x^power ln(1 + x) = w^(power + 1) is above w, by a step of Newton's method in ln x.
    """
    return exp((log(w) - log(log(1 + w))) / (power + w / ((1 + w) * log(1 + w))))


@_law("capacity.mixed_tokens", "Largest V: eta*gamma is enough to tell a fact's label from those of the noise tokens",
      regime=f"{_SOFT}; L <= V", limits="V^3 = (beta d/(L^2 lead))^2/L as L V lead^2/d^2 -> 0")
def mixed_tokens(d: Real, L: Real, e: Real, beta: Real, target: Real) -> Real:
    """V L^2 ln(1 + sqrt(b V)) = beta (1 - 1/L), b = (L + 1 + e) lead(L)^2/d^2, by one step of Newton's method from
    ln(1 + w) = w."""
    b = (L + 1 + e) * _lead(log(greatest(L, whole(2, L))), target, 1)**2 / d**2
    w = cbrt(b * beta * (1 - 1 / L) / L**2)
    return (w * _larger(w, 2))**2 / b


@_law("capacity.dimension_at_rates", "Least d: eta*gamma is enough for mixtures to be answered right", regime=_SOFT,
      limits="that of interference as beta -> infinity")
def dimension_at_rates(V: Real, L: Real, e: Real, beta: Real, target: Real) -> Real:
    """d^2 = V lead^2 [1 + e + L/r^2], and V lead(L)^2 [(1 + e) r^2 + L]/(r - 1)^2 if that is more,
    ln r = beta (1 - 1/L)/(V L^2)."""
    r = exp(beta * (1 - 1 / L) / (V * L**2))
    s, tokens = _lead(log(V), target, 1), _lead(log(greatest(L, whole(2, L))), target, 1)
    return sqrt(V * greatest(s**2 * (1 + e + L / r**2), tokens**2 * (1 + e + L / r**2) / (1 - 1 / r)**2))


@_law("capacity.longest_at_rates", "Longest L: eta*gamma is enough for mixtures to be answered right", regime=_SOFT,
      limits="leading: 1 in place of 1 - 1/L, and noise tokens' labels left out; 0 where interference leaves nothing")
def longest_at_rates(V: Real, d: Real, e: Real, beta: Real, target: Real) -> Real:
    """L^2 ln(c L) = 2 beta/V: c L = sqrt(x/W(x)), x = 4 c^2 beta/V, c = (V lead^2/d^2)/(1 - (1 + e) V lead^2/d^2)."""
    share = V * _lead(log(V), target, 1)**2 / d**2
    left = 1 - (1 + e) * share

    def longest() -> Real:
        c = share / left
        x = 4 * c**2 * beta / V
        return sqrt(x / lambert_w(x)) / c

    return if_positive(left, longest, 0 * V)


@_law("capacity.longest_mixed", "Longest L: eta*gamma is enough to tell a fact's label from those of the noise tokens",
      regime=f"{_SOFT}; L <= V", limits="L^5 lead(L)^2 = (beta d)^2/V^3 as L V lead^2/d^2 -> 0; leading: L in place of "
      "L + 1 + e, 1 of 1 - 1/L")
def longest_mixed(V: Real, d: Real, beta: Real, target: Real) -> Real:
    """L^2 ln(1 + w) = beta/V, w = lead sqrt(L V)/d, by one step of Newton's method from ln(1 + w) = w, with the lead at
    L^5 2 ln L = (beta d)^2/V^3."""
    s = _lead(lambert_w(5 * (beta * d)**2 / V**3 / 2) / 5, target, 1)
    w = exp((log(beta * V / d**4) + 4 * log(s)) / 5)
    return (w * _larger(w, 4) * d / s)**2 / V


# --- the least of the branches ----------------------------------------------------------------------

@dataclasses.dataclass(frozen=True, kw_only=True)
class Layer(StepTwo):
    """What a capacity depends on: the sizes and moments of step two, None for the size that is sought, and more.

    target          a share of fresh sequences;
    k1, k0, kv, kz  moments of the kernel in step three: with itself, mean, d and m times its variances;
    beta            eta*gamma, None in its limit; without an MLP.

    From these follow, for step two, the gain of the mean embedding over that of a token, `pull`, of a stored token over
    that of all, `stored`, and MLP noise: of the neurons, `blur`, in units of (V L^2/(N d))^2 (1/L + 1/d), and of the
    mean of phi phi', `drift` (x, y), (V L^2/(N d))^2 (x + y/V). For recall: interference, `overlap`, in units of V/d^2,
    MLP noise, `neurons`, in units of V/d, and what all values share, `shared`, in units of a fact's own lead.
    """

    target: Real
    k1: Real = None
    k0: Real = None
    kv: Real = None
    kz: Real = None
    beta: Real = None

    @property
    def pull(self) -> Real:
        return 1 if self.m is None else self.A / self.h1

    @property
    def stored(self) -> Real:
        return 1 if self.m is None else self.A / (self.A + self.B)

    @property
    def blur(self) -> Real:
        return self.P0 * self.P2 / self.A**2 / self.m

    @property
    def drift(self) -> tuple[Real, Real]:
        scale = self.A**2 * self.m
        of_trigger = 0 if self.L is None else self.e * self.h1**2 / self.L**2
        return (self.h0**2 + of_trigger) / scale, self.h1**2 / scale

    @property
    def by_width(self) -> dict[str, Real]:
        """MLP noise of attention by cause, in units of (V L^2/(N d))^2; nothing without an MLP."""
        if self.m is None:
            return {}
        x, y = self.drift
        return {"MLP mean": x + y / self.V, "MLP neurons": self.blur * (1 / self.L + 1 / self.d)}

    @property
    def overlap(self) -> Real:
        return 1 + self.e if self.m is None else self.kv / (self.k1 - self.k0)**2

    @property
    def neurons(self) -> Real:
        return self.kz / (self.k1 - self.k0)**2 / self.m

    @property
    def shared(self) -> Real:
        return self.e if self.m is None else self.k0 / (self.k1 - self.k0)

    def lead(self, V: Real) -> Real:
        """Of recall."""
        return _lead(log(V), self.target, 1)

    def even(self, V: Real, L: Real, d: Real) -> Lead:
        """Of attention, by `_even`."""
        return _even(_log_competitors(V, L), _turn(d, L, self.e), self.target)

    def uneven(self, V: Real, L: Real, d: Real) -> Lead:
        """Of attention, by `_uneven`."""
        return _uneven(_log_competitors(V, V), _log_competitors(V, L), _turn(d, L, self.e), d, self.shared,
                       target=self.target)

    def at_rates(self) -> Branches:
        """The largest V that finite rates allow; nothing in their limit."""
        given = self.d, self.L, self.e, self.beta, self.target
        return {} if self.beta is None else {FINITE: at_rates(*given), MIXED: mixed_tokens(*given)}


def vocabulary(p: Layer) -> Branches:
    """The largest V that each branch allows, by name."""
    alone = p.m is None
    return {
        "interference": (interference(p.d, p.e, p.target) if alone
                         else power_law(p.d**2 / p.overlap, 1, p.target, 1)),
        "gradient noise": power_law(p.N * p.d**2 / p.overlap, 2, p.target, 1),
        **({} if alone else {"MLP noise": power_law(p.d / p.neurons, 1, p.target, 1)}),
        "mean bias": mean_bias(p.d, p.N, p.shared, p.target),
        "coverage": coverage(p.N, p.target),
        "counts": counts(p.N, p.shared, p.target),
        "mean embedding": p.pull**2 * mean_embedding(p.d, p.N, p.L, p.e, p.target),
        "uneven attention": p.pull**2 * uneven_attention(p.d, p.N, p.L, p.e, p.shared, p.target),
        "noise tokens": p.stored * noise_tokens(p.d, p.N, p.L, p.target),
        "informative tokens": p.stored**2 * informative_tokens(p.d, p.N, p.L, p.target),
        **({} if alone else {
            "MLP mean": mlp_mean(p.d, p.N, p.L, *p.drift, p.target),
            "MLP neurons": finite_width(p.d, p.N, p.L, p.blur * (1 / p.L + 1 / p.d), p.target)}),
        **p.at_rates(),
    }


def samples(p: Layer) -> Branches:
    """The least N that each branch asks for; infinite where no N is enough."""
    V, d, L, square = p.V, p.d, p.L, p.lead(p.V)**2
    left = d**2 - p.overlap * V * square - (0 if p.m is None else p.neurons * d * V * square)
    token, even = _of_scores(L, d, p.target), _room(p.even(V, L, d), d)
    embedded = V * L**4 / d**3 / p.pull**2
    return {
        "gradient noise": if_positive(left, lambda: p.overlap * V**2 * square / left, infinity(left)),
        "mean bias": (p.shared * V)**2 * square / d,
        "coverage": V * -log(1 - p.target),
        "counts": if_positive(p.shared, lambda: V * _needed_counts(log(V), p.shared, p.target)[0], 0 * V),
        "mean embedding": sqrt(embedded / even),
        "uneven attention": if_positive(p.shared, lambda: sqrt(embedded / _room(p.uneven(V, L, d), d)), 0 * V),
        "noise tokens": V / p.stored * sqrt(L**3 / d**4 / token),
        "informative tokens": V * L**2 / d**4 / token / p.stored**2,
        **{name: V * L**2 / d * sqrt(x / token) for name, x in p.by_width.items()},
        # Up to the V that finite rates allow they ask nothing of N, beyond it none is enough.
        **{name: if_positive(most - V, lambda: 0 * V, infinity(V)) for name, most in p.at_rates().items()},
    }


def dimension(p: Layer) -> Branches:
    """The least d that each branch asks for; infinite where no d is enough. The trigger's overlap counts to first
    order in 1/d."""
    V, N, L, square = p.V, p.N, p.L, p.lead(p.V)**2
    needed = V * L**4 / N**2 / p.pull**2
    start = cbrt(2 * log(L) * needed)
    least_d = sqrt(p.overlap * V * square)

    def cube(lead: Lead) -> Real:
        s, w = lead
        return cbrt(needed * (s + w)**2) + s * (s + w) / 3

    s, w = _even(log(L), 1, p.target)
    token, overlap = s + w, s * (s + w) / 4
    return {
        "interference": least_d + _raised(log(V), p.target, p.e) if p.m is None else least_d,
        "gradient noise": V * sqrt(p.overlap * square / N),
        **({} if p.m is None else {"MLP noise": p.neurons * V * square}),
        "mean bias": (p.shared * V)**2 * square / N,
        "coverage": if_positive(N + V * log(1 - p.target), lambda: 0 * V, infinity(V)),
        "mean embedding": cube(p.even(V, L, start)),
        "uneven attention": if_positive(p.shared, lambda: cube(p.uneven(V, L, start)), 0 * V),
        "noise tokens": sqrt(V * token * sqrt(L**3) / p.stored / N) + overlap,
        "informative tokens": sqrt(token * L * sqrt(V / N) / p.stored) + overlap,
        "trigger overlap": s**2,
        **({} if p.m is None else {"MLP mean": V * L**2 * token * sqrt(p.drift[0] + p.drift[1] / V) / N,
                                   "MLP neurons": dimension_by_neurons(V, N, L, p.blur, p.target)}),
        **({} if p.beta is None else {FINITE: dimension_at_rates(V, L, p.e, p.beta, p.target)}),
    }


def length(p: Layer) -> Branches:
    """The longest L that attention bears by each branch; recall asks nothing of L. The moments of an MLP are those at
    that L, above sqrt(V), where the trigger's part of their mean is the smaller."""
    V, d, N = p.V, p.d, p.N
    x = p.pull**2 * N**2 * d**3 / V
    start = exp(lambert_w(2 * x) / 4)
    widest = (sqrt(d) - normal_quantile(p.target))**2 / 2
    s = _lead(widest, p.target, 1)

    def fourth(lead: Lead) -> Real:
        """Without the trigger's overlap, which is a branch of its own."""
        return sqrt(sqrt(x)) / sqrt(lead[0] + lead[1])

    return {
        "mean embedding": fourth(p.even(V, start, d)),
        "uneven attention": if_positive(p.shared, lambda: fourth(p.uneven(V, start, d)), infinity(p.shared)),
        "noise tokens": power_law(p.stored**2 * N**2 * d**4 / V**2, 3, p.target, 2),
        "informative tokens": power_law(p.stored**2 * N * d**4 / V, 2, p.target, 2),
        "trigger overlap": exp(widest - (s - sqrt(d)) / _slope(widest, p.target, 1)),
        **({} if p.m is None else {
            "MLP mean": power_law((N * d / V)**2 / (p.drift[0] + p.drift[1] / V), 4, p.target, 2),
            "MLP neurons": longest_by_neurons(V, d, N, p.blur, p.target)}),
        **({} if p.beta is None else {FINITE: longest_at_rates(V, d, p.e, p.beta, p.target),
                                      MIXED: longest_mixed(V, d, p.beta, p.target)}),
    }


MOMENTS = "k1 k0 kv kz A B h0 h1 P0 P2"
SOLVED = {  # what is sought: its branches, what is taken of them, the formula's name and title, its arguments
    "V": (vocabulary, least, "", "Largest vocabulary", "d N L e target"),
    "N": (samples, greatest, "samples.", "Least samples", "V d L e target"),
    "d": (dimension, greatest, "dimension.", "Least dimension", "V N L e target"),
    "L": (length, least, "length.", "Longest sequence, where recall is not what fails", "V d N e target"),
}


for _branches, _taken, _prefix, _title, _arguments in SOLVED.values():
    for _model, _more in (("attention_only", ""), ("attention_mlp", f"m {MOMENTS}"), ("finite_rates", "beta")):
        _law(f"capacity.{_prefix}{_model}", f"{_title} that every branch allows", of=Layer,
             arguments=f"{_arguments} {_more}", regime="as its branches; where two are equal, within a factor of 2 or "
             "so")(lambda p, branches=_branches, taken=_taken: taken(*branches(p).values()))
