"""The laws of geometric recall, on record: dimensions, the leading law of superposition, chains, bounds, kin.

They are written for numbers, arrays and sympy symbols alike. `subjects` is N, `words` the number of codes in an
embedding (R for one hop, R^h for h hops in one pass).
"""

from __future__ import annotations

import functools

from .generic import Real, log, loggamma, pi, sin, sqrt, whole
from .registry import Row, formula

_LINEAR = ("Barnfield, Kim, Nichani, Lee, Lu, arXiv:2605.05189 (conjectured there in v1); Giorlandino, Goldt, "
           "Maillard, arXiv:2605.10795 (p ln p / d^2 = 1/2); with p = N R facts")

_geometric: Row = functools.partial(formula, reference="docs/derivations/geometric.md")

exact_dimension = _geometric(
    "geometric.exact.dimension", "Embedding dimension of the exact construction, one pass of h relations",
    regime="every N with codes of k = ceil(log2 N / b) digits of b bits; recall is 1", limits="R (k + 1) for one hop"
)(lambda R, k, h: R**h * k + h * R)

middle_dimension = _geometric(
    "geometric.middle.dimension", "Embedding dimension where one pass of h relations meets in the middle",
    regime="h even (h + 1 in place of h in the exponent where it is odd); facts in the subject embeddings and, "
    "backwards, in the unembedding; recall is 1", limits="R (k + 2) for two hops"
)(lambda R, k, h: R ** (h / 2) * k + h * R)

chain_dimension = _geometric(
    "geometric.chain.dimension", "Embedding dimension of chain of thought inside one attention layer",
    regime="one head with scores of positions alone, a coordinate for each of 2 h + 1 positions; recall is 1"
)(lambda R, k, h: R * k + R + 2 * h + 1)

circle_margin = _geometric(
    "geometric.circle.margin", "Lead of the right score of N codes on a circle, two coordinates a code",
    regime="every N, in exact arithmetic; a format of p significand bits holds it up to about N = 2^(p/2) to 4 2^(p/2)",
    limits="2 pi^2/N^2")(lambda subjects: 2 * sin(pi(subjects) / subjects) ** 2)

mlp_width = _geometric(
    "geometric.exact.mlp_width", "Hidden units of the MLP that selects by relation",
    regime="both constructions, one pass of h relations"
)(lambda R, k, h: 2 * R**h * k)

interference_variance = _geometric(
    "geometric.superposition.interference",
    "Noise of random superposition: the mean square of one coordinate of what the other codes add",
    regime="exact; the whole law of recall is `recall_theory.geometric.superposition.superposition_recall`"
)(lambda words, d: (words - 1) / d)


@_geometric("geometric.superposition.dimension",
            "Embedding dimension of random superposition for almost all facts, to leading order",
            regime="N, k and d large, k > 2 ln N: a rival's best score, sqrt(2 ln N (1/k + (words - 1)/d)), meets 1",
            limits="2 (words - 1) ln N as k -> infinity")
def superposition_dimension(subjects: Real, words: Real, k: Real) -> Real:
    """d = 2 (words - 1) ln N / (1 - 2 ln N / k)."""
    bend = 2 * log(subjects)
    return (words - 1) * bend / (1 - bend / k)


@_geometric("geometric.chain", "Recall after h passes, each right with probability p",
            regime="passes independent of one another; `geometric.chain.shared` is what the spread from seed to seed "
            "adds", limits="p^h for large N; 1/N for h -> infinity")
def chain(p: Real, h: Real, subjects: Real) -> Real:
    """1/N + (1 - 1/N) ((N p - 1)/(N - 1))^h: a pass from a wrong subject is right by chance, one in N - 1."""
    return (1 + (subjects - 1) * ((subjects * p - 1) / (subjects - 1)) ** h) / subjects


@_geometric("geometric.chain.shared",
            "What recall after h passes gains because the passes of one seed are right together",
            regime="second order in the seed-to-seed variance v of the recall of one pass",
            limits="0 for h = 1; h (h - 1)/2 p^(h-2) v for large N")
def chain_shared(p: Real, h: Real, subjects: Real, v: Real) -> Real:
    """v/2 times the second derivative of `chain` in p."""
    bend = h * (h - 1) * ((subjects * p - 1) / (subjects - 1)) ** (h - 2)
    return v / 2 * bend * subjects / (subjects - 1)


bound_subject = _geometric(
    "geometric.bound.subject",
    "Least embedding dimension where facts are in subject embeddings alone: b bits a coordinate",
    regime="one hop or chain of thought, any depth, no other weight depends on the facts; every table recalled",
    limits="attained by the exact construction up to rounding log2 N, at b = 1"
)(lambda subjects, R, b: R * log(subjects) / (b * log(whole(2, subjects))))

bound_table = _geometric(
    "geometric.bound.table", "Bits that R bijections of N subjects hold",
    regime="any model, wherever its facts are: P parameters of b bits need P b of at least this", unit="bits"
)(lambda subjects, R: R * loggamma(subjects + 1) / log(whole(2, subjects)))


@_geometric("geometric.bound.hops", "Bits in a subject's embedding for h hops in one pass where facts are in subject "
            "embeddings alone",
            regime="no other weight depends on the facts, any depth, no chain of thought; R >= 2, and "
            "1 + R + ... + R^(h-1) <= N",
            limits="R log2 N for h = 1; R^h log2 N for N -> infinity", unit="bits")
def bound_hops(subjects: Real, R: Real, h: Real) -> Real:
    """R log2[(N - T_{h-2})! / (N - T_{h-1})!], T_j = 1 + R + ... + R^j."""
    inner, outer = (R ** (h - 1) - 1) / (R - 1), (R**h - 1) / (R - 1)
    return R * (loggamma(subjects - inner + 1) - loggamma(subjects - outer + 1)) / log(whole(2, subjects))


@formula("geometric.kin.linear_memory", "Dimension of the best linear associative memory for the same N R facts",
         reference=_LINEAR, provenance="kin", regime="n = N R facts as pairs of random embeddings, leading order")
def linear_memory_dimension(subjects: Real, R: Real) -> Real:
    """d = sqrt(2 n ln n), n = N R."""
    n = subjects * R
    return sqrt(2 * n * log(n))
