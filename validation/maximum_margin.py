"""The large-step end of the ladder: rung 3, keys only, beside the linear memory of largest margin on the same facts.

    python -m validation.maximum_margin    # appends to validation/maximum_margin.jsonl what it lacks

The rule, written before any of it ran. d = 8, 12, 16; V at 1/2, 5/8, 3/4, 7/8 and 1 times the number of facts of which
half of all problems are separable (23, 42, 64: validation/other_memories.json); L = 8, N = 32 V; the tasks and the
learning rate of the ladder, 8 seeds, without its stopping rule. Val is measured after three steps in the limit, and
after 100, 1,000 and 20,000 steps of descent. Once the first eleven of these were seen, which fell short of the largest
margin by far, all of it was run again with attention measured too, and beside it at L = 1, where attention is right.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax
import numpy as np
from scipy.optimize import nnls

from recall_theory import Setting
from recall_theory.numerics.arrays import FloatArray
from recall_theory.settings import N_TEST
from recall_theory.training import attention_model
from recall_theory.training.rungs import RUNGS
from recall_theory.training.trainer import Training, stacked
from recall_theory.verification.ladder_study import RATIO
from validation.ladder import SEED, SEEDS

FILE = Path(__file__).with_suffix(".jsonl")
HALF_SEPARABLE = {8: 23, 12: 42, 16: 64}  # d -> facts
SHARES = (0.5, 0.625, 0.75, 0.875, 1.0)
STEPS = (100, 1000, 20_000)


def margins(memory: FloatArray, keys: FloatArray, outputs: FloatArray) -> FloatArray:
    """(n,): by how much the right output's score <u_x, W e_x> leads the best other one, for W (d, d) of norm 1."""
    scores = keys @ memory.T @ outputs.T / np.linalg.norm(memory)
    right = scores.diagonal().copy()
    np.fill_diagonal(scores, -np.inf)
    return right - scores.max(axis=1)


def largest_margin(keys: FloatArray, outputs: FloatArray) -> tuple[float, float]:
    """The largest m such that some W of norm 1 has <u_x - u_z, W e_x> >= m for all facts x and z != x: bounds on it.

    By duality m is the norm of the shortest convex combination of the matrices (u_x - u_z) e_x^T where that isn't 0. Of
    min |G p|^2 + (sum p - 1)^2 over p >= 0, by scipy's non-negative least squares, the shares p/sum p are those of the
    shortest one: at given shares of norm r the least over the sum is r^2/(1 + r^2). The combination's own margin is the
    lower bound, its norm the upper one.

    >>> [round(bound, 9) for bound in largest_margin(np.eye(2), np.eye(2))]  # W = [[1, -1], [-1, 1]]/2
    [1.0, 1.0]
    """
    n, d = keys.shape
    right, wrong = np.nonzero(~np.eye(n, dtype=bool))
    pairs = ((outputs[right] - outputs[wrong])[:, :, None] * keys[right][:, None, :]).reshape(-1, d * d)
    scale = np.linalg.norm(pairs.mean(axis=0))
    shares, _ = nnls(np.vstack([pairs.T / scale, np.ones(len(pairs))]), np.r_[np.zeros(d * d), 1.0], maxiter=10**5)
    shortest = shares / shares.sum() @ pairs
    return float(margins(shortest.reshape(d, d), keys, outputs).min()), float(np.linalg.norm(shortest))


def compare(d: int, V: int, L: int) -> dict[str, Any]:
    """Train one setting's seeds and return its line of the file."""
    setting = Setting(V=V, L=L, d=d, N=RATIO * V, trigger_in_value=False)
    tasks = [attention_model.draw_recall_task(setting, 0.0, N_TEST, SEED, index) for index in range(SEEDS)]
    facts = [(np.array(task.embeddings.z_in, float), np.array(task.embeddings.z_out, float)[task.label])
             for task in tasks]
    data, rung = stacked(tasks), RUNGS["3"]
    plan = dataclasses.replace(rung.plan(setting), loss=0.0)  # which no loss is below
    start = stacked([rung.model.initial(setting, task, np.random.default_rng()) for task in tasks])
    training = Training(rung.problem(setting), start, data, plan)
    hebbian = jax.jit(jax.vmap(lambda task: attention_model.three_steps(task, setting, None, None)))(data)
    reached: list[tuple[int, Any, list[float] | None]] = [(3, hebbian, None)]
    for steps in STEPS:
        training.plan = dataclasses.replace(plan, most_steps=steps)
        found = training.run()
        reached.append((steps, found.parameters, found.loss.tolist()))

    observe = jax.vmap(lambda parameters, task: rung.observe(setting, parameters, task))
    after = []
    for steps, parameters, loss in reached:
        seen = [margins(np.asarray(W, float), *pair) for W, pair in zip(parameters["Val"], facts, strict=True)]
        observed = observe(parameters, data)
        after.append({"steps": steps, "margin": [float(x.min()) for x in seen],
                      "recall": [float((x > 0).mean()) for x in seen],
                      "attention": np.asarray(observed["attention"], float).tolist(), "loss": loss})
    bounds = [largest_margin(*pair) for pair in facts]
    return {"V": V, "L": L, "d": d, "N": setting.N, "seed": SEED, "margin_at_least": [low for low, _ in bounds],
            "margin_at_most": [high for _, high in bounds], "after": after}


def main() -> None:
    """Run what the file lacks."""
    known = [json.loads(line) for line in FILE.read_text().splitlines()] if FILE.exists() else []
    for d, half in HALF_SEPARABLE.items():
        for V, L in itertools.product([round(share * half) for share in SHARES], (1, 8)):
            if not any((row["d"], row["V"], row["L"]) == (d, V, L) for row in known):
                row = compare(d, V, L)
                with FILE.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(f"d = {d}, V = {V}, L = {L}", flush=True)


if __name__ == "__main__":
    main()
