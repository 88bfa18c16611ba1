"""The readable path: three steps of gradient descent on embedded sequences, as the model is defined.

Everything here is of shape (n, L, d) and slow on purpose; it is what `counts` is tested against. It
also runs finite learning rates, with the true softmax in the output and in the attention. In the
limit eta -> 0, eta*gamma -> infinity the output is uniform in every gradient, attention is the argmax
of its scores, and the first step's Val is nothing next to the last one's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..settings import Setting, SettingError
from .data import Embeddings, FloatArray, Samples
from .three_step import TIE, Trained, cancels

BLOCK_NUMBERS = 1 << 19  # entries of the largest array of a block: 4 MB, which a cache can hold

IntArray = NDArray[np.intp]


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


@dataclasses.dataclass(frozen=True)
class Model:
    """Val (d, d) of the values and W (d, d), the key-query matrix."""

    Val: FloatArray
    W: FloatArray


def draw_task(setting: Setting, emb: Embeddings, samples: Samples,
              seed: np.random.SeedSequence) -> Task:
    """The task on the same embeddings and samples as the fast path, with what only this path sees:
    the query and the positions."""
    s_query, s_position = seed.spawn(2)
    z = np.random.default_rng(s_query).standard_normal(setting.d)
    size = np.sqrt(setting.d) if setting.embedding == "gaussian" else np.linalg.norm(z)
    return Task(setting, emb, samples, z / size, s_position)


def place(informative: IntArray, noise: NDArray[np.integer], label: IntArray,
          rng: np.random.Generator) -> Sequences:
    """Sequences with the informative token (n,) at a random place among the noise (n, L-1)."""
    n, L = len(informative), noise.shape[1] + 1
    position = rng.integers(L, size=n)  # (n,)
    tokens = np.empty((n, L), dtype=np.intp)  # (n, L)
    own = np.arange(L) == position[:, None]  # (n, L)
    tokens[own] = informative
    tokens[~own] = noise.ravel()  # row by row, in the order drawn
    return Sequences(tokens, position, label[informative])


def blocks(task: Task) -> Iterator[Sequences]:
    """The N training sequences, the same at every call, in blocks of bounded size."""
    setting = task.setting
    rng = np.random.default_rng(task.seed)
    rows = max(1, BLOCK_NUMBERS // max(setting.L * setting.d, setting.V))
    for block in task.samples:
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
    """(n, L): the softmax of the scores e_l^T W z_EOS; in the limit all on the greatest of them,
    shared equally where several are equal, hence uniform at W = 0."""
    query = W @ task.z_eos  # (d,)
    scores = keys @ query  # (n, L)
    if task.setting.is_limit:
        greatest = np.abs(task.emb.z_in @ query).max() + abs(float(task.emb.z_trig @ query))
        weight = (scores >= scores.max(axis=1, keepdims=True) - TIE * greatest).astype(float)
    else:
        weight = np.exp(scores - scores.max(axis=1, keepdims=True))  # (n, L)
    share: FloatArray = weight / weight.sum(axis=1, keepdims=True)
    return share


def logits(task: Task, Val: FloatArray, h: FloatArray) -> FloatArray:
    """(n, V): z_out(j)^T Val h for every label j, of h (n, d)."""
    result: FloatArray = h @ Val.T @ task.emb.z_out.T
    return result


def log_softmax(x: FloatArray) -> FloatArray:
    """(n, V): log probabilities of the rows."""
    x = x - x.max(axis=1, keepdims=True)
    result: FloatArray = x - np.log(np.exp(x).sum(axis=1, keepdims=True))
    return result


def loss(task: Task, Val: FloatArray, W: FloatArray) -> float:
    """Cross-entropy in nats, the mean over the N training samples."""
    total = 0.0
    for seq in blocks(task):
        keys, values = embed(task, seq)  # (n, L, d)
        a = attention(task, W, keys)  # (n, L)
        h = (a[:, None, :] @ values)[:, 0]  # (n, d)
        log_p = log_softmax(logits(task, Val, h))  # (n, V)
        total -= float(log_p[np.arange(len(h)), seq.label].sum())
    return total / task.setting.N


def gradients(task: Task, Val: FloatArray, W: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradients (d, d) of `loss` in Val and in W; in the limit, those at uniform output."""
    grad_Val, grad_query = np.zeros_like(Val), np.zeros(len(W))
    for seq in blocks(task):
        keys, values = embed(task, seq)  # (n, L, d)
        a = attention(task, W, keys)  # (n, L)
        h = (a[:, None, :] @ values)[:, 0]  # (n, d)
        if task.setting.is_limit:
            residual = np.full((len(h), task.setting.V), 1 / task.setting.V)  # (n, V)
        else:
            residual = np.exp(log_softmax(logits(task, Val, h)))  # (n, V)
        residual[np.arange(len(h)), seq.label] -= 1  # p - 1[j = y], the gradient in the logits
        out = residual @ task.emb.z_out  # (n, d), the gradient in Val h
        grad_Val += out.T @ h
        pull = (values @ (out @ Val)[:, :, None])[:, :, 0]  # (n, L), the gradient in a
        in_scores = a * (pull - (a * pull).sum(axis=1, keepdims=True))  # (n, L), through the softmax
        grad_query += in_scores.ravel() @ keys.reshape(-1, len(W))  # (d,)
    return grad_Val / task.setting.N, np.outer(grad_query, task.z_eos) / task.setting.N


