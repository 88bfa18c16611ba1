"""Draw the Attention-MLP cells of `verify`'s default grid, before any of them is simulated.

A Sobol sequence with a fixed scramble, even in the logarithm of V, L, d, m and N/V, proposes settings; the named
activations take turns. Ten cells have their recall in transition (by prediction, never by a simulation). Cells whose
planned seeds would take more than a second and a half of one core are passed over, and with them attention in
transition: the Attention-only cells show that.

    python validation/draw_verify_mlp.py >> recall_theory/grids/default.toml
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.stats import qmc

from recall_theory import Setting, predict
from recall_theory.simulate.observe import OBSERVABLES
from recall_theory.statistics import VERDICT_ALPHA, family_confidence
from recall_theory.theory.margins import MLP
from recall_theory.verify import planned_seeds

LOW, HIGH = (48, 4, 24, 64, 6), (192, 32, 128, 1024, 60)  # V, L, d, m, N/V
ACTIVATIONS = ("relu", "tanh", "gelu", "identity", "erf", "quadratic")
SCRAMBLE = 2026
CELLS = 48  # of the whole default grid, whose size corrects the confidence

DEAREST = 1.5  # seconds
TRANSITION, ANY = 10, 14  # cells


def seconds(s: Setting, seeds: int) -> float:
    """What the seeds of a cell take on one core: a fixed part, and the samples through the weights."""
    assert s.m is not None
    return seeds * (1.3e-3 + 3e-11 * s.N * s.m * (8 * s.d + 100))


def draw() -> list[Setting]:
    """The settings, in the order of the sequence, until every quota is full."""
    confidence = family_confidence(3 * CELLS, VERDICT_ALPHA)
    sobol = qmc.Sobol(len(LOW), rng=np.random.default_rng(SCRAMBLE))
    low, high = np.log(LOW), np.log(HIGH)
    transition: list[Setting] = []
    other: list[Setting] = []
    for number in itertools.count():
        if len(transition) == TRANSITION and len(other) == ANY:
            break
        V, L, d, m, ratio = np.exp(low + (high - low) * sobol.random(1)[0])
        s = Setting(V=round(V), L=round(L), d=round(d), N=round(V * ratio), m=round(m),
                    activation=ACTIVATIONS[number % len(ACTIVATIONS)])
        if seconds(s, 500) > DEAREST:
            continue
        p = predict(s)
        fitting, most = (transition, TRANSITION) if 0.2 < p.recall < 0.8 else (other, ANY)
        if len(fitting) < most and seconds(s, planned_seeds(p, OBSERVABLES, MLP, confidence)) < DEAREST:
            fitting.append(s)
    return transition + other


if __name__ == "__main__":
    print("\n# The Attention-MLP cells, drawn by validation/draw_verify_mlp.py before anything was simulated.")
    for s in draw():
        print(f'\n[[cell]]\nV = {s.V}\nL = {s.L}\nd = {s.d}\nN = {s.N}\nm = {s.m}\nactivation = "{s.activation}"')
