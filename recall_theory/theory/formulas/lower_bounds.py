"""What no learner can beat: unseen facts, the size of a model, information, a gradient seen in noise.

Each function is a registered formula. All statements are about expectations over a uniform permutation. Proofs:
docs/derivations/bounds.md.
"""

from __future__ import annotations

import functools

from ...numerics.thresholds import bisect
from .generic import (
    Real,
    exp,
    lambert_w,
    log,
    log_of_one_plus,
    loggamma,
    minimum,
    pi,
    power_of_complement,
    power_of_complement_less_one,
    whole,
)
from .registry import Row, formula

_DIGITS = 50
_EQUAL = 1e-30  # V! = 2^(P b) to so much is an equality: what is left is rounding
_SEES = "rigorous, learners that see the first gradient's mean in noise of N samples' noise tokens; L >= 2"

_PAGE = "docs/derivations/bounds.md"
_bits: Row = functools.partial(formula, reference=f"{_PAGE}#bits")
_information: Row = functools.partial(formula, reference=f"{_PAGE}#from-information-to-recall",
                                      regime="rigorous, any learner and any channel")
_gradient: Row = functools.partial(formula, reference=f"{_PAGE}#what-a-learner-sees-through-a-gradient", regime=_SEES)


@formula("bound.coverage", "Recall of the best learner: seen facts, and the last one by elimination",
         reference=f"{_PAGE}#coverage",
         regime="exact up to (V e^(-N/V))^2/(2 V): any learner, whatever it sees of the samples",
         limits="1 as N/V -> infinity")
def coverage(V: Real, N: Real) -> Real:
    """recall <= 1 - (1 - 1/V)^N + min(1, V (1 - 1/V)^N) / V, at most 1.

    E[#seen]/V is exact; the second part bounds Pr(some fact unseen)/V, what a learner gains that names
    the one label left over.

    >>> round(float(coverage(V=1000, N=1000)), 4)
    0.6333
    """
    unseen = power_of_complement(V, N)
    return minimum(1, minimum(1, V * unseen) / V - power_of_complement_less_one(V, N))


permutation_bits = _bits(
    "bound.bits", "Bits that a permutation of V labels holds",
    regime="exact, any model that recalls all V facts: its parameters hold at least log2 V! bits",
    limits="V log2(V/e) for large V", unit="bits"
)(lambda V: loggamma(V + 1) / log(whole(2, V)))

bits_with_errors = _bits(
    "bound.bits.errors", "Bits of a model with at most e wrong answers",
    regime="rigorous, any model that errs on at most e facts of every permutation, whatever its answers",
    limits="bound.bits at e = 0", unit="bits"
)(lambda V, errors: loggamma(V - errors + 1) / log(whole(2, V)))


@_bits("bound.bits.average", "Recall of P parameters of b bits, on average over permutations",
       regime="rigorous, any model, for each integer a >= 0; least at the largest a with a! <= 2^(P b)",
       limits="the sum of min(1, 2^(P b)/a!) over all a >= 1, divided by V, up to 1/(a^2 V)")
def average_recall(V: Real, P: Real, b: Real, a: Real) -> Real:
    """recall <= [a + (a+2)/(a+1) 2^(P b)/(a+1)!]/V, at most 1.

    The exponent is cut off where the bound exceeds 1 anyway, so that nothing overflows.
    """
    above = minimum(P * b * log(whole(2, V)) - loggamma(a + 2), log(V))
    return minimum(1, (a + (a + 2) / (a + 1) * exp(above)) / V)


stored_bits = _bits(
    "bound.bits.stored", "Bits of the permutation that answers determine, a of them right on average",
    regime="rigorous, any model, whatever it answers where it is wrong, and nobody told which answers are right",
    limits="log2 V! - log2(V + 1) at a = V; a log2(a/e) for large a", unit="bits"
)(lambda V, a: (loggamma(a + 1) - log(V + 1)) / log(whole(2, V)))


@_bits("bound.bits.capacity", "Most facts that P parameters of b bits can hold, to leading order",
       regime="approximate: leading order of log2 V! = P b, an overestimate by less than a factor e",
       limits="the exact inverse is `bits_bound`")
def bits_capacity(P: Real, b: Real) -> Real:
    """V of V ln(V/e) = P b ln 2."""
    x = P * b * log(whole(2, P))
    return x / lambert_w(x / exp(whole(1, x)))


