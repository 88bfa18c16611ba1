"""The fast path beside what others would write: same data, same thread, in turns.

Prints seconds of processor time and of the wall clock (equal on an idle machine), the medians over
rounds, and the median over rounds of the ratio to the fast path; then how far the three agree. Run as

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/speed.py [V L d N [rounds]]

Without PyTorch its rows are left out. The plain script takes all samples at once, as one would write it first (several
GB at the default sizes); the other takes them in the chunks in which PyTorch was fastest.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from recall_theory.settings import Setting
from recall_theory.simulate import data, run
from recall_theory.simulate import reference as explicit
from recall_theory.simulate import three_step as counts

import numba_three_steps  # isort: skip
import scipy_three_steps  # isort: skip

try:
    import torch
    import torch_three_steps
except ImportError:
    torch = None

MOST_EMBEDDED = 1e9  # numbers that the paths which embed all samples are given
FAST_REPEATS = 5  # fast runs a round; their median stands for the round


def clock(f: Callable[[], Any]) -> tuple[float, float, Any]:
    """Processor seconds, wall seconds, result."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = f()
    return time.process_time() - cpu, time.perf_counter() - wall, result


def main(V: int = 1024, L: int = 64, d: int = 128, N: int = 32768, rounds: int = 5) -> None:
    setting = Setting(V=V, L=L, d=d, N=N)
    s_emb, s_samples, s_explicit = np.random.SeedSequence(0).spawn(3)
    emb = data.draw_embeddings(setting, np.random.default_rng(s_emb))
    samples = data.Samples(setting, s_samples)
    task = explicit.draw_task(setting, emb, samples, s_explicit)
    paths: dict[str, Callable[[], Any]] = {}
    if torch is not None:
        torch.set_num_threads(1)
        parts = list(explicit.blocks(task))
        given = tuple(torch.from_numpy(np.concatenate([getattr(p, name) for p in parts]))
                      for name in ("tokens", "position", "label"))
        fixed = tuple(torch.from_numpy(z) for z in (emb.z_in, emb.z_out, emb.z_trig, task.z_eos))
        del parts

        def by_torch(chunk: int, bag: bool = False) -> Any:
            torch_three_steps.CHUNK, torch_three_steps.BAG = chunk, bag
            model = torch_three_steps.train(fixed, given)
            return torch_three_steps.logits(fixed, model).numpy()[:, emb.label]

        best = torch_three_steps.CHUNK
        if N * L * d <= MOST_EMBEDDED:
            paths["PyTorch, plain"] = lambda: by_torch(N)
            paths["PyTorch, best chunks"] = lambda: by_torch(best)
            paths["PyTorch, embedding_bag"] = lambda: by_torch(best, True)
    if N * L * d <= MOST_EMBEDDED:
        paths["explicit NumPy"] = lambda: explicit.trained(task, explicit.train(task)).logits
    blocks = list(samples.blocks())
    informative, noise = (np.concatenate([getattr(b, name) for b in blocks]) for name in ("informative", "noise"))
    arrays = (emb.z_in, emb.u, emb.z_trig, informative, noise)
    paths["scipy.sparse, 25 lines"] = lambda: scipy_three_steps.train(*arrays)
    paths["numba, 50 lines"] = lambda: numba_three_steps.train(*arrays)
    paths["fast path"] = lambda: counts.train(setting, emb, samples).logits
    paths["fast path, whole seed"] = lambda: run.one_seed(setting, 0, 0, None)

    cpu: dict[str, list[float]] = {name: [] for name in paths}
    wall: dict[str, list[float]] = {name: [] for name in paths}
    outcome: dict[str, Any] = {}
    for name in ("fast path", "fast path, whole seed", "numba, 50 lines"):
        paths[name]()  # compiled, and the memory touched
    for _ in range(rounds):
        for name, f in paths.items():
            repeats = FAST_REPEATS if "fast" in name else 1
            timed = []
            for _ in range(repeats):  # results are not kept: memory for each would be new, and count as work
                *seconds, outcome[name] = clock(f)
                timed.append(seconds)
            for times, of_runs in zip((cpu, wall), zip(*timed, strict=True), strict=True):
                times[name].append(statistics.median(of_runs))

    blas = [f"{i['internal_api']} {i.get('architecture', '')}".strip() for i in threadpool_info()
            if i["user_api"] == "blas"]
    print(f"V={V} L={L} d={d} N={N}, {rounds} rounds, one thread, BLAS {', '.join(blas)}")
    print(f"{'':24}{'cpu s':>9}{'wall s':>9}{'x fast (cpu)':>14}{'x fast (wall)':>15}")
    for name in paths:
        ratios = [statistics.median(a / b for a, b in zip(t[name], t["fast path"], strict=True))
                  for t in (cpu, wall)]
        print(f"{name:24}{statistics.median(cpu[name]):9.3f}{statistics.median(wall[name]):9.3f}"
              f"{ratios[0]:14.1f}{ratios[1]:15.1f}")
    fast = outcome["fast path"]
    for name in paths:
        if "fast" not in name:
            difference = np.abs(outcome[name] - fast).max() / np.abs(fast).max()
            print(f"logits of {name} and the fast path differ by {difference:.1e} of the largest")


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        main(*(int(float(x)) for x in sys.argv[1:]))
