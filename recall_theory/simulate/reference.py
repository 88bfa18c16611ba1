"""The readable path: three steps of gradient descent on embedded sequences, as the model is defined.

Logits are z_out(j)^T Val f(h) with h the value attended to: f(h) = h in the Attention-only model, and
phi(W_in h)/sqrt(m) with a fixed layer. Everything here is of shape (n, L, d) and slow on purpose; the fast paths are
tested against it. It also runs any finite learning rates, with the true softmax in the output and in the attention. In
the limit eta -> 0, eta*gamma -> infinity the output is uniform in every gradient, attention is the argmax of its
scores, and the first step's Val is nothing next to the last one's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from ..numerics.arrays import FloatArray
from ..settings import Setting, SettingError
from .data import Embeddings, IntArray, Mlp, Samples, in_parts
from .observables import credit, fresh_sequences, known_facts
from .three_step import TIE, Trained, cancels

BLOCK_NUMBERS = 1 << 19  # entries of the largest array of a block: 4 MB, which a cache can hold


@dataclasses.dataclass(frozen=True)
class Sequences:
    """tokens (n, L); position (n,) of the informative token; label (n,) = pi(that token)."""

    tokens: IntArray
    position: IntArray
    label: IntArray


@dataclasses.dataclass(frozen=True)
class Task:
    """The training problem of one seed. z_eos (d,) is the query; `seed` draws the positions."""

    setting: Setting
    emb: Embeddings
    samples: Samples
    z_eos: FloatArray
    seed: np.random.SeedSequence
    layer: Mlp | None = None

    @property
    def rows_of_block(self) -> int:
        """How many sequences a block takes."""
        s = self.setting
        return max(1, BLOCK_NUMBERS // max(s.L * s.d, s.V, s.m or 0))


class Model(NamedTuple):
    """Val of the values, (d, d) or with a layer (d, m), and W (d, d), the key-query matrix."""

    Val: FloatArray
    W: FloatArray


def draw_task(setting: Setting, emb: Embeddings, samples: Samples, seed: np.random.SeedSequence,
              layer: Mlp | None = None) -> Task:
    """The task of the fast path, with what only this path sees: the query and the positions."""
    s_query, s_position = seed.spawn(2)
    z = np.random.default_rng(s_query).standard_normal(setting.d)
    size = np.sqrt(setting.d) if setting.embedding == "gaussian" else np.linalg.norm(z)
    return Task(setting, emb, samples, z / size, s_position, layer)


def place(informative: IntArray, noise: NDArray[np.integer], label: IntArray, rng: np.random.Generator) -> Sequences:
    """Sequences with the informative token (n,) at a random place among the noise (n, L-1)."""
    n, L = len(informative), noise.shape[1] + 1
    position = rng.integers(L, size=n)  # (n,)
    tokens = np.empty((n, L), dtype=np.intp)  # (n, L)
    here = np.arange(L) == position[:, None]  # (n, L)
    tokens[here] = informative
    tokens[~here] = noise.ravel()  # row by row, in the order drawn
    return Sequences(tokens, position, label[informative])


def blocks(task: Task) -> Iterator[Sequences]:
    """The N training sequences, the same at every call, in blocks of bounded size."""
    rng = np.random.default_rng(task.seed)
    rows = task.rows_of_block
    for block in task.samples.blocks():
        for i in range(0, len(block.informative), rows):
            part = slice(i, i + rows)
            yield place(block.informative[part], block.noise[part], task.emb.label, rng)


def embed(task: Task, seq: Sequences) -> tuple[FloatArray, FloatArray]:
    """Keys and values (n, L, d): z_in of the token, and z_trig on top at the informative position."""
    keys = task.emb.z_in[seq.tokens]  # (n, L, d)
    values = keys if task.setting.trigger_in_value else keys.copy()  # (n, L, d)
    keys[np.arange(len(keys)), seq.position] += task.emb.z_trig
    return keys, values


def attention(task: Task, W: FloatArray, keys: FloatArray) -> FloatArray:
    """(n, L): the softmax of the scores e_l^T W z_EOS; in the limit all on the greatest of them, or shared equally."""
    query = W @ task.z_eos  # (d,)
    scores = keys @ query  # (n, L)
    if task.setting.is_limit:
        greatest = np.abs(task.emb.z_in @ query).max() + abs(float(task.emb.z_trig @ query))
        weight = (scores >= scores.max(axis=1, keepdims=True) - TIE * greatest).astype(float)
    else:
        weight = np.exp(scores - scores.max(axis=1, keepdims=True))  # (n, L)
    return weight / weight.sum(axis=1, keepdims=True)


def attended(task: Task, W: FloatArray, seq: Sequences) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Keys and values (n, L, d), the attention (n, L), and h (n, d), the values weighted with it."""
    keys, values = embed(task, seq)
    a = attention(task, W, keys)
    return keys, values, a, (a[:, None, :] @ values)[:, 0]


def features(task: Task, h: FloatArray) -> FloatArray:
    """f(h), what Val reads, of h (n, d): h itself, or with a layer phi(W_in h)/sqrt(m) of shape (n, m)."""
    if task.layer is None:
        return h
    W_in = task.layer.W_in
    return task.layer.phi.phi(h @ W_in.T) / np.sqrt(len(W_in))


