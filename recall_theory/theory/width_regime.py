"""Whether enough neurons share the work for the theory's averages over them."""

from __future__ import annotations

from typing import Any

from ..activations import activation as find
from ..activations import gaussian_mean

__all__ = ["MOST", "share_of_few"]

POWER = 2  # |h|^2 of a value with the trigger in it, what a neuron sees in step three
MOST = 1 / 4  # above this share a few neurons decide, and predictions of recall come out too low


def share_of_few(m: float, activation: Any) -> float:
    """E phi^4/(m (E phi^2)^2): the relative variance of a value's squared features over the neurons' weights.

    The theory takes sums over neurons for nearly normal. Where phi^2 has a heavy tail (x^3 - 3x) that asks for many.

    >>> round(share_of_few(600, "relu"), 6)
    0.01
    >>> share_of_few(100, "x**3 - 3*x") > MOST
    True
    """
    phi = find(activation)
    second = float(gaussian_mean(phi, lambda x: phi.phi(x) ** 2, POWER))
    fourth = float(gaussian_mean(phi, lambda x: phi.phi(x) ** 4, POWER))
    return fourth / (m * second**2)
