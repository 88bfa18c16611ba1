"""Draw the default grid of `verify`, before any of it is simulated.

For each variant a Sobol sequence with a fixed scramble, even in the logarithm of V, L, d, N/V (and m), proposes
settings. Each goes to the first quota that it fits and that is not full: attention in transition, recall in transition
(where attention is right), anything. Quotas look at predictions, never at a simulation. Cells whose first stage would
take too many seconds of one core are passed over; with attention in transition seeds differ much, and a cell may take
twice as long. With an MLP no activation has more than six cells, and attention in transition is passed over (and the
quadratic activation, whose attention is nowhere right at these sizes): the Attention-only cells show that.

Two earlier drafts, which allowed a cell more seconds, were simulated and thrown away because they took too long.

    python -m validation.draw_verify > recall_theory/verification/shipped_grids/default.toml
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterator

import numpy as np
from scipy.stats import qmc

from recall_theory import Prediction, Setting, predict
from recall_theory.settings import OBSERVABLES
from recall_theory.verification.planning import STAGES, planned_seeds, seeds_to_rule_out
from recall_theory.verification.problem import THREE_STEP_RECALL
from recall_theory.verification.verdicts import ATTENTION_ONLY as MARGIN
from recall_theory.verification.verdicts import MLP as MLP_MARGIN
from recall_theory.verification.verdicts import VERDICT_ALPHA, family_confidence

SMOOTH = {"tanh": 15e-9, "erf": 15e-9, "gelu": 25e-9}  # seconds a neuron and sample; the others take a third
RIGHT = 0.99  # attention from which recall in transition is wanted
ACTIVATIONS = ("relu", "tanh", "gelu", "identity", "erf")
EACH = 6  # cells with an activation
SCRAMBLE = 2026
CELLS = 48  # whose number corrects the confidence


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
WITH_MLP = (48, 4, 24, 6, 64), (192, 32, 128, 60, 1024)
VARIANTS = (
    Variant({}, *ATTENTION_ONLY, 4, 7, 5, 1.1),
    Variant({"embedding": "sphere"}, *ATTENTION_ONLY, 1, 1, 1, 1.1),
    Variant({"trigger_in_value": False}, *ATTENTION_ONLY, 1, 1, 1, 1.1),
    Variant({"embedding": "orthogonal"}, *ATTENTION_ONLY, 0, 1, 1, 1.1),
    Variant({}, *WITH_MLP, 0, 10, 14, 1.25),
)


def seconds(s: Setting, seeds: int) -> float:
    """What seeds of a cell take on one core, as timed where the grid was drawn."""
    if s.m is None:
        return seeds * (4e-4 + 5e-9 * s.N * s.L + 1.2e-8 * s.V**2 + 2.5e-8 * s.V * s.d + 3e-10 * s.V**2 * s.d)
    return seeds * (1e-3 + 2e-8 * s.V**2 + s.N * s.m * (SMOOTH.get(s.activation, 6e-9) + 1.6e-10 * s.d))


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
    if 0.2 < p.attention < 0.9:
        return "attention"
    return "recall" if p.attention >= RIGHT and 0.2 < p.recall < 0.8 else "any"


def draw(variant: Variant, scramble: int) -> list[Setting]:
    """The settings of one variant, until every quota is full."""
    confidence = family_confidence(STAGES * len(OBSERVABLES) * CELLS, VERDICT_ALPHA)
    chosen: dict[str, list[Setting]] = {"attention": [], "recall": [], "any": []}
    margin = MARGIN if len(variant.low) == len(ATTENTION_ONLY[0]) else MLP_MARGIN
    most = {"attention": 2 * variant.dearest, "recall": variant.dearest, "any": variant.dearest}
    least = seeds_to_rule_out(margin, confidence)
    left = {name: getattr(variant, name) for name in chosen}
    for s in proposals(variant, scramble):
        if not any(left.values()):
            break
        if sum(c.activation == s.activation for c in itertools.chain(*chosen.values())) == EACH and s.m is not None:
            continue
        if seconds(s, least) > (most["any"] if s.m else most["attention"]):  # spares the prediction
            continue
        p = predict(s)
        name = quota(s, p)
        seeds = planned_seeds(THREE_STEP_RECALL.moments(p).values(), margin, confidence)
        if left[name] and seconds(s, seeds) < most[name]:
            left[name] -= 1
            chosen[name].append(s)
    return list(itertools.chain(*chosen.values()))


def main() -> None:
    print("# The default grid, drawn by validation/draw_verify.py before anything was simulated.")
    for number, variant in enumerate(VARIANTS):
        for s in draw(variant, SCRAMBLE + number):
            given = {name: getattr(s, name) for name in ("V", "L", "d", "N")}
            given |= {} if s.m is None else {"m": s.m, "activation": s.activation}
            print("\n[[cell]]")
            for name, value in (given | variant.fixed).items():
                print(f"{name} = {json.dumps(value)}")


if __name__ == "__main__":
    main()
