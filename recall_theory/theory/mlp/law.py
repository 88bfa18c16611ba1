"""The Attention-MLP model predicted: attention, recall and accuracy, their spread over seeds, and the noise budget.

Quadrature only: over seeds (`mlp.attention`), over facts, weights and rivals (`mlp.recall`). docs/derivations/mlp.md
has the derivation and says what it was checked against.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...activation import Activation, activation
from ...activation.gaussian import gaussian_rule, project
from ..attention.law import SeedLaw, attention_given, mean_and_std
from ..quadrature import condense
from ..recall.scatter import wrong_answers
from ..recall.training import classes
from . import terms as mt
from .attention import StepTwo, seed_law
from .kernel import Bare, Kernel, of_neurons, of_values
from .recall import facts, recall_given, seeds_of

__all__ = ["mlp_prediction", "mlp_terms", "step_two_moments"]

FloatArray = NDArray[np.float64]

SURE = 1 / 1000  # a chance of wrong attention below this leaves recall as it is
ALMOST = 1 / 100  # below this it needs few nodes only
NODES = 3  # of tau where attention fails
ROWS = 4  # of the snr at each tau where attention fails
FEW = 2  # of each where it almost never does


def step_two_moments(phi: Activation, s: Any) -> StepTwo:
    """The moments of phi at input power s, a number or an array, that step two needs, by parts: phi's own derivative
    is not asked for.

    >>> k = step_two_moments(activation("relu"), 1.0)
    >>> round(float(k.A), 6), round(float(k.B), 6), round(float(k.P0), 6)
    (0.25, 0.159155, 0.5)
    """
    x, w = gaussian_rule(phi, s)
    f, slope = phi.phi(x), phi.derivative(x)
    s = np.asarray(s, dtype=float)
    u = x / np.sqrt(s)[..., None]
    c = project(w * f, u, 2)
    g = project(w * f * slope, u, 2)
    first, second = c[..., 1] / np.sqrt(s), c[..., 2] * np.sqrt(2) / s
    return StepTwo(A=first**2, B=c[..., 0] * second, A2=second**2, h0=g[..., 0], h1=g[..., 1] / np.sqrt(s),
                   h2=g[..., 2] * np.sqrt(2) / s, P0=(w * f**2).sum(-1), P2=(w * slope**2).sum(-1))


def mlp_attention(V: Any, L: Any, d: Any, N: Any, m: Any, activation: Any = "relu", embedding: str = "gaussian",
                  trigger_in_value: bool = True) -> FloatArray:
    """Attention alone (B,), for arrays (B,) of sizes: a small part of what `mlp_prediction` costs."""
    V, L, d, N, m = (np.asarray(v, dtype=float) for v in (V, L, d, N, m))
    k = step_two_moments(_activation(activation), mt.input_power(V, L, int(trigger_in_value)))
    law = seed_law(V, L, d, N, m, k, embedding, trigger_in_value)
    out: FloatArray = (law.weight * attention_given(law)).sum(axis=-1)
    return out


def mlp_prediction(V: Any, L: Any, d: Any, N: Any, m: Any, activation: Any = "relu", embedding: str = "gaussian",
                   trigger_in_value: bool = True) -> dict[str, Any]:
    """Attention, recall and accuracy of the Attention-MLP model, each with its standard deviation over seeds.

    V, L, d, N, m are numbers or arrays of shape (B,); `activation` is a name, an expression in x or an `Activation`;
    `embedding` is "gaussian" or "sphere". Returns {"attention": ..., "attention_std": ..., ...} of floats or (B,)
    arrays, all probabilities. Test sequences are exhausted: the spread is that of the seeds alone.

    Raises ValueError for other embeddings. Regime: V, d, m of some tens at least, L at least 4.

    >>> p = mlp_prediction(256, 16, 128, 16384, 2048, "tanh")
    >>> 0.99 < p["attention"] <= 1
    True
    """
    if embedding not in ("gaussian", "sphere"):
        raise ValueError(f"embedding={embedding!r}: the Attention-MLP law is for gaussian and sphere embeddings")
    sizes = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (V, L, d, N, m)))
    phi = _activation(activation)
    flat = np.stack([v.ravel() for v in sizes], axis=-1).tolist()
    rows = [_one(a, b, c, n, w, phi, embedding, bool(trigger_in_value)) for a, b, c, n, w in flat]
    out = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return {name: float(v[0]) if sizes[0].ndim == 0 else v for name, v in out.items()}


def _activation(value: Any) -> Activation:
    return activation(value)


@functools.lru_cache(maxsize=16)
def _tables(phi: Activation, low: float, high: float, reach: float) -> tuple[Kernel, Bare]:
    return Kernel(phi, low, high), Bare(phi, reach)


def _tables_for(phi: Activation, s: FloatArray, norm: FloatArray, tau: FloatArray, d: float) -> tuple[Kernel, Bare]:
    """Tables over all squared norms that the quadratures meet, on powers of 2 so that settings share them."""
    low, high = min(s.min(), norm.min()) / 3, (np.sqrt(s.max()) + 4 / np.sqrt(d))**2 + 1
    reach = 9 * np.sqrt(tau.max()) + 1
    power = float(np.exp2(np.floor(np.log2(low)))), float(np.exp2(np.ceil(np.log2(high))))
    return _tables(phi, *power, float(np.ceil(reach)))


def _one(V: float, L: float, d: float, N: float, m: float, phi: Activation, embedding: str,
         trigger_in_value: bool) -> dict[str, float]:
    e, kappa = int(trigger_in_value), int(embedding == "gaussian")
    k = step_two_moments(phi, float(mt.input_power(V, L, e)))
    law = seed_law(V, L, d, N, m, k, embedding, trigger_in_value)
    attention, attention_std = (float(v[0]) for v in mean_and_std(law))
    sure = 1 - attention < SURE
    almost = 1 - attention < ALMOST
    coarse = seed_law(V, L, d, N, m, k, embedding, trigger_in_value, FEW if almost and not sure else NODES)
    tau, snr, weight = _rows(coarse, d, 0 if sure else FEW if almost else ROWS)
    known = facts(d, e, tau, snr, kappa)
    kernel, bare = _tables_for(phi, known.s, known.norm, tau, d)
    seen = recall_given(kernel, bare, V, 1 if sure else L, d, N, m, e, known)
    recall, joint = float(weight @ seen["recall"]), float(weight @ seen["joint"])
    if sure:
        joint = recall * attention
    accuracy = joint + (0 if sure else _from_wrong_picks(V, L, d, N, e, tau, snr, weight, embedding))
    out = {"attention": attention, "recall": recall, "accuracy": accuracy,
           "attention_std": attention_std}
    for name, row, mean in (("recall", seen["recall"], recall), ("accuracy", seen["joint"], joint)):
        share = min(joint / recall, 1) if name == "accuracy" and recall > 0 else 1
        spread = float(weight @ (row - mean)**2) + float(weight @ seen["within"]) * share**2
        out[name + "_std"] = float(np.sqrt(spread))
    return out


def _from_wrong_picks(V: float, L: float, d: float, N: float, e: int, tau: FloatArray, snr: FloatArray,
                      weight: FloatArray, embedding: str) -> float:
    """What wrongly attended sequences add to accuracy, of order 1/V, by the Attention-only model's law of it."""
    seeds = seeds_of(V, L, d, N, e, tau, snr, embedding == "sphere")
    return float(weight @ wrong_answers(seeds, classes(seeds)))


