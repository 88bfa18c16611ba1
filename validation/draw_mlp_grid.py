"""Draw the grid on which the Attention-MLP law is checked, before anything is simulated.

A Sobol sequence with a fixed scramble, even in the logarithm of V, L, d, m and N/V, proposes settings; the named
activations take turns. A setting goes to the first quota that it fits and that is not full: attention in
transition, recall in transition, anything. Quotas look at predictions, never at a simulation. Settings are passed
over whose seeds, as many as the predicted spread asks for, would take a laptop too long.

    python -m validation.draw_mlp_grid > validation/mlp_grid.toml     # scramble 0
    python -m validation.draw_mlp_grid 1 > held_out.toml              # another draw
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import qmc

from recall_theory import Setting, predict
from recall_theory.theory.predict import Prediction

LOW, HIGH = (128, 8, 32, 64, 8), (1024, 128, 256, 8192, 500)  # V, L, d, m, N/V
ACTIVATIONS = ("identity", "relu", "gelu", "tanh", "erf", "quadratic")
QUOTAS = {"attention": 18, "recall": 12, "anything": 24}
SE = 0.01 / 1.15  # aimed at, so that the standard error stays under 0.01
FEWEST = 24  # seeds
DEAREST = 60.0  # seconds of one core a cell
NUMBERS = {"gelu": 6e-8, "erf": 4e-8, "tanh": 1.5e-8}  # seconds that phi and its slope take a number; else 4e-9


def seeds_for(p: Prediction) -> int:
    """Seeds that bring every standard error under 0.01."""
    return max(FEWEST, int(np.ceil((max(p.spread.values()) / SE) ** 2)))


def seconds(s: Setting) -> float:
    """What a seed takes at some 25 Gflop/s: the products of N samples with m x d weights, phi, tokens, logits."""
    assert s.m is not None
    products = 6.0 * s.N * s.m * s.d + 6.0 * s.V * s.d * (s.V + s.m)
    return 0.003 + products / 25e9 + s.N * s.m * NUMBERS.get(str(s.activation), 4e-9) + 3e-8 * s.N * s.L


def quota(s: Setting, p: Prediction) -> str:
    """The quota that a setting fits first."""
    if 0.1 < p.attention < 0.9:
        return "attention"
    return "recall" if 0.2 < p.recall < 0.9 else "anything"


def draw(scramble: int) -> list[Setting]:
    """The settings in the order of the sequence, until every quota is full."""
    sobol = qmc.Sobol(len(LOW), rng=np.random.default_rng(scramble))
    low, high = np.log(LOW), np.log(HIGH)
    left, chosen = dict(QUOTAS), []
    while sum(left.values()):
        V, L, d, m, ratio = np.exp(low + (high - low) * sobol.random(1)[0])
        s = Setting(V=round(V), L=round(L), d=round(d), N=round(V * ratio), m=round(m),
                    activation=ACTIVATIONS[len(chosen) % len(ACTIVATIONS)])
        if FEWEST * seconds(s) > DEAREST:
            continue
        p = predict(s)
        name = quota(s, p) if left[quota(s, p)] else "anything"
        if left[name] and seeds_for(p) * seconds(s) <= DEAREST:
            left[name] -= 1
            chosen.append(s)
    return chosen


def main() -> None:
    print("# The Attention-MLP grid, drawn by validation/draw_mlp_grid.py before anything was simulated.")
    for s in draw(int(sys.argv[1]) if len(sys.argv) > 1 else 0):
        print(f'\n[[cell]]\nV = {s.V}\nL = {s.L}\nd = {s.d}\nN = {s.N}\nm = {s.m}\nactivation = "{s.activation}"')


if __name__ == "__main__":
    main()
