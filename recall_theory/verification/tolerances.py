"""The margins that the theory declares: how far its means may be off before it counts as wrong.

A closed form for random embeddings has an error at any finite size. These bounds were fixed before anything was
compared, and every comparison is held against them.
"""

from __future__ import annotations

from ..settings import Setting

__all__ = ["ATTENTION_ONLY", "GEOMETRIC", "MLP", "MLP_SPREAD", "declared_margin", "spread_allowance"]

ATTENTION_ONLY = 2 / 100
MLP = 3 / 100  # the kernel of a finite width adds an error of its own
GEOMETRIC = 2 / 100  # its law of one pass is exact
MLP_SPREAD = 5 / 4  # spreads over seeds may exceed the predicted ones by this factor


def declared_margin(setting: Setting) -> float:
    """The declared margin, a difference of probabilities, of every observable predicted at a setting.

    >>> declared_margin(Setting(V=64, L=4, d=64, N=4096)), declared_margin(Setting(V=64, L=4, d=64, N=4096, m=256))
    (0.02, 0.03)
    """
    return ATTENTION_ONLY if setting.m is None else MLP


def spread_allowance(setting: Setting) -> float:
    """The factor by which the spread over seeds may exceed the predicted one: a plan of seeds has to allow for it."""
    return 1 if setting.m is None else MLP_SPREAD
