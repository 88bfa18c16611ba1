"""What gradient descent finds, at the sizes fixed here beforehand; docs/geometric-training.md shows the figures.

    thresholds   the least d that recalls 99 %, along R and along log N, with noise and without
    structure    every measure of `train` and `transfer`, along d
    large        the thresholds that take as long as all the others together

    python -m validation.geometric_training [--part thresholds] [--out validation/geometric_training.json]

Rows that the file already has are not computed again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recall_theory.geometric import TrainingSetting, least_dimension, train, transfer

SEEDS, SEED, TARGET = 4, 20261121, 0.99
NOISES = (0.0, 0.3)  # plain gradient descent, and the default

ALONG_R = [TrainingSetting(N=256, R=R, noise=noise) for R in (1, 2, 3, 4, 8) for noise in NOISES]
ALONG_N = [TrainingSetting(N=N, R=3, noise=noise) for N in (64, 128, 256, 512) for noise in NOISES]
LARGE = [TrainingSetting(N=N, R=R, noise=noise) for N, R in ((1024, 3), (256, 16)) for noise in NOISES]
# Is it an artefact of the length of the training, or of codes made of bits?
LONGER = [TrainingSetting(N=256, R=R, noise=noise, steps=2000) for R in (2, 4) for noise in NOISES]
RANDOM_CODES = [TrainingSetting(N=256, R=R, noise=noise, code_length=16) for R in (2, 4) for noise in NOISES]
ALONG_D = [TrainingSetting(N=256, R=3, d=d, noise=noise) for d in (8, 12, 16, 20, 24, 32, 48) for noise in NOISES]
LARGE_START = [TrainingSetting(N=256, R=3, noise=noise, start=1.0) for noise in NOISES]
OTHER_SIZES = [TrainingSetting(N=N, R=R) for N, R in ((128, 3), (512, 3), (200, 4), (256, 8))]

Row = dict[str, Any]


def thresholds(setting: TrainingSetting) -> Row:
    return {"least_d": [least_dimension(setting, SEED, i, TARGET) for i in range(SEEDS)]}


def structure(setting: TrainingSetting) -> Row:
    found = {"train": train(setting, SEEDS, SEED), "transfer": transfer(setting, SEEDS, SEED)}
    return {name: {m: o.values.tolist() for m, o in f.measures.items()} for name, f in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("thresholds", "structure", "large"), help="one part alone")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "geometric_training.json")
    options = parser.parse_args()
    rows: list[Row] = json.loads(options.out.read_text()) if options.out.exists() else []

    def fill(part: str, settings: list[TrainingSetting], measure: Callable[[TrainingSetting], Row]) -> None:
        if options.part not in (None, part):
            return
        for setting in sorted(settings, key=lambda s: s.multiplications):
            key = {"part": part, "setting": setting.to_dict(), "seed": SEED}
            if not any(key.items() <= row.items() for row in rows):
                rows.append({**key, **measure(setting)})
                options.out.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
                print(part, setting, flush=True)

    fill("thresholds", [*ALONG_R, *ALONG_N, *LONGER, *RANDOM_CODES], thresholds)
    fill("structure", [*ALONG_D, *LARGE_START, *OTHER_SIZES], structure)
    fill("large", LARGE, thresholds)


if __name__ == "__main__":
    main()
