"""The fourth step, keys only: the law beside simulations of settings drawn by rule, before any was looked at.

    python -m validation.fourth_step       # writes validation/fourth_step.json, some minutes

24 settings from seed 17: V uniform of 128, 192, 256, 384, 512; d^2/(2 V ln V) uniform in (1.3, 3); N/V of 4, 16, 64; g
uniform in (1, min(10, sqrt(2 d))); 24 seeds each. Four more lie below the checked domain and are shown apart.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

from recall_theory.theory.fourth_step import fourth_step_recall

FILE = Path(__file__).with_suffix(".json")
SEEDS = 24


def settings() -> list[dict[str, float]]:
    """The drawn settings, and then those below the domain: V, d, N and g."""
    rng = np.random.default_rng(17)
    drawn = []
    for index in range(28):
        V = int(rng.choice([128, 192, 256, 384, 512]))
        d = round(math.sqrt(2 * V * math.log(V) * (rng.uniform(1.3, 3) if index < 24 else rng.uniform(0.6, 1))))
        N = V * int(rng.choice([4, 16, 64]))
        drawn.append({"V": V, "d": d, "N": N, "g": float(rng.uniform(1, min(10, math.sqrt(2 * d))))})
    return drawn


def recall_after_four(V: int, d: int, N: int, g: float, rng: np.random.Generator, steps: int = 1) -> tuple[float, ...]:
    """Recall after three steps, and after `steps` more value steps, of one drawn memory at right attention."""
    z, u = (rng.standard_normal((V, d)) / math.sqrt(d) for _ in range(2))
    c = rng.multinomial(N, np.full(V, 1 / V)) / (N / V)
    keys = c[:, None] * z
    memory = (u - u.mean(axis=0)).T @ keys
    found = []
    for step in range(steps + 1):
        scores = z @ memory.T @ u.T
        found.append(float((scores.argmax(axis=1) == np.arange(V)).mean()))
        if step < steps:
            p = np.exp(g * (scores - scores.max(axis=1, keepdims=True)))
            p /= p.sum(axis=1, keepdims=True)
            memory = memory + ((np.eye(V) - p) @ u).T @ keys
    return tuple(found)


def main() -> None:
    """Simulate all settings and write what was seen beside the law."""
    rows = []
    for number, setting in enumerate(settings()):
        V, d, N, g = (setting[name] for name in ("V", "d", "N", "g"))
        seen = np.array([recall_after_four(int(V), int(d), int(N), g, np.random.default_rng((17, number, i)))
                         for i in range(SEEDS)])
        law = fourth_step_recall(int(V), int(d), int(N), g)
        rows.append({**setting, "checked": law.checked, "third": seen[:, 0].mean(), "fourth": seen[:, 1].mean(),
                     "se": seen[:, 1].std(ddof=1) / math.sqrt(SEEDS), "law_third": law.third, "law": law.fourth,
                     "noise": law.noise, "correction": law.correction})
        print({name: round(float(value), 4) for name, value in rows[-1].items()}, flush=True)
    FILE.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