def through_features(task: Task, h: FloatArray, gradient: FloatArray) -> FloatArray:
    """(n, d): the gradient in h, from the `gradient` in the features."""
    if task.layer is None:
        return gradient
    W_in = task.layer.W_in
    return (gradient * task.layer.phi.derivative(h @ W_in.T)) @ W_in / np.sqrt(len(W_in))


def logits(task: Task, Val: FloatArray, h: FloatArray) -> FloatArray:
    """(n, V): z_out(j)^T Val f(h) for every label j, of h (n, d)."""
    return features(task, h) @ Val.T @ task.emb.z_out.T


def loss(task: Task, Val: FloatArray, W: FloatArray) -> float:
    """Cross-entropy in nats, the mean over the N training samples."""
    total = 0.0
    for seq in blocks(task):
        *_, h = attended(task, W, seq)  # (n, d)
        log_p = log_softmax(logits(task, Val, h), axis=1)  # (n, V)
        total -= float(log_p[np.arange(len(h)), seq.label].sum())
    return total / task.setting.N


def gradients(task: Task, Val: FloatArray, W: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradients of `loss` in Val (as Val) and in W (d, d); in the limit, those at uniform output."""
    grad_Val, grad_query = np.zeros_like(Val), np.zeros(len(W))
    for seq in blocks(task):
        keys, values, a, h = attended(task, W, seq)
        if task.setting.is_limit:
            residual = np.full((len(h), task.setting.V), 1 / task.setting.V)  # (n, V)
        else:
            residual = np.exp(log_softmax(logits(task, Val, h), axis=1))  # (n, V)
        residual[np.arange(len(h)), seq.label] -= 1  # p - 1[j = y], the gradient in the logits

        out = residual @ task.emb.z_out  # (n, d), the gradient in Val f(h)
        grad_Val += out.T @ features(task, h)
        in_h = through_features(task, h, out @ Val)  # (n, d)
        in_a = (values @ in_h[:, :, None])[:, :, 0]  # (n, L)
        in_scores = a * (in_a - (a * in_a).sum(axis=1, keepdims=True))  # (n, L), through the softmax
        grad_query += in_scores.ravel() @ keys.reshape(-1, len(W))  # (d,)
    return grad_Val / task.setting.N, np.outer(grad_query, task.z_eos) / task.setting.N


def train(task: Task) -> Model:
    """Three steps from zero: Val, then W, then Val again, in the limit without the first step's Val.

    Raises `SettingError` where a step goes beyond what floats hold.
    """
    setting, z_eos = task.setting, task.z_eos
    eta, gamma = setting.eta or 1.0, setting.gamma or 1.0
    W = np.zeros((setting.d, setting.d))
    Val = -eta * gradients(task, np.zeros((setting.d, setting.m or setting.d)), W)[0]
    step = -gamma * gradients(task, Val, W)[1]
    query = step @ z_eos / (z_eos @ z_eos)
    if not (setting.is_limit and cancels(setting, task.emb, float(np.linalg.norm(Val)), query, task.layer)):
        W = step
    step = -gamma * gradients(task, Val, W)[0]
    model = Model(step if setting.is_limit else Val + step, W)
    if not (np.isfinite(model.Val).all() and np.isfinite(model.W).all()):
        raise SettingError("gamma", f"eta={setting.eta} and gamma={setting.gamma} are too large together: the "
                           "weights overflow; smaller ones are allowed")
    return model


def trained(task: Task, model: Model) -> Trained:
    """The model as the fast path leaves it. In the limit scores are per |z_EOS|^2, which scales them all."""
    emb = task.emb
    query = model.W @ task.z_eos  # (d,)
    if task.setting.is_limit:
        query /= task.z_eos @ task.z_eos
    right, wrong = (features(task, values) for values in (emb.informative_values(task.setting), emb.z_in))
    return Trained(emb.z_in @ query, float(emb.z_trig @ query), right, wrong, model.Val.T @ emb.u.T)


def answered(task: Task, model: Model, seq: Sequences) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Three arrays (n,): whether the argmax of the attention is the informative position, whether the logits of what is
    attended to name its label, a tie of m counting 1/m, and the attention of the informative position."""
    keys, _, a, h = attended(task, model.W, seq)
    scores = keys @ (model.W @ task.z_eos)  # (n, L): the attention itself can underflow to a tie
    return (credit(scores, seq.position), credit(logits(task, model.Val, h), seq.label),
            a[np.arange(len(a)), seq.position])


def on_fresh_sequences(task: Task, model: Model, rng: np.random.Generator,
                       n_test: int) -> tuple[float, float, float, float]:
    """Attention, recall, accuracy and the mean attention weight of the informative position; all but recall over
    n_test sequences."""
    fresh, parts = fresh_sequences(task.setting.V, task.setting.L, rng, n_test), []
    recall = known_facts(trained(task, model)).mean()
    for part in in_parts(np.arange(n_test), task.rows_of_block):
        seq = place(fresh.informative[part], fresh.noise[part], task.emb.label, rng)
        parts.append(answered(task, model, seq))
    attended, right, weight = (np.concatenate(x).mean() for x in zip(*parts, strict=True))
    return float(attended), float(recall), float(right), float(weight)
