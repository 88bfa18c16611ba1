"""The three steps of Attention-MLP as plain PyTorch: look-ups, softmax attention, a fixed layer, autograd.

Written as a user of the framework would write it, in float64, with the samples in chunks so that the
features fit in memory. Learning rates are finite but far into the limit, as in `torch_three_steps`.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

ETA = 1e-8
GAMMA = 1e24
CHUNK = 1024  # samples; the fastest of 256 to 8192 on the machine measured

ACTIVATIONS = {
    "identity": lambda x: x,
    "relu": functional.relu,
    "gelu": functional.gelu,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "quadratic": lambda x: x**2 - 1,
}


def mean_loss(fixed: tuple[Tensor, ...], phi: str, Val: Tensor, W: Tensor, tokens: Tensor, position: Tensor,
              label: Tensor, N: int) -> Tensor:
    """This chunk's share of the mean cross-entropy. tokens (n, L), position and label (n,)."""
    z_in, z_out, z_trig, z_eos, W_in = fixed
    e = z_in[tokens]  # (n, L, d)
    e[torch.arange(len(e)), position] += z_trig
    a = torch.softmax(e @ (W @ z_eos), dim=1)  # (n, L)
    h = torch.einsum("nl,nld->nd", a, e)
    features = ACTIVATIONS[phi](h @ W_in.T) / len(W_in) ** 0.5  # (n, m)
    logits = features @ Val.T @ z_out.T  # (n, V)
    return functional.cross_entropy(logits, label, reduction="sum") / N


def gradient(of: str, model: dict[str, Tensor], fixed: tuple[Tensor, ...], phi: str,
             data: tuple[Tensor, Tensor, Tensor], chunk: int) -> Tensor:
    """The gradient of the mean loss over all samples in model[of]."""
    N = len(data[0])
    weights = {name: x.detach().requires_grad_(name == of) for name, x in model.items()}
    total = torch.zeros_like(weights[of])
    for part in zip(*(x.split(chunk) for x in data), strict=True):
        loss = mean_loss(fixed, phi, weights["Val"], weights["W"], *part, N)
        total += torch.autograd.grad(loss, weights[of])[0]
    return total


def train(fixed: tuple[Tensor, ...], phi: str, data: tuple[Tensor, Tensor, Tensor],
          chunk: int = CHUNK) -> dict[str, Tensor]:
    """Val (d, m) and W (d, d) after three steps. fixed: z_in, z_out (V, d), z_trig, z_eos (d,), W_in (m, d)."""
    m, d = fixed[4].shape
    model = {"Val": torch.zeros(d, m, dtype=torch.float64), "W": torch.zeros(d, d, dtype=torch.float64)}
    model["Val"] = -ETA * gradient("Val", model, fixed, phi, data, chunk)
    model["W"] = -GAMMA * gradient("W", model, fixed, phi, data, chunk)
    model["Val"] = model["Val"] - GAMMA * gradient("Val", model, fixed, phi, data, chunk)
    return model


def logits(fixed: tuple[Tensor, ...], phi: str, model: dict[str, Tensor]) -> Tensor:
    """(V, V): row k is the logits per unit GAMMA, label by label, of token k attended rightly."""
    z_in, z_out, z_trig, _, W_in = fixed
    features = ACTIVATIONS[phi]((z_in + z_trig) @ W_in.T) / len(W_in) ** 0.5
    return features @ model["Val"].T @ z_out.T / GAMMA
