"""Draws the random cases of the golden files, without their answers: `python validation/golden/draw.py`.

`python -m tests.golden.freeze --write --all` then computes the answers.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))
sys.path.insert(0, str(HERE.parents[1] / "tests"))
from test_formulas import draw  # noqa: E402

from recall_theory.theory import formulas  # noqa: E402
from tests.golden.freeze import MORE, PARTS, Case, Part  # noqa: E402

SEED = 20_261_205
SETTINGS, IN_TESTS, SIMULATIONS, POINTS = 2000, 300, 60, 3
NAMED = ("identity", "relu", "gelu", "tanh", "erf", "quadratic")
EXPRESSIONS = ("x**3 - 3*x", "abs(x)", "sin(2*x)", "x/(1 + abs(x))", "x**3", "exp(-x**2)", "max(x, 0.1*x)", "silu(x)")
LEARNING_RATES = ((1e-3, 1e6), (1e-2, 1e4), (0.1, 10.0), (1.0, 1e3))


def between(rng: np.random.Generator, low: float, high: float) -> int:
    """An integer, uniform on the logarithmic scale."""
    return int(np.exp(rng.uniform(np.log(low), np.log(high))))


def asked(rng: np.random.Generator) -> dict[str, Any]:
    """A setting to predict: of any kind, and of sizes that are tiny, usual or huge."""
    scale = rng.choice(["tiny", "usual", "huge"], p=[0.2, 0.6, 0.2])
    V_range, L_range, d_range = {"tiny": ((2, 16), (1, 8), (1, 32)), "usual": ((32, 1e5), (2, 500), (8, 2000)),
                                 "huge": ((1e5, 1e12), (2, 1e6), (64, 1e6))}[str(scale)]
    V, L, d = between(rng, *V_range), between(rng, *L_range), between(rng, *d_range)
    N = min(max(1, int(V * np.exp(rng.uniform(np.log(0.01), np.log(1e4))))), 10**15)
    given: dict[str, Any] = {"V": V, "L": L, "d": d, "N": N}
    embedding = str(rng.choice(["gaussian", "sphere", "orthogonal"], p=[0.5, 0.25, 0.25]))
    mlp = rng.random() < (0.02 if embedding == "orthogonal" else 0.35)
    if embedding != "gaussian":
        given["embedding"] = embedding
    if embedding == "orthogonal" and rng.random() < 0.9:  # the others are refused, unless d is large by chance
        given["V"] = V = min(V, 10**8)
        given["d"] = between(rng, V, min(10.0 * V, 1e9)) if rng.random() < 0.8 else V
    if rng.random() < 1 / 3:
        given["trigger_in_value"] = False
    if mlp:
        given["m"] = between(rng, 1, 64) if scale == "tiny" else between(rng, 16, 1e5)
        given["activation"] = str(rng.choice(NAMED if rng.random() < 0.7 else EXPRESSIONS))
    if rng.random() < 0.01:  # predictions are of the limit: refused
        given["eta"], given["gamma"] = 1e-3, 1e6
    return given


def kind(given: dict[str, Any]) -> str:
    if "m" not in given:
        return f"Attention-only, {given.get('embedding', 'gaussian')}"
    return f"Attention-MLP, {given['activation'] if given['activation'] in NAMED else 'expressions'}"


def grouped(many: list[dict[str, Any]]) -> dict[str, list[Case]]:
    groups: dict[str, list[Case]] = {}
    for given in many:
        groups.setdefault(kind(given), []).append({"given": given})
    return dict(sorted(groups.items()))


def simulations(rng: np.random.Generator) -> dict[str, list[Case]]:
    """Small settings to simulate: each embedding, activations in turn, learning rates in the limit and finite."""
    groups: dict[str, list[Case]] = {}
    for i in range(SIMULATIONS):
        V, L, d = between(rng, 4, 128), between(rng, 1, 32), between(rng, 4, 64)
        given: dict[str, Any] = {"V": V, "L": L, "d": d, "N": V * between(rng, 1, 64)}
        group = ("gaussian", "sphere", "orthogonal", "Attention-MLP", "finite learning rates")[i % 5]
        turn = i // 5  # 12 of each
        if group in ("sphere", "orthogonal"):
            given["embedding"] = group
        if group == "orthogonal":
            given["d"] = V + (0, 1, 7)[turn % 3]
        if group == "Attention-MLP" or (group == "finite learning rates" and turn % 3 == 2):
            given["m"], given["activation"] = between(rng, 8, 256), (*NAMED, *EXPRESSIONS)[turn]
        if group == "finite learning rates":
            given["eta"], given["gamma"] = LEARNING_RATES[turn % 4]
        if turn % 3 == 1:
            given["trigger_in_value"] = False
        n_test = 512 if group == "finite learning rates" or turn % 4 == 3 else None
        groups.setdefault(group, []).append({
            "given": given, "seed": 7, "index": i, "n_test": n_test, "tolerance": {"observables": [0, 2 / V]},
            "reason": "a largest logit may be another one by rounding"})
    return groups


def points(rng: np.random.Generator) -> dict[str, list[Case]]:
    """Points of each formula, over the ranges of tests/test_formulas.py, by the formula's topic."""
    groups: dict[str, list[Case]] = {}
    for name in formulas:
        if formulas[name].expr is None:  # quoted, and without its text
            continue
        values = draw(formulas[name], rng, POINTS)
        groups.setdefault(name.partition(".")[0], []).extend(
            {"formula": name, "at": {k: float(v[i]) for k, v in values.items()}} for i in range(POINTS))
    return groups


def save(part: Part, groups: dict[str, list[Case]]) -> None:
    part.save(groups)
    print(part.path, sum(map(len, groups.values())))


def main() -> None:
    rng = np.random.default_rng(SEED)
    settings = [asked(rng) for _ in range(SETTINGS)]
    save(PARTS["predictions"], grouped(settings[:IN_TESTS]))
    save(MORE["more predictions"], grouped(settings[IN_TESTS:]))
    save(PARTS["simulations"], simulations(rng))
    save(PARTS["formulas"], points(rng))


if __name__ == "__main__":
    main()
