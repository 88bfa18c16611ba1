"""Leading laws of the Attention-MLP model: what its sizes must reach, each from one noise term alone.

The moments of the activation are those of `step_two.StepTwo` (step two) and of the kernel (step three).
docs/derivations/seed.md and recall.md have the derivation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .generic import log
from .registry import Function, formula

Law = TypeVar("Law", bound=Callable[..., Any])
_SEED = "docs/derivations/seed.md"
_RECALL = "docs/derivations/recall.md"


def _law(name: str, title: str, limits: str = "") -> Callable[[Function], Function]:
    return formula(f"mlp.law.attention.{name}", title=title, provenance="derived", reference=_SEED,
                   regime="leading order: d << V, L << V, tau = 1, all but the named term negligible",
                   limits=limits)


@_law("mean_bias", "N^2 d^3 that the mean embedding asks for")
def law_mean_bias(V: Any, L: Any, A: Any, h1: Any) -> Any:
    """N^2 d^3 = 2 ln L (h1/A)^2 V L^4."""
    return 2 * log(L) * (h1 / A)**2 * V * L**4


@_law("gradient_noise", "N^2 d^4 that the noise tokens ask for")
def law_gradient_noise(V: Any, L: Any, A: Any, B: Any) -> Any:
    """N^2 d^4 = 2 ln L (1 + B/A)^2 V^2 L^3."""
    return 2 * log(L) * (1 + B / A)**2 * V**2 * L**3


@_law("mlp_mean", "m N^2 d^2 that the mean of phi phi' asks for at finite width")
def law_mlp_mean(V: Any, L: Any, A: Any, h0: Any) -> Any:
    """m N^2 d^2 = 2 ln L (h0/A)^2 V^2 L^4."""
    return 2 * log(L) * (h0 / A)**2 * V**2 * L**4


@_law("mlp_noise", "m N^2 d^2 that the neurons' noise asks for at finite width")
def law_mlp_noise(V: Any, L: Any, d: Any, A: Any, P0: Any, P2: Any) -> Any:
    """m N^2 d^2 = 2 ln L (P0 P2/A^2) V^2 L^4 (1/L + 1/d); P0 ~ s ~ 1/L for an odd activation."""
    return 2 * log(L) * P0 * P2 / A**2 * V**2 * L**4 * (1 / L + 1 / d)


def _recall_law(name: str, title: str, limits: str = "") -> Callable[[Law], Law]:
    return formula(f"mlp.law.recall.{name}", title=title, provenance="derived", reference=_RECALL,
                   regime="leading order: attention right, almost all facts, d << V, all but the named term negligible",
                   limits=limits)


@_recall_law("interference", "d^2 that the kernel's interference asks for", limits="2 (1 + tau) V ln V for identity")
def law_recall_interference(V: Any, k1: Any, k0: Any, kv: Any) -> Any:
    """d^2 = 2 V ln V k_v/(k_1 - k_0)^2."""
    return 2 * V * log(V) * kv / (k1 - k0)**2


@_recall_law("mlp_noise", "m d that the neurons' noise asks for")
def law_recall_mlp_noise(V: Any, k1: Any, k0: Any, kz: Any) -> Any:
    """m d = 2 V ln V k_z/(k_1 - k_0)^2."""
    return 2 * V * log(V) * kz / (k1 - k0)**2


@_recall_law("mean_bias", "N d that what all values share asks for", limits="2 tau^2 V^2 ln V for identity")
def law_recall_mean_bias(V: Any, k1: Any, k0: Any) -> Any:
    """N d = 2 V^2 ln V k_0^2/(k_1 - k_0)^2."""
    return 2 * V**2 * log(V) * k0**2 / (k1 - k0)**2
