"""The Attention-MLP model predicted: attention, recall and accuracy, their spread over seeds, and the noise budget.

Quadrature only: over seeds (`mlp.attention`), over facts, weights and rivals (`mlp.facts`, `mlp.recall`, `mlp.rivals`).
docs/derivations/mlp.md has the derivation and says what it was checked against.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...activations import Activation, activation
from ...numerics.quadrature import condense, gauss_gamma
from ..accuracy import Accuracy
from ..seed import SeedLaw, attention_terms, mean_and_std, seed_law
from ..seed_variance import wrong_answers
from ..training_attention import classes
from .kernel_moments import Bare, Kernel, of_neurons, of_values
from .mlp_fact import facts, seeds_of
from .mlp_recall import SHARES, recall_given

__all__ = ["mlp_prediction", "mlp_terms", "recall_terms", "typical_kernel"]

FloatArray = NDArray[np.float64]

TINY = np.finfo(float).tiny
SURE = 1 / 1000  # a chance of wrong attention below this leaves recall as it is
ALMOST = 1 / 100  # below this it needs few nodes only
NODES = 3  # of tau
ROWS = 4  # of the snr at each tau where attention fails
FEW = 2  # of each where it almost never does


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
    phi, e = _activation(activation), int(trigger_in_value)
    flat = [v.ravel() for v in sizes]
    law = seed_law(flat[0], flat[1], flat[2], flat[3], embedding, trigger_in_value, m=flat[4], phi=phi)
    attention, attention_std = mean_and_std(law)
    rows = [_recall_and_accuracy((a, b, c, n, w), phi, embedding, e, float(attention[i]))
            for i, (a, b, c, n, w) in enumerate(np.stack(flat, axis=-1).tolist())]
    out = {"attention": attention, "attention_std": attention_std}
    out |= {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return {name: float(v[0]) if sizes[0].ndim == 0 else v.reshape(sizes[0].shape) for name, v in out.items()}


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


def _recall_and_accuracy(sizes: tuple[float, float, float, float, float], phi: Activation,
                         embedding: str, e: int, attention: float) -> dict[str, float]:
    """Recall, accuracy and their spreads at one setting (V, L, d, N, m), whose attention is known."""
    V, L, d, N, m = sizes
    kappa = int(embedding == "gaussian")
    sure = 1 - attention < SURE
    if sure:
        tau, weight = gauss_gamma(kappa * 2 / d, NODES if kappa else 1)
        snr = np.sqrt(tau * d)
    else:
        nodes, rows = (FEW, FEW) if 1 - attention < ALMOST else (NODES, ROWS)
        few = dataclasses.replace(Accuracy(), tau_nodes=nodes)
        tau, snr, weight = _rows(seed_law(V, L, d, N, embedding, bool(e), m=m, phi=phi, accuracy=few), rows)
    known = facts(d, e, tau, snr, kappa)
    kernel, bare = _tables_for(phi, known.s, known.norm, tau, d)
    seen = recall_given(kernel, bare, V, 1 if sure else L, d, N, m, e, known, not kappa,
                        FEW if 1 - attention < ALMOST else SHARES)
    recall, joint = float(weight @ seen["recall"]), float(weight @ seen["joint"])
    if sure:
        joint = recall * attention
    accuracy = joint + (0 if sure else _from_wrong_picks(V, L, d, N, e, tau, snr, weight, embedding))
    out = {"recall": recall, "accuracy": accuracy}
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


def _rows(law: SeedLaw, rows: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """tau, snr and weight (R,) of the seeds that recall is computed for, `rows` of them at each tau."""
    taus = np.unique(law.tau[0])
    n = len(taus)
    snr, weight = law.snr[0].reshape(n, -1), law.weight[0].reshape(n, -1)
    total = weight.sum(-1)
    nodes, w = condense(snr, weight / total[:, None], rows)
    return np.repeat(taus, rows), nodes.ravel(), (w * total[:, None]).ravel()


def mlp_terms(V: Any, L: Any, d: Any, N: Any, m: Any, activation: Any = "relu", embedding: str = "gaussian",
              trigger_in_value: bool = True) -> dict[str, dict[str, Any]]:
    """Contributions to (noise/signal)^2 of attention and of recall, by cause, at a typical seed and fact.

    V, L, d, N, m are numbers or arrays that broadcast; so are the terms. Every name begins with one of "mean bias",
    "gradient noise", "MLP noise", "interference", "attention overlap".

    >>> terms = mlp_terms(1024, 32, 128, 65536, 256, "relu")
    >>> max(terms["recall"], key=terms["recall"].get)
    'mean bias: mean of phi'
    """
    V, L, d, N, m = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (V, L, d, N, m)))
    phi = _activation(activation)
    e = int(trigger_in_value)
    found = attention_terms(V, L, d, N, embedding, trigger_in_value, m=m.ravel(), phi=phi)
    attention = {name: term.reshape(V.shape) for name, term in found.items()}
    recall = recall_terms(typical_kernel(phi, d, e), V, d, N, m)
    return {step: {name: term[()] for name, term in terms.items()}
            for step, terms in (("attention", attention), ("recall", recall))}


@dataclasses.dataclass(frozen=True)
class TypicalKernel:
    """The kernel of a fact of typical norms: with itself, its mean and variance over the others, the part of the mean
    that is the activation's; the noise and the spread of a neuron (see `kernel.Neurons`). Arrays of the shape of d."""

    own: FloatArray
    mean: FloatArray
    variance: FloatArray
    of_mean: FloatArray
    noise: FloatArray
    spread: FloatArray

    @property
    def lead(self) -> FloatArray:
        """What the fact's own class has over the others."""
        return self.own - self.mean


