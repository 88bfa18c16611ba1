"""Where the fast path's time goes: each part of one seed, its nanoseconds a token or its Gflop/s. Run as

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/breakdown.py [V L d N [repeats]]

The least processor time over the repeats is shown: other work on the machine only adds to it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from recall_theory.settings import Setting
from recall_theory.simulate import data
from recall_theory.simulate import observables as observe
from recall_theory.simulate import three_step as counts


def attend_to(blocks: list[data.Block], by: counts.Ranking) -> None:
    """The attention of step three, without the sums."""
    for block in blocks:
        counts.argmax_attention(by, block.informative, block.noise)


def main(V: int = 1024, L: int = 64, d: int = 128, N: int = 32768, repeats: int = 15) -> None:
    setting = Setting(V=V, L=L, d=d, N=N)
    s_emb, s_samples = np.random.SeedSequence(0).spawn(2)
    least: dict[str, float] = {}

    def timed(name: str, f: Callable[..., Any], *arguments: Any) -> Any:
        start = time.process_time()
        result = f(*arguments)
        least[name] = min(least.get(name, np.inf), time.process_time() - start)
        return result

    for _ in range(repeats):
        rng = np.random.default_rng(s_emb)
        emb = timed("draw embeddings", data.draw_embeddings, setting, rng)
        samples = data.Samples(setting, s_samples)
        blocks = timed("draw tokens", list, samples)
        table, val1 = timed("step one", counts.step_one, setting, emb, samples)
        g = timed("step two", counts.step_two, setting, emb, samples, table, val1)
        scores, trigger_score = emb.z_in @ g, float(emb.z_trig @ g)
        val2 = timed("step three", counts.step_three, setting, emb, samples, scores, trigger_score)
        by = counts.ranking(scores, trigger_score)
        timed("  of it, attention", attend_to, blocks, by)
        timed("a product (V, V) by (V, d)", np.matmul, table, emb.z_in)
        timed("a product (V, d) by (d, V)", np.matmul, emb.z_in, val2.T @ emb.z_out.T)
        model = timed("train, all of it", counts.train, setting, emb, samples)
        timed("observe exactly", observe.exactly, model, L)

    tokens, flops = N * (L - 1), 2 * V * V * d
    print(f"V={V} L={L} d={d} N={N}: {tokens / 1e6:.2f} M noise tokens, {flops / 1e9:.3f} Gflop a product")
    for name, seconds in least.items():
        if "product" in name:
            note = f"{flops / seconds / 1e9:8.1f} Gflop/s"
        else:
            note = f"{seconds / tokens * 1e9:8.2f} ns a noise token"
        print(f"{name:28}{seconds * 1e3:10.2f} ms{note}")


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        main(*(int(float(x)) for x in sys.argv[1:]))
