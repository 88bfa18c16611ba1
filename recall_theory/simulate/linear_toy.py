"""Whether some linear memory recalls all facts: a convex problem, minimised until the answer is certain."""

from __future__ import annotations

import dataclasses

import numpy as np

from .data import FloatArray, _rows

__all__ = ["Separation", "separate"]


@dataclasses.dataclass(frozen=True)
class Separation:
    """`separable`: True with a memory (d, d) that recalls all facts, False with a proof that there is none, None
    where the optimiser stopped before either; `recall` of the last memory; `steps` it took."""

    separable: bool | None
    memory: FloatArray
    recall: float
    steps: int


def separate(keys: FloatArray, outputs: FloatArray, most_steps: int = 4000) -> Separation:
    """Look for W with <u_x, W e_x> > <u_z, W e_x> for all facts x and z != x, keys (n, d) and outputs (n, d).

    The squared hinge loss, sum over pairs of max(0, 1 - margin)^2, is convex and minimised by L-BFGS (scipy). If all
    margins are positive, W is the memory. If the gradient vanishes at a positive loss, the hinge's pulls are
    multipliers >= 0, not all zero, under which the margins of *every* W average to zero: no W has all of them
    positive (Gordan). Here "vanishes" allows what rounding and the optimiser leave, one part in 10^5 of the pulls.

    >>> rng = np.random.default_rng(0)
    >>> keys, outputs = rng.standard_normal((2, 8, 8))
    >>> separate(keys, outputs).separable
    True
    """
    from scipy.optimize import minimize

    n, d = keys.shape
    own = np.arange(n)

    class Found(Exception):
        pass

    state: dict[str, FloatArray] = {}

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        scores = keys @ flat.reshape(d, d).T @ outputs.T  # (n, n)
        margin = scores[own, own][:, None] - scores
        margin[own, own] = np.inf
        if margin.min() > 0:
            state["memory"] = flat.reshape(d, d).copy()
            raise Found
        pull = np.maximum(1 - margin, 0)
        value = 0.5 * float((pull**2).sum()) / n
        pull[own, own] = -pull.sum(axis=1)
        gradient = outputs.T @ pull.T @ keys / n
        state["pulls"] = np.array(np.abs(pull).sum() / n)
        return value, gradient.ravel()

    try:
        end = minimize(loss, (outputs.T @ keys).ravel(), jac=True, method="L-BFGS-B",
                       options={"maxiter": most_steps, "maxfun": 2 * most_steps, "maxcor": 20, "ftol": 0, "gtol": 0})
    except Found:
        return Separation(True, state["memory"], 1.0, 0)
    W = end.x.reshape(d, d)
    value, gradient = loss(end.x)
    certain = value > 0 and np.abs(gradient).max() <= 1e-5 * float(state["pulls"])
    recall = float(((keys @ W.T @ outputs.T).argmax(axis=1) == own).mean())
    return Separation(False if certain else None, W, recall, int(end.nit))


def separable_share(n: int, d: int, seeds: int, seed: int) -> tuple[float, float]:
    """Shares of random Gaussian problems of n facts that are proved separable, and that are left undecided."""
    root = np.random.SeedSequence((seed, n, d))
    found = []
    for s in root.spawn(seeds):
        rng = np.random.default_rng(s)
        found.append(separate(_rows(rng, n, d, "gaussian"), _rows(rng, n, d, "gaussian")).separable)
    return found.count(True) / seeds, found.count(None) / seeds
