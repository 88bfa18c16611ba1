"""Draw the default grid of `verify`, before any of it is simulated.

For each variant a Sobol sequence with a fixed scramble, even in the logarithm of V, L, d, N/V (and m), proposes
settings. Each goes to the first quota that it fits and that is not full: attention in transition, recall in transition
(where attention is right), anything. Quotas look at predictions, never at a simulation. Cells whose planned seeds and
prediction would take too many seconds of one core are passed over: what a second buys in the pooled tests is what
counts, so that recall in transition means 0.3 to 0.85. With an MLP no activation has more than six cells of a quota,
and attention in transition is left to the attention-only cells.

The quotas leave terms of the predicted noise idle: left out, they move no cell by a margin. The last cells have few
samples a token, and are the proposals that move most of the idle terms.

Earlier grids, whose margins were others, were simulated. This one was not when it was drawn first, with six more cells:
two of attention in transition, which are the dearest, and four with an MLP. Their quotas were cut later, so that a run
takes a minute of processor time; the sequences are the same, and what is left are their first cells.

    python -m validation.draw_verify > recall_theory/verification/shipped_grids/default.toml
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterable, Iterator

import numpy as np
from scipy.stats import qmc

from recall_theory import Prediction, Setting, predict
from recall_theory.settings import OBSERVABLES
from recall_theory.theory.domain import EVEN_PART, mean_share, remarks
from recall_theory.verification.problem import THREE_STEP_RECALL
from validation.false_alarms import means, scaled

FEATURE = {"gelu": 2.3e-8, "erf": 1.2e-8}  # seconds a neuron and sample; the others take a sixth
RIGHT, SURE = 0.99, 0.9999  # attention from which recall in transition is wanted; with an MLP, where it is quick
SLOW_PREDICTION = 0.8  # seconds of a prediction whose attention is not sure, with an MLP
ACTIVATIONS = ("relu", "tanh", "gelu", "identity", "erf")
EACH = 6  # cells of a quota with an activation
SCRAMBLE = 2027


@dataclasses.dataclass(frozen=True)
class Variant:
    """What is drawn of one variant: fixed parameters, ranges (V, L, d, N/V and m), cells of each quota."""

    fixed: dict[str, str | bool]
    low: tuple[float, ...]
    high: tuple[float, ...]
    attention: int  # cells with attention in transition
    recall: int  # with recall in transition
    any: int
    dearest: float  # seconds of one core


ATTENTION_ONLY = (32, 4, 16, 4), (256, 64, 256, 200)
WITH_MLP = (32, 4, 24, 4, 64), (72, 24, 128, 40, 192)
VARIANTS = (
    Variant({}, *ATTENTION_ONLY, 2, 8, 4, 1.0),
    Variant({"embedding": "sphere"}, *ATTENTION_ONLY, 1, 1, 1, 1.0),
    Variant({"trigger_in_value": False}, *ATTENTION_ONLY, 1, 1, 1, 1.0),
    Variant({"embedding": "orthogonal"}, *ATTENTION_ONLY, 0, 2, 1, 1.0),
    Variant({}, *WITH_MLP, 0, 7, 8, 2.0),
)
# Few samples a token, for terms that are idle elsewhere: how many cells, and of what (with no quotas). Orthogonal
# sequences are not longer than the vocabulary, where the law was checked less, and activations are odd: the law's error
# under others is near the margin there, and a cell that nobody can decide tests no term.
FEW_SAMPLES = (
    (1, Variant({}, (16, 4, 8, 1), (96, 64, 64, 8), 0, 0, 0, 2.0)),
    (1, Variant({"embedding": "orthogonal"}, (16, 4, 8, 1), (96, 64, 64, 8), 0, 0, 0, 3.0)),
    (3, Variant({}, (16, 4, 8, 1, 64), (96, 128, 64, 8, 192), 0, 0, 0, 5.0)),
)
PROPOSED = 256  # of which the few are chosen
COUNTS = 1.2  # margins by which a term has to move a cell, left out, to count there


def seconds(s: Setting, attention: float, seeds: int) -> float:
    """What a cell takes on one core, its prediction included, as timed where the grid was drawn."""
    if s.m is None:
        return seeds * (5e-4 + 8e-9 * s.N * s.L + 2e-8 * s.N + 8e-9 * s.V**2 + 8e-8 * s.V * s.d)
    of_neurons = s.N * s.m * (FEATURE.get(s.activation, 3e-9) + 1.6e-10 * s.d) + 7e-10 * s.V * s.m * s.d
    prediction = 0 if attention > SURE else SLOW_PREDICTION
    return prediction + seeds * (1e-3 + 4e-8 * s.V**2 + 4e-8 * s.N * s.L + of_neurons)


def proposals(variant: Variant, scramble: int) -> Iterator[Setting]:
    """Settings in the order of the sequence, without end."""
    sobol = qmc.Sobol(len(variant.low), rng=np.random.default_rng(scramble))
    low, high = np.log(variant.low), np.log(variant.high)
    for number in itertools.count():
        V, L, d, ratio, *m = np.exp(low + (high - low) * sobol.random(1)[0])
        V, d = round(V), round(d)
        if variant.fixed.get("embedding") == "orthogonal":
            d = max(d, V)  # d = V is common, as wanted
        mlp = {"m": round(m[0]), "activation": ACTIVATIONS[number % len(ACTIVATIONS)]} if m else {}
        yield Setting(V=V, L=round(L), d=d, N=round(V * ratio), **mlp, **variant.fixed)


def quota(s: Setting, p: Prediction) -> str:
    """Which quota a setting fits."""
    if 0.2 < p.attention < 0.9:
        return "attention"
    right = RIGHT if s.m is None else SURE
    return "recall" if p.attention >= right and 0.3 < p.recall < 0.85 else "any"


def draw(variant: Variant, scramble: int) -> list[Setting]:
    """The settings of one variant, until every quota is full."""
    chosen: dict[str, list[Setting]] = {"attention": [], "recall": [], "any": []}
    most = {"attention": 3 * variant.dearest, "recall": variant.dearest, "any": variant.dearest}
    left = {name: getattr(variant, name) for name in chosen}
    for s in proposals(variant, scramble):
        if not any(left.values()):
            break
        if seconds(s, 1, 300) > most["attention" if s.m is None else "any"]:  # spares the prediction
            continue
        p = predict(s)
        name = quota(s, p)
        seeds = THREE_STEP_RECALL.planned_seeds(s, p)
        if s.m is not None and sum(c.activation == s.activation for c in chosen[name]) == EACH:
            continue
        if left[name] and seconds(s, p.attention, seeds) < most[name]:
            left[name] -= 1
            chosen[name].append(s)
    return list(itertools.chain(*chosen.values()))


def counting(s: Setting, p: Prediction) -> set[tuple[str, str]]:
    """The terms that count at a setting: left out, they move an observable by more than its margin."""
    found = set()
    for step, terms in p.terms.items():
        for term in terms:
            without = scaled(step, term, 0)(s, p)
            margins = THREE_STEP_RECALL.margins(s, dict(zip(OBSERVABLES, without, strict=True))).values()
            if any(abs(x - y) > COUNTS * m for x, y, m in zip(without, means(p), margins, strict=True)):
                found.add((step, term))
    return found


def covering(variant: Variant, scramble: int, cells: int, chosen: Iterable[Setting]) -> list[Setting]:
    """The proposals, one after the other, at which most terms count that do not yet; of equals the quickest."""
    counted = set().union(*(counting(s, predict(s)) for s in chosen))
    offered = []
    for s in itertools.islice(proposals(variant, scramble), PROPOSED):
        is_long = s.embedding == "orthogonal" and s.L > s.V
        is_odd = s.activation is None or mean_share(s.activation) < EVEN_PART
        if is_odd and not (is_long or remarks(s)):
            p = predict(s)
            cost = seconds(s, p.attention, THREE_STEP_RECALL.planned_seeds(s, p))
            if cost < variant.dearest:
                offered.append((s, counting(s, p), cost))
    best = []
    for _ in range(cells):
        s, terms, _ = max(offered, key=lambda o: (len(o[1] - counted), -o[2]))
        counted |= terms
        best.append(s)
    return best


def main() -> None:
    print("# The default grid, drawn by validation/draw_verify.py before anything was simulated.")
    grid = [s for number, variant in enumerate(VARIANTS) for s in draw(variant, SCRAMBLE + number)]
    for number, (cells, variant) in enumerate(FEW_SAMPLES, start=len(VARIANTS)):
        example = next(proposals(variant, 0))
        alike = [s for s in grid if (s.m is None, s.embedding) == (example.m is None, example.embedding)]
        grid += covering(variant, SCRAMBLE + number, cells, alike)
    for s in grid:
        print("\n[[cell]]")
        for name, parameter in Setting.parameters.items():
            if (value := getattr(s, name)) != parameter.default:
                print(f"{name} = {json.dumps(value)}")


if __name__ == "__main__":
    main()
