"""What the hierarchy of `recall_theory.theory` must come to, by plain sampling: nothing of the package is imported.

A case is a network drawn as the model defines it, embeddings, samples and neurons, with two things given instead of
computed by step two: |z_trig|^2 and the lead over the tokens' scores (or L = 1, where attention is right). There is no
quadrature, no expansion and no moment here. `python -m tests.reference.law` samples every case anew into law.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

KEPT = Path(__file__).with_name("law.json")
SEEDS = 8000
TEST = 400  # fresh sequences a seed, where attention fails
ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0), "identity": lambda x: x, "tanh": np.tanh, "abs(x)": np.abs,
    "x**2": lambda x: x * x, "x**2 - 1": lambda x: x * x - 1, "x**3 - 3*x": lambda x: x**3 - 3 * x,
    "x/(1 + abs(x))": lambda x: x / (1 + np.abs(x)),
}


class Case(NamedTuple):
    """Sizes and conventions; tau and snr (None at L = 1: the trigger is drawn), as in `training_attention.Seeds`."""

    V: int
    L: int
    d: int
    N: int
    e: int
    sphere: bool = False
    m: int | None = None
    phi: str | None = None
    tau: float | None = None
    snr: float | None = None


CASES = (
    # attention is right
    Case(60, 1, 24, 900, 1), Case(60, 1, 24, 900, 0), Case(100, 1, 40, 300, 1), Case(120, 1, 20, 9000, 1),
    Case(30, 1, 100, 45, 1), Case(150, 1, 64, 400, 0), Case(64, 1, 200, 128, 1),
    Case(60, 1, 24, 900, 1, True), Case(60, 1, 24, 900, 0, True), Case(100, 1, 40, 5000, 1, True),
    Case(40, 1, 60, 60, 0, True),
    Case(60, 1, 24, 900, 1, False, 80, "identity"), Case(60, 1, 24, 900, 1, False, 80, "relu"),
    Case(80, 1, 30, 2400, 1, False, 60, "tanh"), Case(80, 1, 30, 2400, 0, False, 200, "relu"),
    Case(60, 1, 30, 1200, 1, True, 150, "x/(1 + abs(x))"), Case(60, 1, 20, 1200, 0, False, 300, "abs(x)"),
    Case(50, 1, 24, 500, 1, False, 400, "x**2"),
    # attention fails: at a seed
    Case(80, 40, 32, 800, 1, False, None, None, 1.0, 1.5), Case(80, 40, 32, 800, 0, False, None, None, 1.2, 1.0),
    Case(100, 10, 50, 600, 1, False, None, None, 0.8, 0.6), Case(60, 30, 30, 600, 1, True, None, None, 1.0, 1.5),
    Case(60, 60, 60, 240, 0, True, None, None, 1.0, 1.2),
    Case(26, 79, 66, 64, 1, False, None, None, 1.0, 0.3), Case(19, 120, 225, 387, 0, False, None, None, 1.0, 2.0),
    Case(51, 97, 106, 141, 1, True, None, None, 1.0, 1.0),
    Case(60, 30, 30, 900, 1, False, 120, "relu", 1.0, 1.8), Case(60, 30, 30, 900, 0, False, 120, "tanh", 1.0, 1.5),
    # many samples in long sequences: labels that were attended wrongly move together
    Case(24, 60, 16, 2400, 1, False, None, None, 1.0, 1.5), Case(24, 60, 16, 2400, 0, False, None, None, 1.0, 1.5),
    # the trigger's score is negative: copies of the informative token win, and all labels are alike
    Case(17, 153, 89, 155, 0, False, None, None, 1.0, -0.2), Case(23, 230, 15, 1351, 1, False, None, None, 1.0, -0.4),
    Case(47, 221, 30, 632, 1, True, None, None, 1.0, -0.3), Case(24, 60, 24, 600, 0, False, 60, "relu", 1.0, -0.3),
)
NAMES = ("recall", "attended recall", "accuracy", "attention")


def sample(case, rng):
    """recall, E[attention recall] over facts, accuracy and attention of one network."""
    V, L, d, N, e = case[:5]
    z = rng.standard_normal((V, d)) / np.sqrt(d)
    out = rng.standard_normal((V, d)) / np.sqrt(d)
    trigger = rng.standard_normal(d) / np.sqrt(d)
    if case.sphere:
        z, out, trigger = (a / np.linalg.norm(a, axis=-1, keepdims=True) for a in (z, out, trigger))
    if case.snr is not None:  # scores are sqrt(d) times the first coordinate
        trigger = np.zeros(d)
        trigger[0] = case.snr / np.sqrt(d)
        trigger[1] = np.sqrt(case.tau - trigger[0] ** 2)
    score, lead = np.sqrt(d) * z[:, 0], case.snr or 0.0
    if case.phi is None:
        def features(values):
            return values
    else:
        weights = rng.standard_normal((case.m, d))

        def features(values):
            return ACTIVATIONS[case.phi](values @ weights.T) / np.sqrt(case.m)

    right_value, wrong_value = features(z + e * trigger), features(z)

    def attended(x, n):
        """Whether the token x of each sequence is attended, and the best noise token."""
        noise = rng.integers(V, size=(n, L - 1))
        best = noise[np.arange(n), score[noise].argmax(axis=1)] if L > 1 else x
        return (score[x] + lead >= score[best]) if L > 1 else np.ones(n, dtype=bool), best

    x = rng.integers(V, size=N)
    right, best = attended(x, N)
    stored = np.zeros((V, right_value.shape[1]))
    np.add.at(stored, x[right], right_value[x[right]])
    np.add.at(stored, x[~right], wrong_value[best[~right]])
    stored -= stored.mean(axis=0)
    readout = out @ (out.T @ stored)
    answer = (readout @ right_value.T).argmax(axis=0)
    recalled = answer == np.arange(V)
    if L == 1:
        return recalled.mean(), recalled.mean(), recalled.mean(), 1.0
    below = np.searchsorted(np.sort(score), score + lead, side="right") / V
    share = below ** (L - 1)
    x = rng.integers(V, size=TEST)
    right, best = attended(x, TEST)
    wrong_answer = (readout @ wrong_value.T).argmax(axis=0)
    correct = np.where(right, recalled[x], wrong_answer[best] == x)
    return recalled.mean(), (share * recalled).mean(), correct.mean(), share.mean()


def sampled(case, seeds, seed=20261122):
    """Mean, standard error and standard deviation over seeds, of each name of NAMES."""
    rng = np.random.default_rng([seed, *(abs(hash_of(part)) for part in case)])
    values = np.array([sample(case, rng) for _ in range(seeds)])
    sd = values.std(axis=0, ddof=1)
    return {"mean": values.mean(axis=0).tolist(), "se": (sd / np.sqrt(seeds)).tolist(), "sd": sd.tolist()}


def hash_of(part):
    """A whole number that tells values apart, the same in every run."""
    return sum(256**i * b for i, b in enumerate(repr(part).encode()[:6]))


def kept():
    """The cases with what was sampled of them."""
    return list(zip(CASES, json.loads(KEPT.read_text(encoding="utf-8")), strict=True))


if __name__ == "__main__":
    rows = [sampled(case, SEEDS) for case in CASES]
    KEPT.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")
