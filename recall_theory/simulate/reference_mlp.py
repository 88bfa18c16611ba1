"""Attention-MLP, the readable path: three steps of gradient descent on embedded sequences.

The same as `explicit` but for the layer between attention and Val: logits_j = z_out(j)^T Val phi(W_in h)/sqrt(m),
with W_in fixed. Slow on purpose; it is what `mlp` is tested against, and it runs finite learning rates.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from . import reference as explicit
from .data import FloatArray
from .observables import credit
from .reference import BLOCK_NUMBERS, Model, Sequences, Task, attention, check_finite, embed, log_softmax, place
from .three_step import Trained
from .three_step_mlp import Mlp, cancels


@dataclasses.dataclass(frozen=True)
class MlpTask:
    """The training problem of one seed: that of the Attention-only model, and the fixed layer."""

    base: Task
    mlp: Mlp


def blocks(task: MlpTask) -> Iterator[Sequences]:
    """The N training sequences, the same at every call, few enough for (n, m) arrays."""
    rows = max(1, BLOCK_NUMBERS // len(task.mlp.W_in))
    for seq in explicit.blocks(task.base):
        for i in range(0, len(seq.label), rows):
            part = slice(i, i + rows)
            yield Sequences(seq.tokens[part], seq.position[part], seq.label[part])


def features(task: MlpTask, h: FloatArray) -> FloatArray:
    """(n, m): phi(W_in h)/sqrt(m), of h (n, d)."""
    W_in = task.mlp.W_in
    return task.mlp.phi.phi(h @ W_in.T) / np.sqrt(len(W_in))


def through_features(task: MlpTask, h: FloatArray, gradient: FloatArray) -> FloatArray:
    """(n, d): the gradient in h, from `gradient` (n, m) in the features."""
    W_in = task.mlp.W_in
    result: FloatArray = (gradient * task.mlp.phi.derivative(h @ W_in.T)) @ W_in / np.sqrt(len(W_in))
    return result


def logits(task: MlpTask, Val: FloatArray, h: FloatArray) -> FloatArray:
    """(n, V): z_out(j)^T Val phi(W_in h)/sqrt(m) for every label j, of h (n, d)."""
    result: FloatArray = features(task, h) @ Val.T @ task.base.emb.z_out.T
    return result


def loss(task: MlpTask, Val: FloatArray, W: FloatArray) -> float:
    """Cross-entropy in nats, the mean over the N training samples."""
    total = 0.0
    for seq in blocks(task):
        keys, values = embed(task.base, seq)  # (n, L, d)
        h = (attention(task.base, W, keys)[:, None, :] @ values)[:, 0]  # (n, d)
        log_p = log_softmax(logits(task, Val, h))  # (n, V)
        total -= float(log_p[np.arange(len(h)), seq.label].sum())
    return total / task.base.setting.N


def gradients(task: MlpTask, Val: FloatArray, W: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradients of `loss` in Val (d, m) and in W (d, d); in the limit, those at uniform output."""
    base, setting = task.base, task.base.setting
    grad_Val, grad_query = np.zeros_like(Val), np.zeros(len(W))
    for seq in blocks(task):
        keys, values = embed(base, seq)  # (n, L, d)
        a = attention(base, W, keys)  # (n, L)
        h = (a[:, None, :] @ values)[:, 0]  # (n, d)
        if setting.is_limit:
            residual = np.full((len(h), setting.V), 1 / setting.V)  # (n, V)
        else:
            residual = np.exp(log_softmax(logits(task, Val, h)))  # (n, V)
        residual[np.arange(len(h)), seq.label] -= 1  # p - 1[j = y], the gradient in the logits
        out = residual @ base.emb.z_out  # (n, d), the gradient in Val times the features
        grad_Val += out.T @ features(task, h)
        in_h = through_features(task, h, out @ Val)  # (n, d)
        pull = (values @ in_h[:, :, None])[:, :, 0]  # (n, L), the gradient in a
        in_scores = a * (pull - (a * pull).sum(axis=1, keepdims=True))  # (n, L), through the softmax
        grad_query += in_scores.ravel() @ keys.reshape(-1, len(W))  # (d,)
    return grad_Val / setting.N, np.outer(grad_query, base.z_eos) / setting.N


def train(task: MlpTask) -> Model:
    """Three steps from zero: Val, then W, then Val again, as in `explicit.train`."""
    setting = task.base.setting
    eta, gamma = setting.eta or 1.0, setting.gamma or 1.0
    zero_W, zero_Val = np.zeros((setting.d, setting.d)), np.zeros((setting.d, len(task.mlp.W_in)))
    Val = -eta * gradients(task, zero_Val, zero_W)[0]
    W = -gamma * gradients(task, Val, zero_W)[1]
    z_eos = task.base.z_eos
    if setting.is_limit and cancels(setting, task.base.emb, task.mlp, float(np.linalg.norm(Val)),
                                    W @ z_eos / (z_eos @ z_eos)):
        W = zero_W
    step = -gamma * gradients(task, Val, W)[0]
    model = Model(step if setting.is_limit else Val + step, W)
    check_finite(setting, model)
    return model


def trained(task: MlpTask, model: Model) -> Trained:
    """The model as `mlp` leaves it. In the limit scores are per |z_EOS|^2, which scales them all."""
    base, emb = task.base, task.base.emb
    query = model.W @ base.z_eos  # (d,)
    if base.setting.is_limit:
        query /= base.z_eos @ base.z_eos
    bare = emb.z_in  # (V, d)
    whole = emb.z_in + emb.z_trig if base.setting.trigger_in_value else bare  # (V, d)
    return Trained(emb.z_in @ query, float(emb.z_trig @ query),
                   logits(task, model.Val, whole)[:, emb.label],
                   logits(task, model.Val, bare)[:, emb.label])


def shares(task: MlpTask, model: Model, seq: Sequences) -> tuple[FloatArray, FloatArray]:
    """(n,) whether the argmax of the attention is the informative position, and (n,) whether the
    logits of what is attended to name its label. A tie of m counts 1/m."""
    keys, values = embed(task.base, seq)  # (n, L, d)
    a = attention(task.base, model.W, keys)  # (n, L)
    scores = keys @ (model.W @ task.base.z_eos)  # (n, L): a itself can underflow to a tie
    out = logits(task, model.Val, (a[:, None, :] @ values)[:, 0])  # (n, V)
    return credit(scores, seq.position), credit(out, seq.label)


def on_fresh_sequences(task: MlpTask, model: Model, rng: np.random.Generator,
                       n_test: int) -> tuple[float, float, float]:
    """Attention, recall and accuracy; the first and the last as frequencies over n_test sequences,
    attended to as softly as the finite learning rates leave it."""
    setting = task.base.setting
    V, L = setting.V, setting.L
    recall = credit(trained(task, model).logits, np.arange(V)).mean()
    informative = rng.integers(V, size=n_test)
    noise = rng.integers(V, size=(n_test, L - 1))
    rows = max(1, BLOCK_NUMBERS // max(L * setting.d, V, len(task.mlp.W_in)))
    parts = []
    for i in range(0, n_test, rows):
        part = slice(i, i + rows)
        seq = place(informative[part], noise[part], task.base.emb.label, rng)
        parts.append(shares(task, model, seq))
    seen, right = (np.concatenate(x).mean() for x in zip(*parts, strict=True))
    return float(seen), float(recall), float(right)
