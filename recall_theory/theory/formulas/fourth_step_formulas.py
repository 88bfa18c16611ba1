"""A fourth step, keys only, at the probabilities that the third left: docs/derivations/fourth_step.md."""

from __future__ import annotations

import functools

from .generic import Real
from .registry import formula

_fourth = functools.partial(formula, reference="docs/derivations/fourth_step.md",
                            regime="leading; attention right, trigger in the keys only, V > d")


@_fourth("fourth.feedback.noise", "What the other facts' corrections take from a unit of noise",
         limits="0 as g -> 0; g X V/d^2 for V much above d")
def noise_feedback(V: Real, d: Real, scale: Real, doubt: Real) -> Real:
    """(g X/V) ((V/d + 2)^2 - 1).

    >>> noise_feedback(256.0, 64.0, 5.0, 0.85)
    0.5810546875
    """
    return scale * doubt / V * ((V / d + 2)**2 - 1)


@_fourth("fourth.feedback.signal", "What the other facts' corrections take from a fact's own score",
         limits="less than from noise: the step helps by the difference")
def signal_feedback(V: Real, d: Real, scale: Real, doubt: Real) -> Real:
    """(g X/V) ((V/d + 1)^2 - 1)."""
    return scale * doubt / V * ((V / d + 1)**2 - 1)


@_fourth("fourth.feedback.mixed", "What they take from noise that shares the fact's token or the competitor's label")
def mixed_feedback(V: Real, d: Real, scale: Real, doubt: Real) -> Real:
    """(g X/V) ((V/d + 1)(V/d + 2) - 1)."""
    return scale * doubt / V * ((V / d + 1) * (V / d + 2) - 1)


@_fourth("fourth.noise", "Variance that the corrections bring anew, per squared length of the value read out")
def fresh_noise(V: Real, d: Real, rest: Real) -> Real:
    """(V/d^2 + 1/d) rho^2, rho^2 the mean squared correction of a fact less its mean."""
    return (V / d**2 + 1 / d) * rest


@_fourth("fourth.overshoot", "Logit scale from which the step overshoots: noise comes back with the other sign",
         limits="falls like d^2/V")
def overshoot(V: Real, d: Real, share: Real, doubt: Real) -> Real:
    """g with (g X/V) ((V/d + 2)^2 - 1) = 1 + a, a the mean correction of a fact's own label."""
    return V * (1 + share) / (doubt * ((V / d + 2)**2 - 1))
