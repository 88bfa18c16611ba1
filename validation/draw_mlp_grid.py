"""Draw the grid on which the Attention-MLP law is checked, before anything is simulated.

A Sobol sequence with a fixed scramble, even in the logarithm of V, L, d, m and N/V, proposes settings; the named
activations take turns. The first quota takes what comes, the second those whose closed-form terms put attention in
transition: the quota looks at the closed-form terms, never at a simulation. Settings whose seeds are too
dear for a laptop are
passed over.

    python validation/draw_mlp_grid.py > grid.toml            # 30 + 12 settings, scramble 0
    python validation/draw_mlp_grid.py 1 > held_out.toml      # another draw
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import qmc

from recall_theory.theory.forced_choice import forced_choice
from recall_theory.theory.mlp.law import mlp_terms

LOW, HIGH = (128, 8, 32, 64, 8), (1024, 128, 256, 8192, 500)  # V, L, d, m, N/V
ACTIVATIONS = ("identity", "relu", "gelu", "tanh", "erf", "quadratic")
DEAREST = 3e10  # flops of a seed: the products of N samples with m x d weights
ANY, TRANSITION = 30, 12


def draw(scramble: int) -> list[tuple[int, int, int, int, int, str]]:
    """Settings (V, L, d, N, m, activation), the unconditional ones first."""
    sobol = qmc.Sobol(len(LOW), rng=np.random.default_rng(scramble))
    low, high = np.log(LOW), np.log(HIGH)
    plain: list[tuple[int, int, int, int, int, str]] = []
    transition: list[tuple[int, int, int, int, int, str]] = []
    while len(plain) < ANY or len(transition) < TRANSITION:
        V, L, d, m, ratio = np.exp(low + (high - low) * sobol.random(1)[0])
        V, L, d, m, N = (round(v) for v in (V, L, d, m, V * ratio))
        phi = ACTIVATIONS[(len(plain) + len(transition)) % len(ACTIVATIONS)]
        if N * m * (8 * d + 100) > DEAREST:
            continue
        if len(plain) < ANY:
            plain.append((V, L, d, N, m, phi))
            continue
        noise = sum(mlp_terms(V, L, d, N, m, phi)["attention"].values())
        if 0.2 < float(forced_choice(noise**-0.5, L)) < 0.9:
            transition.append((V, L, d, N, m, phi))
    return plain + transition


if __name__ == "__main__":
    for V, L, d, N, m, phi in draw(int(sys.argv[1]) if len(sys.argv) > 1 else 0):
        print(f'[[cell]]\nV = {V}\nL = {L}\nd = {d}\nN = {N}\nm = {m}\nactivation = "{phi}"\n')
