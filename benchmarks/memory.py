"""Time and peak memory of one seed with ten million samples of 64 tokens. Run as

    OPENBLAS_NUM_THREADS=1 python benchmarks/memory.py [V L d N]
"""

from __future__ import annotations

import resource
import sys
import time

from recall_theory.settings import Setting
from recall_theory.simulate import run


def main(V: int = 1024, L: int = 64, d: int = 128, N: int = 10**7) -> None:
    setting = Setting(V=V, L=L, d=d, N=N)
    cpu, wall = time.process_time(), time.perf_counter()
    attention, recall, accuracy = run.one_seed(setting, 0, 0, None)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # reported in KiB
    print(f"V={V} L={L} d={d} N={N}: {cpu:.1f} s of processor, {wall:.1f} s of wall clock, "
          f"{peak:.2f} GiB at most")
    print(f"{cpu / (N * L) * 1e9:.2f} ns a token; attention {attention:.4f}, recall {recall:.4f}, "
          f"accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main(*(int(float(x)) for x in sys.argv[1:]))