@functools.cache
def bits_bound(P: float, b: float) -> int:
    """The largest V with log2 V! <= P b: no model of P parameters of b bits recalls more facts, all of them.

    Exact: by bisection in 50 digits.

    >>> bits_bound(1, 16)
    8
    """
    import mpmath

    if P * b < 1:  # not even two facts
        return 1
    with mpmath.workdps(_DIGITS):
        nats = mpmath.mpf(P) * mpmath.mpf(b) * mpmath.log(2) * (1 + mpmath.mpf(_EQUAL))
        high = int(bits_capacity(P=float(P), b=float(b))) + 2
        while mpmath.loggamma(high + 1) <= nats:  # rounding of the leading order, beyond 2^53
            high *= 2
        return bisect(lambda V: bool(mpmath.loggamma(V + 1) <= nats), 1, high)


def recall_of_bits(V: float, P: float, b: float) -> float:
    """`average_recall` at its best a: the most that P parameters of b bits recall of V facts on average.

    >>> recall_of_bits(8, 1, 16), round(recall_of_bits(100, 1, 16), 4)
    (1.0, 0.082)
    """
    return float(average_recall(V=float(V), P=float(P), b=float(b), a=float(bits_bound(P, b))))


least_information = _information(
    "bound.information", "Information that a facts answered right take",
    regime="rigorous, any learner and any channel, a >= 1 facts right in expectation",
    limits="a ln(a/e) for large a; 0 at a = 1, which chance gives", unit="nats"
)(lambda a: a * log(a) - a + 1)

most_right = _information(
    "bound.information.recall", "Most facts right that I nats allow",
    limits="the inverse of bound.information; 1 at I = 0"
)(lambda nats: exp(1 + lambert_w((nats - 1) / exp(whole(1, nats)))))

gradient_snr = _gradient(
    "bound.gradient.snr", "Signal over noise of the first gradient, the same in every direction", limits="N/(V L)"
)(lambda V, L, N: N / ((V - 1) * (L - 1)))


gradient_information = _gradient(
    "bound.gradient", "Information about the permutation in a noisy first gradient",
    limits="N d^2/(2 V L) for d < V", unit="nats"
)(lambda V, L, d, N: minimum(d, V - 1) ** 2 * log_of_one_plus(gradient_snr(V, L, N)) / 2)

gradient_information_mlp = _gradient(
    "bound.gradient.mlp", "Information about the permutation in a noisy first gradient, behind an MLP",
    regime=_SEES + "; any activation; not tight", limits="N d m/(2 V L) for d < V and m < V", unit="nats"
)(lambda V, L, d, N, m: minimum(d, V - 1) * minimum(m, V - 1) * log_of_one_plus(gradient_snr(V, L, N)) / 2)

gradient_information_sampled = _gradient(
    "bound.gradient.sampled", "The same where the gradient is that of N samples, noise added",
    regime="rigorous, learners that see the first gradient of N samples in independent noise of their noise "
    "tokens' covariance; no MLP; L >= 2", limits="bound.gradient at N >> V", unit="nats"
)(lambda V, L, d, N: minimum(d, V - 1) ** 2 * log_of_one_plus((V + N - 2) / ((V - 1) * (L - 1))) / 2)

gradient_information_bits = _gradient(
    "bound.gradient.bits", "Information in a first gradient whose entries have b bits, no noise added",
    regime="rigorous, learners that see the first gradient of any samples in d m entries of b bits each, on a "
    "scale fixed beforehand (one that is chosen counts with its own bits); m = d without an MLP", unit="nats"
)(lambda d, m, b: d * m * b * log(whole(2, d)))

_queries: Row = functools.partial(
    formula, reference=f"{_PAGE}#statistical-queries", regime="rigorous, learners that ask P linear functionals of the "
    "first gradient's mean, each answered within the error that N samples' noise tokens give it, however it is wrong; "
    "any activation; L >= 2")

queries_recall = _queries(
    "bound.gradient.queries", "Recall of a learner of statistical queries, adaptive or not",
    limits="N P = V L: multiplicative in N, P = d^2 and 1/L, without the ln V of added Gaussian noise"
)(lambda V, L, N, P: minimum(1, 1 / V + P * gradient_snr(V, L, N)))

queries_information = _queries(
    "bound.gradient.queries.information", "Information in the answers to statistical queries, all asked at once",
    limits="(P/2) ln(N/(V L)) + O(P) for N >> V L", unit="nats"
)(lambda V, L, N, P: P / 2 * (1 + log(2 * pi(V) * (gradient_snr(V, L, N) + 1 / whole(12, V)))))

gradient_samples = _gradient(
    "bound.gradient.samples", "Least N for all facts through a noisy first gradient",
    limits="N d^2 = 2 V L ln V!: multiplicative in N, d^2 and 1/L"
)(lambda V, L, d: 2 * (V - 1) * (L - 1) * loggamma(V + 1) / minimum(d, V - 1) ** 2)
