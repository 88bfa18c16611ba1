"""Closed-form moments of step three: what a value read out holds beside the right label.

In units of 1/V, with the value w of token k (s = |w|^2, t = z_trig.w): label j has weight theta_j = c_j (t + o_j)
less the mean, c_j = n_j/lambda its count, o_j = z_j.w ~ N(0, s/d); the right one c_k s - t. Typical values
are s = 1 + e tau and t = e tau, so that the mean signal is 1. Proofs: docs/derivations/recall.md.
"""

from __future__ import annotations

from typing import Any

from .registry import formula

_PAGE = "docs/derivations/recall.md"
_RIGHT = "training attention right; signal and noise at typical lengths"


@formula("recall.interference", title="The V stored pairs overlap", provenance="derived", reference=_PAGE,
         regime=_RIGHT, limits="(1 + e tau) V/d^2 = 1/(2 ln V): the law of an optimal linear memory at e = 0",
         unit="(noise/signal)^2")
def interference(V: Any, d: Any, e: Any, tau: Any) -> Any:
    """V (1 + e tau)/d^2.

    >>> interference(512, 128, 1, 1)
    0.0625
    """
    return V * (1 + e * tau) / d**2


@formula("recall.gradient_noise", title="The same, through the sampling of the label counts",
         provenance="derived", reference=_PAGE, regime=_RIGHT, limits="0 as N/V -> infinity",
         unit="(noise/signal)^2")
def gradient_noise(V: Any, d: Any, N: Any, e: Any, tau: Any) -> Any:
    """V^2 (1 + e tau)/(N d^2)."""
    return V**2 * (1 + e * tau) / (N * d**2)


@formula("recall.mean_bias", title="Label frequencies' noise carried by what all values share, the trigger",
         provenance="derived", reference=_PAGE, regime=_RIGHT,
         limits="0 without the trigger in the values", unit="(noise/signal)^2")
def mean_bias(V: Any, d: Any, N: Any, e: Any, tau: Any) -> Any:
    """V^2 (e tau)^2/(N d)."""
    return V**2 * (e * tau) ** 2 / (N * d)


@formula("recall.token_overlap", title="A competitor's own weight: the overlap of its token and its count",
         provenance="derived", reference=_PAGE, regime=_RIGHT,
         limits="all that is left for V << d", unit="(noise/signal)^2")
def token_overlap(d: Any, N: Any, V: Any, e: Any, tau: Any) -> Any:
    """(1 + V/N)(1 + e tau)/d + (e tau)^2 V/N: unlike the others not a noise of the output embeddings."""
    return (1 + V / N) * (1 + e * tau) / d + (e * tau) ** 2 * V / N


@formula("recall.weight_square", title="Mean square of a competitor's weight theta", provenance="derived",
         reference=_PAGE, regime="training attention right; s = 1 + e tau, t = e tau", unit="1/V^2")
def weight_square(V: Any, d: Any, N: Any, e: Any, tau: Any) -> Any:
    """(e tau)^2 V/N + (1 + V/N)(1 + e tau)/d."""
    return (e * tau) ** 2 * V / N + (1 + V / N) * (1 + e * tau) / d

