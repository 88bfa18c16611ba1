"""Predictions a second through `predict_many`, on one thread: where attention is sure and where it is not. Run as

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/predictions.py [settings [rounds]]

Settings are drawn at random (V 64 to 2,048, L 4 to 256, d 16 to 512, N/V 2 to 1,000, m 32 to 1,024) and sorted by the
attention that is predicted for them; the drawing's seed is fixed, so that two versions of the theory are timed on
the same work. Processor time is given, the median over rounds.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import numpy as np
from numba.core import config
from threadpoolctl import threadpool_limits

from recall_theory import predict_many

SURE = 0.99
KINDS = [*((embedding, None, e) for embedding in ("gaussian", "sphere", "orthogonal") for e in (True, False)),
         ("gaussian", "relu", True), ("gaussian", "gelu", True), ("sphere", "tanh", False)]


def draw(n: int, embedding: str, activation: str | None) -> dict[str, np.ndarray]:
    """The sizes of n settings."""
    rng = np.random.default_rng(7)
    V = np.round(np.exp(rng.uniform(np.log(64), np.log(2048), n)))
    L = np.round(np.exp(rng.uniform(np.log(4), np.log(256), n)))
    d = np.round(np.exp(rng.uniform(np.log(16), np.log(512), n)))
    N = np.round(V * np.exp(rng.uniform(np.log(2), np.log(1000), n)))
    sizes = {"V": V, "L": L, "d": np.maximum(d, V) if embedding == "orthogonal" else d, "N": N}
    return sizes if activation is None else sizes | {"m": np.round(np.exp(rng.uniform(np.log(32), np.log(1024), n)))}


def a_second(settings: dict[str, Any], chosen: np.ndarray, rounds: int) -> float:
    """Predictions of those settings per second of processor time."""
    some = {name: value[chosen] if isinstance(value, np.ndarray) else value for name, value in settings.items()}
    times = []
    for _ in range(rounds):
        start = time.process_time()
        predict_many(**some)
        times.append(time.process_time() - start)
    return float(chosen.sum() / statistics.median(times))


def main(n: int = 120, rounds: int = 3) -> None:
    print(f"{n} settings of each kind, {rounds} rounds")
    print(f"{'embedding':12}{'MLP':8}{'trigger in values':>18}{'sure':>6}{'a second':>10}{'unsure':>8}{'a second':>10}")
    for embedding, activation, e in KINDS:
        settings = {**draw(n, embedding, activation), "embedding": embedding, "activation": activation,
                    "trigger_in_value": e}
        sure = predict_many(**settings).attention > SURE
        rates = [a_second(settings, chosen, rounds) for chosen in (sure, ~sure)]
        print(f"{embedding:12}{activation or '':8}{e!s:>18}"
              f"{sure.sum():6}{rates[0]:10.0f}{(~sure).sum():8}{rates[1]:10.1f}")


if __name__ == "__main__":
    config.NUMBA_NUM_THREADS = 1
    with threadpool_limits(limits=1):
        main(*(int(x) for x in sys.argv[1:]))
