"""What gradient descent finds in whole transformers; docs/geometric-training.md shows the rows.

    python -m validation.geometric_training       # appends to validation/geometric_training.jsonl what it lacks

The rule, written before it ran. MLP of 128 hidden units at every N; AdamW by the defaults of `TrainingSetting` (2,000
steps); 4 seeds, seed 20261123. `least`: the least d of 2, 3, 4, 6, 8, 12, 16, 24, 32 with recall 0.95, at N = 32, 64,
128, 256 and R = 2, 4, 8, one hop, trained and with frozen embeddings. `hops`: two hops with and without chain of
thought, N = 32, R = 2, 3, d = 8, 16, 32. `structure` and `transfer`: N = 128, R = 3, d = 8, 16, 32, embeddings that
start at norm 0.1 and 1. Cheap parts come first. Added after the first rows were seen: `width` and `width frozen`, the
least d as above at N = 64, R = 4 with 32 and 512 hidden units.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

from recall_theory.geometric import TrainingSetting, least_dimension, train, transfer

FILE = Path(__file__).with_suffix(".jsonl")
SEEDS, SEED = 4, 20261123
DIMENSIONS = (2, 3, 4, 6, 8, 12, 16, 24, 32)

Row = dict[str, Any]


def places() -> list[tuple[str, TrainingSetting]]:
    """Every part with its settings, in the order in which they run."""
    structure = [TrainingSetting(N=128, R=3, d=d, start=start) for d in (8, 16, 32) for start in (0.1, 1.0)]
    hops = [TrainingSetting(N=32, R=R, d=d, hops=2, chain_of_thought=chain) for R in (2, 3) for d in (8, 16, 32)
            for chain in (False, True)]
    sizes = [TrainingSetting(N=N, R=R) for N in (32, 64, 128, 256) for R in (2, 4, 8)]
    sizes.sort(key=lambda s: s.queries * s.N)
    least = [(part, setting) for setting in sizes for part in ("least", "frozen")]
    widths = [(part, TrainingSetting(N=64, R=4, width=width)) for width in (32, 512)
              for part in ("width", "width frozen")]
    return [*widths, *(("structure", s) for s in structure), *(("transfer", s) for s in structure if s.start == 1),
            *(("hops", s) for s in hops), *least]


def measured(part: str, setting: TrainingSetting) -> Row:
    """The values of one place, a value a seed."""
    if part in ("least", "frozen", "width", "width frozen"):
        return {"least_d": least_dimension(setting, DIMENSIONS, SEEDS, SEED, frozen="frozen" in part)}
    found = (transfer if part == "transfer" else train)(setting, SEEDS, SEED)
    return {name: observable.values.tolist() for name, observable in found.measures.items()}


def read_rows() -> list[Row]:
    """What is there already."""
    return [json.loads(line) for line in FILE.read_text().splitlines()] if FILE.exists() else []


def main() -> None:
    """Run what is missing, a line for each place."""
    for part, setting in places():
        key = {"part": part, "setting": setting.to_dict()}
        if any(key.items() <= row.items() for row in read_rows()):
            continue
        row = {**key, "measures": measured(part, setting)}
        with FILE.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
