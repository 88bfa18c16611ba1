"""Places for statements whose text was not available: no expression until somebody has the paper.

The theorem texts of the two papers could not be had when this was written. Whoever has them returns the
expression from the function, and `formulas` shows it beside the derived forms.
"""

from __future__ import annotations

from typing import Any

from .registry import formula

_A = "Learning to Recall with Transformers Beyond Orthogonal Embeddings, ICLR 2026, arXiv:2603.15923"
_MISSING = "the text of the statement was not available; nothing is quoted beyond the words given"


@formula("quoted.theorem_1", title="Theorem 1: storage capacity of the Attention-only model",
         provenance="quoted", reference=_A + ", Theorem 1", regime=_MISSING,
         quote="storage capacity has a multiplicative dependence on sample size, embedding dimension "
               "and sequence length (abstract, in our words)")
def theorem_1(V: Any, L: Any, d: Any, N: Any) -> Any:
    """No expression: the theorem's text was not available."""
    return None


@formula("quoted.equation_6", title="Equation (6): storage capacity of the Attention-MLP model",
         provenance="quoted", reference=_A + ", Eq. (6)", regime=_MISSING,
         quote="the phase diagram is drawn in m*d, with regions named mean bias, gradient noise and "
               "MLP noise (in our words)")
def equation_6(V: Any, L: Any, d: Any, N: Any, m: Any) -> Any:
    """No expression: the equation's text was not available."""
    return None


@formula("quoted.lower_bound", title="The paper's lower bound for learners that see the gradient at "
         "initialisation", provenance="quoted", reference=_A + ", lower bound", regime=_MISSING,
         quote="the multiplicative dependence of N, d and L is intrinsic (abstract, in our words)")
def lower_bound(V: Any, L: Any, d: Any, N: Any) -> Any:
    """No expression: the bound's text was not available."""
    return None