def _rows(law: SeedLaw, d: float, rows: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """tau, snr and weight (R,) of the seeds that recall is computed for: `rows` a tau, or without end of the snr for 0."""
    taus = np.unique(law.tau[0])
    n = len(taus)
    snr, weight = law.snr[0].reshape(n, -1), law.weight[0].reshape(n, -1)
    total = weight.sum(-1)
    if not rows:
        return taus, np.sqrt(taus * d), total
    nodes, w = condense(snr, weight / total[:, None], rows)
    return np.repeat(taus, rows), nodes.ravel(), (w * total[:, None]).ravel()


def mlp_terms(V: Any, L: Any, d: Any, N: Any, m: Any, activation: Any = "relu", embedding: str = "gaussian",
              trigger_in_value: bool = True) -> dict[str, dict[str, float]]:
    """Contributions to (noise/signal)^2 of attention and of recall, by cause, at a typical seed and fact.

    Every name begins with one of "mean bias", "gradient noise", "MLP noise", "interference", "attention overlap".

    >>> terms = mlp_terms(1024, 32, 128, 65536, 256, "relu")
    >>> max(terms["recall"], key=terms["recall"].get)
    'mean bias: mean of phi'
    """
    V, L, d, N, m = (float(v) for v in (V, L, d, N, m))
    phi = _activation(activation)
    e, kappa = int(trigger_in_value), int(embedding == "gaussian")
    k = step_two_moments(phi, float(mt.input_power(V, L, e)))
    signal = mt.lead(V, L, d, N, e, 1, 1, k.A, k.A2, k.h1)**2
    parts = mt.attention_parts(V, L, d, N, m, e, 1, 1, kappa, k)
    attention = {"attention overlap: trigger": 1 / d}
    attention |= {name: float(token / signal) for name, (token, _) in parts.items()}
    s, t, tau = (np.array([v]) for v in (float(1 + e), float(e), float(e)))
    kernel, bare = _tables_for(phi, s, np.ones(1), np.ones(1), d)
    values = of_values(kernel, d, s, t, tau)
    neurons = of_neurons(phi, bare, d, m, N / V, s, t, tau, values)
    mean, lam = float(values.mean[0]), N / V
    lead = float(neurons.own[0]) - mean
    of_mean = float(kernel.coefficients(s)[0, 0]) * float(kernel.coefficients(np.ones(1) + e)[0, 0])
    scale = V / (d * lead**2)
    recall = {
        "interference: kernel": scale * float(values.variance[0]) * (1 - 1 / m),
        "gradient noise: kernel": scale * float(values.variance[0]) * (1 - 1 / m) / lam,
        "MLP noise: neurons": scale * float(neurons.noise[0]) / m * (1 + 1 / lam),
        "MLP noise: own kernel": float(neurons.spread[0]) / m / lead**2 / d,
        "mean bias: mean of phi": scale * mean * of_mean / lam,
        "mean bias: trigger": scale * mean * (mean - of_mean) / lam,
        "gradient noise: own count": float(neurons.own[0])**2 / lam / lead**2 / d,
    }
    return {"attention": attention, "recall": recall}
