"""One-step readings of the first gradient: what decoders recall, and how the noise scales.

The grid is drawn by rule, before anything is simulated: a scrambled Sobol sequence with a fixed scramble, even in the
logarithm of V, L, d and x = N d^2/(V^2 L ln V); settings with fewer samples than half the facts, or too dear for a
laptop, are passed over. Each cell holds the recall of every reader over SEEDS seeds.

The exponents are those of (noise/signal)^2 of the plain reading's logits, over one size at a time, the others fixed
where N << V L, L << V and d << V: none of the ratios above 1/32 anywhere, nor above 1/64 where V itself is scanned,
since it moves all three.

    python -m validation.gradient_access [--jobs 2] [--out validation/gradient_access.json]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.stats import qmc

from recall_theory import Setting
from recall_theory.simulate.data import Samples, draw_embeddings
from recall_theory.simulate.memories import READERS, read_gradient
from recall_theory.simulate.workers import collect, one_thread

LOW, HIGH = (64, 8, 16, 0.5), (256, 256, 256, 16)  # V, L, d, x
CELLS, SEEDS, MOST_TOKENS = 24, 64, 2e7
CENTRE = {"V": 16384, "L": 64, "d": 256, "N": 16384}
SCANS = {"N": (8192, 11585, 16384, 23170, 32768), "d": (128, 181, 256, 362, 512), "L": (32, 45, 64, 91, 128),
         "V": (16384, 23170, 32768, 46341, 65536)}
LAW = {"N": -1, "d": -2, "L": 1, "V": 2}  # of V^2 L/(N d^2)
SCAN_SEEDS = {"N": 12, "d": 12, "L": 12, "V": 16}  # a size; signals are faint at large V
ASKED = 256  # tokens whose wrong logits are looked at
SEED = 20261121


def grid() -> list[Setting]:
    """The settings, in the order of the sequence."""
    points, chosen = qmc.Sobol(4, rng=np.random.default_rng(2026)), []
    while len(chosen) < CELLS:
        for u in points.random(64):
            V, L, d, x = np.exp(np.log(LOW) + u * (np.log(HIGH) - np.log(LOW)))
            V, L, d = round(V), round(L), round(d)
            N = round(x * V**2 * L * np.log(V) / d**2)
            if N >= V / 2 and N * L <= MOST_TOKENS and len(chosen) < CELLS:
                chosen.append(Setting(V=V, L=L, d=d, N=N))
    return chosen


def read(setting: Setting, number: int, index: int) -> tuple[float, ...]:
    with one_thread():
        return read_gradient(setting, SEED + number, index)


def noise_and_signal(setting: Setting, seed: int, index: int) -> tuple[float, float]:
    """Mean square of the wrong logits z_out(j)^T Val1 z_in(k) of ASKED tokens, and mean right logit of all, both in
    units of Val1's own 1/(V L)."""
    with one_thread():
        s_emb, s_samples = np.random.SeedSequence(seed, spawn_key=(index,)).spawn(2)
        emb, samples = draw_embeddings(setting, np.random.default_rng(s_emb)), Samples(setting, s_samples)
        outputs, stored = emb.z_out[emb.label], samples.counts[:, None] * (emb.z_in + emb.z_trig)
        for block in samples:
            label, token = np.repeat(block.informative, setting.L - 1), block.noise.ravel()
            counts = coo_array((np.ones(len(label)), (label, token)), (setting.V, setting.V)).tocsr()
            stored += counts @ emb.z_in
        val1 = (outputs - outputs.mean(axis=0)).T @ stored / (setting.N * setting.L)
        right = np.einsum("kd,kd->k", outputs @ val1, emb.z_in)
        logits = emb.z_in[:ASKED] @ val1.T @ outputs.T
        noise = (np.sum(logits**2) - np.sum(right[:ASKED] ** 2)) / (ASKED * (setting.V - 1))
        unit = setting.V * setting.L
        return float(noise * unit**2), float(right.mean() * unit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "gradient_access.json")
    options = parser.parse_args()
    found = json.loads(options.out.read_text()) if options.out.exists() else {"seed": SEED, "cells": [], "scans": {}}
    for number, s in list(enumerate(grid()))[len(found["cells"]):]:
        seen = np.array(collect(read, [(s, number, i) for i in range(SEEDS)], jobs=options.jobs))  # (SEEDS, readers)
        found["cells"].append({"setting": {k: getattr(s, k) for k in ("V", "L", "d", "N")},
                               "recall": dict(zip(READERS, seen.T.round(5).tolist(), strict=True))})
        print(number, found["cells"][-1]["setting"], seen.mean(axis=0).round(3), flush=True)
        options.out.write_text(json.dumps(found))
    for name, values in list(SCANS.items())[len(found["scans"]):]:
        settings = [Setting(**{**CENTRE, name: value}) for value in values]
        tasks = [(s, SEED, i) for s in settings for i in range(SCAN_SEEDS[name])]
        pairs = collect(noise_and_signal, tasks, jobs=options.jobs)
        noise, signal = np.reshape(pairs, (len(values), SCAN_SEEDS[name], 2)).transpose(2, 0, 1).round(6)
        found["scans"][name] = {"sizes": values, "fixed": {k: v for k, v in CENTRE.items() if k != name},
                                "law": LAW[name], "noise": noise.tolist(), "signal": signal.tolist()}
        print(name, (noise.mean(axis=1) / signal.mean(axis=1) ** 2).round(3), flush=True)
        options.out.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
