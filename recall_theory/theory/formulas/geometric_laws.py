"""The laws of geometric recall, on record: dimensions, the leading law of superposition, chains, bounds, kin.

They are written for numbers, arrays and sympy symbols alike. `subjects` is N, `words` the number of codes in an
embedding (R for one hop, R^h for h hops in one pass).
"""

from __future__ import annotations

from typing import Any

from .generic import log, loggamma, sqrt
from .registry import formula

_HERE = "docs/derivations/geometric.md"
_LINEAR = ("Barnfield, Kim, Nichani, Lee, Lu, arXiv:2605.05189 (conjectured there in v1); Giorlandino, Goldt, "
           "Maillard, arXiv:2605.10795 (p ln p / d^2 = 1/2); with p = N R facts")


@formula("geometric.exact.dimension", title="Embedding dimension of the exact construction, one pass of h relations",
         provenance="derived", reference=_HERE, regime="every N with codes of k = ceil(log2 N) bits; recall is 1",
         limits="R (k + 1) for one hop or chain of thought")
def exact_dimension(R: Any, k: Any, h: Any) -> Any:
    """d = R^h k + h R."""
    return R**h * k + h * R


@formula("geometric.exact.mlp_width", title="Hidden units of the MLP that selects by relation", provenance="derived",
         reference=_HERE, regime="both constructions, one pass of h relations")
def mlp_width(R: Any, k: Any, h: Any) -> Any:
    """2 R^h k: one unit for each sign of each coordinate of each word's code."""
    return 2 * R**h * k


@formula("geometric.superposition.interference", title="Noise of random superposition: the mean square of one "
         "coordinate of what the other codes add", provenance="derived", reference=_HERE,
         regime="exact; the whole law of recall is `recall_theory.geometric.superposition.superposition_recall`")
def interference_variance(words: Any, d: Any) -> Any:
    """(words - 1)/d."""
    return (words - 1) / d


@formula("geometric.superposition.dimension", title="Embedding dimension of random superposition for almost all "
         "facts, to leading order", provenance="derived", reference=_HERE,
         regime="N, k and d large, k > 2 ln N: a rival's best score, sqrt(2 ln N (1/k + (words - 1)/d)), meets 1",
         limits="2 (words - 1) ln N as k -> infinity")
def superposition_dimension(subjects: Any, words: Any, k: Any) -> Any:
    """d = 2 (words - 1) ln N / (1 - 2 ln N / k)."""
    bend = 2 * log(subjects)
    return (words - 1) * bend / (1 - bend / k)


@formula("geometric.chain", title="Recall after h passes, each right with probability p", provenance="derived",
         reference=_HERE, regime="passes independent of one another; `geometric.chain.shared` is what the "
         "spread from seed to seed adds", limits="p^h for large N; 1/N for h -> infinity")
def chain(p: Any, h: Any, subjects: Any) -> Any:
    """1/N + (1 - 1/N) ((N p - 1)/(N - 1))^h: a pass from a wrong subject is right by chance, one in N - 1."""
    return (1 + (subjects - 1) * ((subjects * p - 1) / (subjects - 1)) ** h) / subjects


@formula("geometric.chain.shared", title="What recall after h passes gains because the passes of one seed are right "
         "together", provenance="derived", reference=_HERE,
         regime="second order in the seed-to-seed variance v of the recall of one pass",
         limits="0 for h = 1; h (h - 1)/2 p^(h-2) v for large N")
def chain_shared(p: Any, h: Any, subjects: Any, v: Any) -> Any:
    """v/2 times the second derivative of `chain` in p."""
    bend = h * (h - 1) * ((subjects * p - 1) / (subjects - 1)) ** (h - 2)
    return v / 2 * bend * subjects / (subjects - 1)


@formula("geometric.bound.subject", title="Least embedding dimension where only the subject's embedding knows its "
         "facts: b bits a coordinate", provenance="derived", reference=_HERE,
         regime="one hop or chain of thought, any depth and any fixed weights; every table of facts recalled",
         limits="attained by the exact construction up to rounding log2 N, at b = 1")
def bound_subject(subjects: Any, R: Any, b: Any) -> Any:
    """d >= R log2(N) / b."""
    return R * log(subjects) / (b * log(_two(subjects)))


@formula("geometric.bound.table", title="Bits that R bijections of N subjects hold", provenance="derived",
         reference=_HERE, unit="bits",
         regime="any model, wherever its facts are: P parameters of b bits need P b of at least this")
def bound_table(subjects: Any, R: Any) -> Any:
    """R log2 N!."""
    return R * loggamma(subjects + 1) / log(_two(subjects))


@formula("geometric.bound.hops", title="Bits in a subject's embedding for h hops in one pass, at any depth",
         provenance="derived", reference=_HERE, unit="bits",
         regime="facts in subject embeddings alone, no chain of thought; R >= 2, and 1 + R + ... + R^(h-1) <= N",
         limits="R log2 N for h = 1; R^h log2 N for N -> infinity")
def bound_hops(subjects: Any, R: Any, h: Any) -> Any:
    """R log2[(N - T_{h-2})! / (N - T_{h-1})!], T_j = 1 + R + ... + R^j."""
    inner, outer = (R ** (h - 1) - 1) / (R - 1), (R**h - 1) / (R - 1)
    return R * (loggamma(subjects - inner + 1) - loggamma(subjects - outer + 1)) / log(_two(subjects))


@formula("geometric.kin.linear_memory", title="Dimension of the best linear associative memory for the same N R facts",
         provenance="kin", reference=_LINEAR, regime="n = N R facts as pairs of random embeddings, leading order")
def linear_memory_dimension(subjects: Any, R: Any) -> Any:
    """d = sqrt(2 n ln n), n = N R."""
    n = subjects * R
    return sqrt(2 * n * log(n))


def _two(like: Any) -> Any:
    """The number 2, exact where `like` is symbolic, so that log(2) stays log(2)."""
    return like * 0 + 2
