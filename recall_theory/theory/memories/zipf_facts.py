"""Memories of facts whose frequencies follow Zipf's law: p(x) in proportion to x^-alpha, x = 1, 2, ...

A thresholded memory stores the most frequent facts with weight 1 and leaves the others out. Its error is what it
gets wrong among them, each weighed by its frequency, and all of the rest. docs/derivations/zipf.md has the derivation.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from ...numerics.forced_choice import forced_choice_complement
from ...settings import SettingError
from ..formulas import memory_laws as laws
from .hebbian_memory import MOST_FACTS, MOST_STORED, hebbian_errors

_ALPHA = (1 + 1 / 1000, 20)


@dataclasses.dataclass(frozen=True)
class Thresholded:
    """A thresholded memory: how many facts it stores and the frequency of wrong answers."""

    stored: int
    error: float
    left_out: float


def tail(alpha: float, x: float, facts: float = math.inf) -> float:
    """Frequency of the facts after the x-th, of `facts` in all.

    >>> round(tail(2.0, 1), 4)
    0.3921
    """
    from scipy.special import zeta

    end = 0 if math.isinf(facts) else zeta(alpha, facts + 1)
    return float((zeta(alpha, x + 1) - end) / (zeta(alpha, 1) - end))


def threshold_error(alpha: float, d: int, stored: float, classes: int | None = None, facts: float = math.inf) -> float:
    """Frequency of wrong answers of a memory of the `stored` most frequent facts.

    alpha: exponent of Zipf's law, above 1; d: embedding dimension; `classes`: None where each fact has an output of its
    own and the answer is one of those stored, else the number of outputs that the facts share at random, at most d/4;
    `facts`: how many there are. Gaussian embeddings. A fact left out counts as wrong with an output of its own, and is
    guessed with chance 1/classes otherwise. Raises `SettingError`. Provenance: derived, docs/derivations/zipf.md.

    >>> round(threshold_error(2.0, 64, 100), 3), round(threshold_error(2.0, 64, 20, classes=4), 3)
    (0.044, 0.05)
    """
    _check(alpha)
    if not 1 <= stored <= min(facts, MOST_STORED):
        raise SettingError("stored", f"stored={stored} is not an integer from 1 to the number of facts")
    rest = tail(alpha, stored, facts)
    if classes is None:
        wrong = float(hebbian_errors(stored, d)) if stored >= 2 else 0
        return (1 - rest) * wrong + rest
    if not 2 <= classes <= d / 4:
        raise SettingError("classes", f"classes={classes} is not an integer from 2 to d/4")
    others = (stored - 1) / d  # squared coefficients of the other facts' sum, over all outputs
    noise = others / classes + (1 + others) / d
    wrong = float(forced_choice_complement(1 / math.sqrt(noise), classes))
    return (1 - rest) * wrong + rest * (1 - 1 / classes)


def best_threshold(alpha: float, d: int, classes: int | None = None) -> Thresholded:
    """The number of stored facts at which a thresholded memory errs least, and that error.

    Arguments as in `threshold_error`. Up to logarithms the error is what is left out, d^-2(alpha - 1) with an output
    a fact and d^-(alpha - 1) with classes.

    >>> best = best_threshold(2.0, 256)
    >>> best.stored, round(best.error, 6)
    (826, 0.00081)
    """
    from scipy.optimize import minimize_scalar

    _check(alpha)
    found = minimize_scalar(lambda log: math.log(threshold_error(alpha, d, math.exp(log), classes)), method="bounded",
                            bounds=(0, math.log(min(4 * d * d, MOST_STORED))), options={"xatol": 1 / 1000})
    near = max(1, round(math.exp(found.x)))
    error, stored = min((threshold_error(alpha, d, n, classes), n) for n in (near - 1, near, near + 1)
                        if 1 <= n <= MOST_STORED)
    return Thresholded(stored, error, tail(alpha, stored))


def unseen(alpha: float, samples: int, exact_to: int = 10**5) -> float:
    """Expected frequency of the facts that T = `samples` samples leave unseen, sum_x p(x) (1 - p(x))^T.

    The first `exact_to` facts are summed, the others integrated. For large T it is Gamma(1 - 1/alpha) / (alpha
    zeta(alpha)^(1/alpha)) T^-(1 - 1/alpha).

    >>> round(unseen(2.0, 10000), 5)
    0.00691
    """
    from scipy.special import gammainc, gammaln, zeta

    _check(alpha)
    if not 1 <= samples <= MOST_FACTS:
        raise SettingError("samples", f"samples={samples} is not an integer from 1 to {MOST_FACTS:g}")
    total = float(zeta(alpha, 1))
    p = np.arange(1, exact_to + 1, dtype=float) ** -alpha / total
    head = float((p * np.exp(samples * np.log1p(-p))).sum())
    # Beyond, (1 - p)^T is e^(-T p), and x = (T / (total y))^(1/alpha) makes the integral an incomplete gamma.
    a = 1 - 1 / alpha
    y = samples / total * (exact_to + 1 / 2) ** -alpha
    rest = math.exp(gammaln(a)) * float(gammainc(a, y)) / alpha * (samples / total) ** (1 / alpha) / samples
    return head + rest


@dataclasses.dataclass(frozen=True)
class Zipf:
    """Facts of Zipf's law at dimension d: the best thresholded memory with an output a fact (`own`) and with shared
    ones (`shared`, None where d is too small for them), exponents of the error, and what samples leave unseen."""

    alpha: float
    d: int
    classes: int
    samples: int | None
    own: Thresholded
    shared: Thresholded | None
    exponents: dict[str, float]
    unseen: float | None


def zipf_at(alpha: float, d: int, classes: int | None = None, samples: int | None = None) -> Zipf:
    """All that is known of memories of dimension d for facts of frequency x^-alpha.

    `classes` defaults to 10, and to no answer for shared outputs below d = 40. `samples` adds the frequency of the
    facts that so many samples leave unseen. Raises `SettingError`.

    >>> zipf_at(2.0, 256).exponents["threshold, an output a fact"]
    2.0
    """
    chosen = 10 if classes is None else classes
    exponents = {"threshold, an output a fact": float(laws.zipf_threshold(alpha)),
                 "threshold, shared outputs": float(laws.zipf_threshold_classes(alpha)),
                 "weights p, either": float(laws.zipf_power(alpha, 1))}
    return Zipf(alpha, d, chosen, samples, best_threshold(alpha, d),
                None if classes is None and d < 4 * chosen else best_threshold(alpha, d, chosen), exponents,
                None if samples is None else unseen(alpha, samples))


def _check(alpha: float) -> None:
    if not _ALPHA[0] <= alpha <= _ALPHA[1]:
        raise SettingError("alpha", f"alpha={alpha!r} is not a number from {_ALPHA[0]:g} to {_ALPHA[1]:g}")
