"""Recall with Val quantised to b bits an entry, simulated on settings drawn by rule before anything was simulated.

A scrambled Sobol sequence with a fixed scramble, even in the logarithms of V, d^2/(V ln V), N/V and L; every third
setting without the trigger in the values, every fourth on the sphere. One training a seed serves all b.

    python -m validation.quantised [--jobs 2] [--out validation/quantised.json]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import numpy as np
from scipy.stats import qmc

from recall_theory import Setting
from recall_theory.numerics.quantiser import quantised
from recall_theory.simulate.data import Samples, draw_embeddings
from recall_theory.simulate.observables import known_facts
from recall_theory.simulate.three_step import Trained, step_one, step_two, value_step
from recall_theory.simulate.workers import collect, one_thread

BITS = (1, 2, 3, 4, 8, None)
LOW, HIGH = (64, 2, 8, 1), (384, 8, 512, 16)  # V, d^2/(V ln V), N/V, L
CELLS, SEEDS = 18, 160
SEED = 20261123


def grid() -> list[Setting]:
    """The settings, in the order of the sequence."""
    settings = []
    for number, u in enumerate(qmc.Sobol(4, rng=np.random.default_rng(2026)).random(32)[:CELLS]):
        V, load, ratio, L = np.exp(np.log(LOW) + u * (np.log(HIGH) - np.log(LOW)))
        d = round(np.sqrt(load * V * np.log(V)))
        settings.append(Setting(V=round(V), L=round(L), d=d, N=round(ratio * round(V)), trigger_in_value=number % 3 > 0,
                                embedding="sphere" if number % 4 == 3 else "gaussian"))
    return settings


def recalls(setting: Setting, number: int, index: int) -> tuple[float, ...]:
    """Recall at each of BITS, of one seed."""
    with one_thread():
        for_embeddings, for_samples = np.random.SeedSequence([SEED, number, index]).spawn(2)
        emb, samples = draw_embeddings(setting, np.random.default_rng(for_embeddings)), Samples(setting, for_samples)
        g = step_two(setting, emb, samples, step_one(setting, emb, samples))
        model = Trained(emb.z_in @ g, float(emb.z_trig @ g), emb.informative_values(setting), emb.z_in, emb.u.T)
        val = value_step(setting, emb, samples, model.attention)
        models = (dataclasses.replace(model, out=quantised(val, b).T @ emb.u.T) for b in BITS)
        return tuple(float(known_facts(model).mean()) for model in models)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "quantised.json")
    options = parser.parse_args()
    found = json.loads(options.out.read_text()) if options.out.exists() else []
    for number, setting in list(enumerate(grid()))[len(found):]:
        seen = np.array(collect(recalls, [(setting, number, i) for i in range(SEEDS)], jobs=options.jobs))
        found.append({"setting": {k: v for k, v in setting.to_dict().items() if v is not None}, "bits": BITS,
                      "recall": seen.mean(axis=0).round(5).tolist(),
                      "se": (seen.std(axis=0, ddof=1) / SEEDS**0.5).round(5).tolist(),
                      "covariance": np.cov(seen.T).round(8).tolist()})
        print(number, setting.describe(), found[-1]["recall"], flush=True)
        options.out.write_text("[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n")


if __name__ == "__main__":
    main()
