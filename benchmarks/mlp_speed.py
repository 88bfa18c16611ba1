"""Attention-MLP, three steps: the fast path beside PyTorch's autograd, same data, same threads, float64.

    python benchmarks/mlp_speed.py [--activation relu] [--rounds 3] [--threads 1] [--N 65536]

Rounds alternate between the two, so that a busy machine slows both alike; the shortest time of each
counts, on the wall clock and on the processor. Prints both, their ratio, and how far the logits and the
decisions of the two differ. torch is needed.
"""

from __future__ import annotations

import argparse
import os
import time

parser = argparse.ArgumentParser()
parser.add_argument("--activation", default="relu")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--chunk", type=int, default=1024)
for name, size in (("V", 1024), ("L", 32), ("d", 64), ("N", 65536), ("m", 2048)):
    parser.add_argument("--" + name, type=int, default=size, dest=name)
options = parser.parse_args()
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = str(options.threads)

import mlp_torch  # noqa: E402  # threads must be set before the linear algebra is loaded
import numpy as np  # noqa: E402
import torch  # noqa: E402

from recall_theory.settings import Setting  # noqa: E402
from recall_theory.simulate import data, three_step  # noqa: E402
from recall_theory.simulate import reference as explicit  # noqa: E402
from recall_theory.simulate.three_step import Trained  # noqa: E402

torch.set_num_threads(options.threads)


def main() -> None:
    """Time both, compare what they learn."""
    setting = Setting(options.V, options.L, options.d, options.N, options.m, options.activation)
    seeds = np.random.SeedSequence(0).spawn(4)
    emb = data.draw_embeddings(setting, np.random.default_rng(seeds[0]))
    layer = data.draw_mlp(setting, np.random.default_rng(seeds[1]))
    samples = data.Samples(setting, seeds[2])
    task = explicit.draw_task(setting, emb, samples, seeds[3], layer)
    parts = [(s.tokens, s.position, s.label) for s in explicit.blocks(task)]
    sequences = tuple(torch.from_numpy(np.concatenate(x)) for x in zip(*parts, strict=True))
    fixed = tuple(map(torch.from_numpy, (emb.z_in, emb.z_out, emb.z_trig, task.z_eos, layer.W_in)))
    def fast_path() -> Trained:
        return three_step.train(setting, emb, samples, layer)

    def autograd() -> dict[str, torch.Tensor]:
        return mlp_torch.train(fixed, options.activation, sequences, options.chunk)

    fast_path()  # draws the samples, which are kept
    both = {"fast path": fast_path, "torch autograd": autograd}
    wall: dict[str, list[float]] = {name: [] for name in both}
    work: dict[str, list[float]] = {name: [] for name in both}
    results = {}
    for _ in range(options.rounds):
        for name, run in both.items():
            started, worked = time.perf_counter(), time.process_time()
            results[name] = run()
            wall[name].append(time.perf_counter() - started)
            work[name].append(time.process_time() - worked)
    model, learned = results["fast path"], results["torch autograd"]
    reference = mlp_torch.logits(fixed, options.activation, learned).numpy()[:, emb.label]
    difference = np.abs(model.logits - reference).max() / np.abs(reference).max()
    same = (model.logits.argmax(axis=1) == reference.argmax(axis=1)).mean()
    print(f"{setting}\nthreads {options.threads}, rounds {options.rounds}, torch {torch.__version__}")
    for label, seconds in (("wall clock", wall), ("processor", work)):
        ours, theirs = (min(seconds[name]) for name in both)
        print(f"{label:10}  fast path {ours:6.2f} s   torch autograd {theirs:6.2f} s   ratio {theirs / ours:5.1f}")
    print(f"logits differ by {difference:.1e} of the largest; the same answer for {same:.2%} of the facts")


if __name__ == "__main__":
    main()
