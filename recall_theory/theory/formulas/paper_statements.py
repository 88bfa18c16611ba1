"""What the two papers, and accounts of them, say in words: places for formulas whose text could not be had.

Each entry carries the sentence and where it stands, and no expression. Whoever has a theorem's text registers its
expression in the entry's place, and `formulas` shows it beside the derived forms.
"""

from __future__ import annotations

from .generic import Real
from .registry import Formula, formulas

_RECALL = "Learning to Recall with Transformers Beyond Orthogonal Embeddings, ICLR 2026, arXiv:2603.15923"
_GEOMETRIC = "Geometric Factual Recall in Transformers, arXiv:2605.12426"
_ABSTRACT = "abstract, arXiv version 1"
_NOTES = "zhaoyang97/Paper-Notes on GitHub, a summary of the paper; our translation from Chinese"
_MISSING = "the statement's own text was not available: nothing is known of it beyond this sentence"


def _missing(**sizes: Real) -> None:
    """No expression: the statement's text was not available."""


def _said(name: str, arguments: str, title: str, paper: str, source: str, quote: str) -> None:
    """Register a statement of these sizes without an expression; what is not in an abstract is somebody's account."""
    formulas.add(Formula(_missing, f"paper.{name}", title, "quoted" if source == _ABSTRACT else "secondary", paper,
                         _MISSING, source=source, quote=quote, arguments=tuple(arguments.split())))


_said("capacity", "V L d N m", "The paper's formulas for storage capacity; which of Theorem 1 and Eq. (6) says what, "
      "and of which model, is not known here", _RECALL, _ABSTRACT,
      "Our analysis tracks the ``early phase'' of gradient descent and yields explicit formulas for the model's "
      "storage capacity -- revealing a multiplicative dependence between sample size N, embedding dimension d, and "
      "sequence length L.")
_said("lower_bound", "V L d N", "The paper's lower bound", _RECALL, _ABSTRACT,
      "We validate these scalings numerically and further complement them with a lower bound for the underlying "
      "statistical problem, demonstrating that this multiplicative scaling is intrinsic under non-orthogonal "
      "embeddings.")
_said("lower_bound.learners", "V L d N", "Whom the paper's lower bound binds", _RECALL, _NOTES,
      "For any estimator that only has access to gradient information of the initialised Transformer, this "
      "multiplicative trade-off holds, and the lower bound is of the same order as the upper one.")
_said("phase_diagram", "V L d N m", "The paper's phase diagram", _RECALL, _NOTES,
      "The paper further gives a phase diagram, which divides the condition on the needed parameters m d into regions "
      "by the dominant noise: mean bias, gradient noise and MLP noise each dominate in a region of their own, with "
      "thresholds on m d of their own.")
formulas.add(Formula(
    _missing, "kin.bits_per_parameter", "Bits of knowledge a parameter, reported for trained language models: 2",
    "secondary", "Allen-Zhu, Li, Physics of Language Models: Part 3.3, Knowledge Capacity Scaling Laws, "
    "arXiv:2404.05405", "their experiments on transformers trained long on their own data; not this model, no theorem",
    source="the entry of the paper in the proceedings of ICLR 2025; its text was not read", arguments=("P",),
    quote="Through multiple controlled datasets, we establish that language models can and only can store 2 bits of "
    "knowledge per parameter, even when quantized to int8"))
_said("geometric.dimension", "subjects R", "Embedding dimension that recalls all facts in one layer", _GEOMETRIC,
      _ABSTRACT, "we prove that a logarithmic embedding dimension suffices")
_said("geometric.dimension.order", "subjects R", "The same, with its order in the number of relations", _GEOMETRIC,
      "a reader's notes on the paper, in a public repository on GitHub",
      "They provide evidence that for N persons with R Relations, d = O(R log N) sufficies.")
_said("geometric.chain_of_thought", "subjects R h", "Embedding dimension of chain of thought", _GEOMETRIC,
      "a reader's notes on the paper, in a public repository on GitHub",
      "with CoT d = O~(R + k) suffices for any k-hop query")
_said("geometric.hops", "subjects R h", "Capacity against depth in multi-hop recall", _GEOMETRIC, _ABSTRACT,
      "We extend these results to the multi-hop setting [...] providing constructions with and without "
      "chain-of-thought that exhibit a provable capacity-depth tradeoff, complemented by a matching "
      "information-theoretic lower bound.")
