"""Predictions a second through `predict_many`, on one thread: where attention is sure and where it is not. Run as

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/predictions.py [settings [rounds]]

Settings are drawn at random (V 64 to 2,048, L 4 to 256, d 16 to 512, N/V 2 to 1,000) and sorted by the
attention that is predicted for them; the drawing's seed is fixed, so that two versions of the theory are timed on
the same work. Processor time is given, the median over rounds.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np
from numba.core import config
from threadpoolctl import threadpool_limits

from recall_theory import predict_many

SURE = 0.99
KINDS = [(embedding, e) for embedding in ("gaussian", "sphere", "orthogonal") for e in (True, False)]


def draw(n: int, embedding: str) -> tuple[np.ndarray, ...]:
    """V, L, d, N of n settings."""
    rng = np.random.default_rng(7)
    V = np.round(np.exp(rng.uniform(np.log(64), np.log(2048), n)))
    L = np.round(np.exp(rng.uniform(np.log(4), np.log(256), n)))
    d = np.round(np.exp(rng.uniform(np.log(16), np.log(512), n)))
    N = np.round(V * np.exp(rng.uniform(np.log(2), np.log(1000), n)))
    return (V, L, np.maximum(d, V), N) if embedding == "orthogonal" else (V, L, d, N)


def seconds(sizes: tuple[np.ndarray, ...], embedding: str, e: bool, rounds: int) -> float:
    """Processor seconds of one prediction of all the settings."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        predict_many(*sizes, embedding=embedding, trigger_in_value=e)
        times.append(time.process_time() - start)
    return statistics.median(times)


def main(n: int = 120, rounds: int = 3) -> None:
    print(f"{n} settings of each kind, {rounds} rounds")
    print(f"{'embedding':12}{'trigger in values':>18}{'sure':>6}{'a second':>10}{'unsure':>8}{'a second':>10}")
    for embedding, e in KINDS:
        sizes = draw(n, embedding)
        sure = predict_many(*sizes, embedding=embedding, trigger_in_value=e).attention > SURE
        speeds = [chosen.sum() / seconds(tuple(a[chosen] for a in sizes), embedding, e, rounds)
                  for chosen in (sure, ~sure)]
        print(f"{embedding:12}{e!s:>18}{sure.sum():6}{speeds[0]:10.0f}{(~sure).sum():8}{speeds[1]:10.1f}")


if __name__ == "__main__":
    config.NUMBA_NUM_THREADS = 1
    with threadpool_limits(limits=1):
        main(*(int(x) for x in sys.argv[1:]))
