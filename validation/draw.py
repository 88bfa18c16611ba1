"""Draw settings to compare predictions with, before anything is simulated.

    python -m validation.draw --seed 505 [--attention 84 --smooth 63 --rough 24] > draw.json

Sizes are log-uniform: V 16 to 1,024, L 2 to 256, d 8 to 384 (orthogonal embeddings: at least V, in 3 of 10 settings
just V), N/V 1 to 500, m 32 to 1,024. A setting whose predicted recall and accuracy both lie within 0.03 of 0 or 1 says
little and is drawn again, and so is one that takes a laptop too long (N L above 2 10^6, or N L d above 6 10^8).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from recall_theory import Setting, SettingError, predict

SMOOTH = ("relu", "gelu", "tanh", "erf", "x", "softplus", "x/(1+abs(x))")
ROUGH = ("abs(x)", "x**2-1", "x**3-3*x", "sin(2*x)")
DULL = 0.03


def log_uniform(rng: np.random.Generator, low: float, high: float) -> int:
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))


def candidate(rng: np.random.Generator, kind: str, number: int) -> dict[str, Any]:
    """One draw of a kind: "attention", "smooth" or "rough"."""
    V, L, d = (log_uniform(rng, *ends) for ends in ((16, 1024), (2, 256), (8, 384)))
    sizes: dict[str, Any] = {"V": V, "L": L, "d": d, "N": max(1, round(V * float(np.exp(rng.uniform(0, np.log(500))))))}
    if kind == "attention":
        sizes["embedding"] = ("gaussian", "gaussian", "sphere", "orthogonal")[number % 4]
        sizes["trigger_in_value"] = bool((number // 4) % 2)
    else:
        names = SMOOTH if kind == "smooth" else ROUGH
        sizes |= {"m": log_uniform(rng, 32, 1024), "activation": names[number % len(names)]}
        sizes["embedding"] = "sphere" if rng.random() < 0.2 else "gaussian"
        sizes["trigger_in_value"] = bool(rng.random() < 0.6)
    if sizes["embedding"] == "orthogonal":
        sizes["d"] = max(d, V + int(rng.random() < 0.7))
    return sizes


def drawn(seed: int, counts: dict[str, int]) -> Iterator[dict[str, Any]]:
    """The settings, with their kind."""
    rng = np.random.default_rng(seed)
    for kind, count in counts.items():
        for number in range(count):
            while True:
                sizes = candidate(rng, kind, number)
                work = sizes["N"] * sizes["L"]
                if work > 2e6 or work * sizes["d"] > 6e8:
                    continue
                try:
                    p = predict(Setting(**sizes))
                except SettingError:
                    continue
                if any(DULL < x < 1 - DULL for x in (p.recall, p.accuracy)):
                    yield {"kind": kind, "setting": sizes}
                    break


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    for kind, count in (("attention", 84), ("smooth", 63), ("rough", 24)):
        parser.add_argument(f"--{kind}", type=int, default=count)
    options = parser.parse_args()
    counts = {kind: getattr(options, kind) for kind in ("attention", "smooth", "rough")}
    print(json.dumps(list(drawn(options.seed, counts)), indent=0))


if __name__ == "__main__":
    main()