def train(task: Task) -> Model:
    """Three steps from zero: Val, then W, then Val again. In the limit both learning rates are 1 and
    the first step leaves Val once W is found."""
    limit = task.setting.is_limit
    eta, gamma = task.setting.eta or 1.0, task.setting.gamma or 1.0
    zero = np.zeros((task.setting.d, task.setting.d))
    Val = -eta * gradients(task, zero, zero)[0]
    W = -gamma * gradients(task, Val, zero)[1]
    if limit and cancels(task.setting, task.emb, Val, W @ task.z_eos / (task.z_eos @ task.z_eos)):
        W = zero
    step = -gamma * gradients(task, Val, W)[0]
    model = Model(step if limit else Val + step, W)
    check_finite(task.setting, model)
    return model


def check_finite(setting: Setting, model: Model) -> None:
    """Raise `SettingError` where a step went beyond what floats hold."""
    if not (np.isfinite(model.Val).all() and np.isfinite(model.W).all()):
        raise SettingError("gamma", f"eta={setting.eta} and gamma={setting.gamma} are too large together: the "
                           "weights overflow; smaller ones are allowed")


def trained(task: Task, model: Model) -> Trained:
    """The model as `counts` leaves it. In the limit scores are per |z_EOS|^2, which scales them all."""
    emb = task.emb
    query = model.W @ task.z_eos  # (d,)
    if task.setting.is_limit:
        query /= task.z_eos @ task.z_eos
    bare = emb.z_in  # (V, d)
    whole = emb.z_in + emb.z_trig if task.setting.trigger_in_value else bare  # (V, d)
    by_token = emb.label  # column k becomes the logit of pi(k)
    return Trained(emb.z_in @ query, float(emb.z_trig @ query),
                   logits(task, model.Val, whole)[:, by_token],
                   logits(task, model.Val, bare)[:, by_token])


def shares(task: Task, model: Model, seq: Sequences) -> tuple[FloatArray, FloatArray]:
    """(n,) whether the argmax of the attention is the informative position, and (n,) whether the
    logits of what is attended to name its label. A tie of m counts 1/m."""
    keys, values = embed(task, seq)  # (n, L, d)
    a = attention(task, model.W, keys)  # (n, L)
    scores = keys @ (model.W @ task.z_eos)  # (n, L): a itself can underflow to a tie
    out = logits(task, model.Val, (a[:, None, :] @ values)[:, 0])  # (n, V)
    return _credit(scores, seq.position), _credit(out, seq.label)


def _credit(x: FloatArray, right: IntArray) -> FloatArray:
    """(n,): 1 where column right[i] of row i is the greatest, 1/ties where it shares the place."""
    near = x >= x.max(axis=1, keepdims=True) - TIE * np.abs(x).max()
    own: FloatArray = near[np.arange(len(x)), right] / near.sum(axis=1)
    return own


def on_fresh_sequences(task: Task, model: Model, rng: np.random.Generator,
                       n_test: int) -> tuple[float, float, float]:
    """Attention, recall and accuracy; the first and the last as frequencies over n_test sequences,
    attended to as softly as the finite learning rates leave it."""
    setting = task.setting
    V, L = setting.V, setting.L
    recall = _credit(trained(task, model).logits, np.arange(V)).mean()
    informative = rng.integers(V, size=n_test)
    noise = rng.integers(V, size=(n_test, L - 1))
    rows = max(1, BLOCK_NUMBERS // max(L * setting.d, V))
    parts = []
    for i in range(0, n_test, rows):
        part = slice(i, i + rows)
        seq = place(informative[part], noise[part], task.emb.label, rng)
        parts.append(shares(task, model, seq))
    seen, right = (np.concatenate(x).mean() for x in zip(*parts, strict=True))
    return float(seen), float(recall), float(right)