def typical_kernel(phi: Activation, d: Any, e: int) -> TypicalKernel:
    """The kernel at |h_k|^2 = 1 + e and |z_trig| = 1, for each d."""
    d = np.asarray(d, dtype=float)
    different, place = np.unique(d, return_inverse=True)
    rows = np.array([_typical(phi, float(one), e) for one in different])
    return TypicalKernel(*(column[place].reshape(d.shape) for column in rows.T))


@functools.lru_cache(maxsize=1024)
def _typical(phi: Activation, d: float, e: int) -> tuple[float, ...]:
    s, t, tau = (np.array([v]) for v in (float(1 + e), float(e), float(e)))
    kernel, bare = _tables_for(phi, s, np.ones(1), np.ones(1), d)
    values = of_values(kernel, d, s, t, tau)
    neurons = of_neurons(phi, bare, d, 1, s, t, tau, values)  # at any width: what depends on it is not used
    of_mean = kernel.coefficients(s)[0, 0] * kernel.coefficients(np.ones(1) + e)[0, 0]
    return tuple(float(v) for v in (neurons.own[0], values.mean[0], values.variance[0], of_mean, neurons.noise[0],
                                    neurons.spread[0]))


def recall_terms(k: TypicalKernel, V: Any, d: Any, N: Any, m: Any) -> dict[str, Any]:
    """Contributions to (noise/signal)^2 of recall, by cause."""
    lam = N / V
    scale = V / (d * k.lead**2)
    return {
        "interference: kernel": scale * k.variance * (1 - 1 / m),
        "gradient noise: kernel": scale * k.variance * (1 - 1 / m) / lam,
        "MLP noise: neurons": scale * k.noise / m * (1 + 1 / lam),
        "MLP noise: own kernel": k.spread / m / k.lead**2 / d,
        "mean bias: mean of phi": scale * k.mean * k.of_mean / lam,
        "mean bias: trigger": scale * k.mean * (k.mean - k.of_mean) / lam,
        "gradient noise: own count": k.own**2 / lam / k.lead**2 / d,
    }
