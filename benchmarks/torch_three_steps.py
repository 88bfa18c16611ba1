"""The same three steps as plain PyTorch: embedding look-ups, softmax attention, cross-entropy, autograd.

Written as a user of the framework would write it, in float64. CHUNK samples are embedded at a time, so that they
fit in memory. Learning rates are finite but far into the limit: Val after step one
is so small that the output is uniform to `ETA`, and attention after step two is the argmax.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

ETA = 1e-8
GAMMA = 1e24
BAG = False  # whether embedding_bag sums the values, so that no (n, L, d) numbers are there at once
CHUNK = 256  # samples: the fastest of 64, 128, ..., 2048 where this was measured; all at once takes thrice as long


def mean_loss(z_in: Tensor, z_out: Tensor, z_trig: Tensor, z_eos: Tensor, Val: Tensor, W: Tensor,
              tokens: Tensor, position: Tensor, label: Tensor, N: int) -> Tensor:
    """This chunk's share of the mean cross-entropy. tokens (n, L), position and label (n,)."""
    here = torch.arange(len(tokens)), position
    if BAG:
        scores = (z_in @ (W @ z_eos))[tokens]  # (n, L)
        scores = scores.index_put(here, z_trig @ W @ z_eos, accumulate=True)
        a = torch.softmax(scores, dim=1)
        h = functional.embedding_bag(tokens, z_in, per_sample_weights=a, mode="sum") + a[here][:, None] * z_trig
    else:
        e = z_in[tokens]  # (n, L, d)
        e[here] += z_trig
        a = torch.softmax(e @ (W @ z_eos), dim=1)  # (n, L)
        h = torch.einsum("nl,nld->nd", a, e)
    logits = h @ Val.T @ z_out.T  # (n, V)
    return functional.cross_entropy(logits, label, reduction="sum") / N


def gradient(of: str, model: dict[str, Tensor], fixed: tuple[Tensor, ...],
             data: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """The gradient (d, d) of the mean loss over all samples in model[of]."""
    N = len(data[0])
    weights = {name: x.detach().requires_grad_(name == of) for name, x in model.items()}
    total = torch.zeros_like(weights[of])
    for chunk in zip(*(x.split(CHUNK) for x in data), strict=True):
        loss = mean_loss(*fixed, weights["Val"], weights["W"], *chunk, N)
        total += torch.autograd.grad(loss, weights[of])[0]
    return total


def train(fixed: tuple[Tensor, ...], data: tuple[Tensor, Tensor, Tensor]) -> dict[str, Tensor]:
    """Val and W after three steps. fixed: z_in, z_out (V, d), z_trig and z_eos (d,)."""
    d = len(fixed[2])
    model = {name: torch.zeros(d, d, dtype=torch.float64) for name in ("Val", "W")}
    model["Val"] = -ETA * gradient("Val", model, fixed, data)
    model["W"] = -GAMMA * gradient("W", model, fixed, data)
    model["Val"] = model["Val"] - GAMMA * gradient("Val", model, fixed, data)
    return model


def logits(fixed: tuple[Tensor, ...], model: dict[str, Tensor]) -> Tensor:
    """(V, V): row k is the logits per unit GAMMA, label by label, of token k attended rightly."""
    z_in, z_out, z_trig, _ = fixed
    return (z_in + z_trig) @ model["Val"].T @ z_out.T / GAMMA
