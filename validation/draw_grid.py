"""Draw the "full" grid, that of the truth check, before anything is simulated.

A space-filling rule (a scrambled Sobol sequence with a fixed scramble, even in the logarithm of V, L, d and N/V)
proposes settings. Each goes to the first quota that it fits and that is not full: attention in transition, V <
2d, recall in transition (where attention is right), anything. Quotas look at predictions, never at a
simulation. Settings too dear for a laptop are passed over: what counts is the number of tokens times the seeds
that the predicted spread asks for.

Quotas looked at the predictions of that day. With today's, one of the 103 settings comes out another: the grid stays as
it was drawn and simulated.

    python -m validation.draw_grid > recall_theory/verification/shipped_grids/full.toml
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from scipy.stats import qmc

from recall_theory import Setting, predict
from recall_theory.theory.orthogonal.orthogonal_law import orthogonal_prediction
from recall_theory.theory.seed import attention, attention_std

SE = 0.01 / 1.15  # aimed at, so that the standard error stays under 0.01
FEWEST, FEWEST_SPREAD = 64, 128  # seeds a cell; more where the spread itself is judged

RIGHT = 0.99  # attention from which recall is worth predicting for a quota
USUAL_SPREAD = 0.1  # of recall, where it has not been predicted


@dataclasses.dataclass(frozen=True)
class Guess:
    """What a quota may look at: predicted attention, recall where attention is right, the widest spread."""

    attention: float
    recall: float | None
    spread: float


def guess(s: Setting) -> Guess:
    if s.embedding == "orthogonal":
        found = orthogonal_prediction(s.V, s.L, s.d, s.N, s.trigger_in_value)
        spread = max(found[f"{o}_std"][0] for o in ("attention", "recall", "accuracy"))
        return Guess(found["attention"][0], found["recall"][0], spread)
    sizes = (s.V, s.L, s.d, s.N, s.embedding, s.trigger_in_value)
    mean = attention(*sizes)[0]
    if mean < RIGHT:
        return Guess(mean, None, max(attention_std(*sizes)[0], USUAL_SPREAD))
    p = predict(s)
    return Guess(mean, p.recall, max(p.spread.values()))


Quota = Callable[[Setting, Guess], bool]


def low_attention(s: Setting, p: Guess) -> bool:
    return p.attention < 0.9


def low_vocabulary(s: Setting, p: Guess) -> bool:
    return s.V < 2 * s.d


def transition_recall(s: Setting, p: Guess) -> bool:
    return p.recall is not None and 0.2 < p.recall < 0.8


def anything(s: Setting, p: Guess) -> bool:
    return True


@dataclasses.dataclass(frozen=True)
class Grid:
    """Ranges of (V, L, d, N/V), the dearest cell in flops, and quotas by (embedding, trigger_in_value)."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    dearest: float
    quotas: dict[tuple[str, bool], tuple[tuple[Quota, int], ...]]


def _variant(*numbers: int) -> tuple[tuple[Quota, int], ...]:
    return tuple(zip((low_attention, transition_recall, anything), numbers, strict=True))


FULL = Grid((64, 4, 16, 2), (2048, 256, 512, 1000), 3e9, {
    ("gaussian", True): ((low_attention, 17), (low_vocabulary, 16), (transition_recall, 16), (anything, 15)),
    ("sphere", True): _variant(4, 4, 3),
    ("gaussian", False): _variant(4, 4, 3),
    ("orthogonal", True): _variant(4, 4, 3),
    ("sphere", False): _variant(1, 1, 1),
    ("orthogonal", False): _variant(1, 1, 1),
})


def seeds_for(p: Guess) -> int:
    """Seeds that bring every standard error under 0.01, and enough to judge the spread."""
    least = FEWEST_SPREAD if p.spread > 0.01 else FEWEST
    return max(least, int(np.ceil((1.1 * p.spread / SE) ** 2)))


def cost(s: Setting, seeds: int) -> float:
    """Gathers, at some six flops each, and the matrix products, of all seeds of a cell."""
    return seeds * (6.0 * s.N * s.L + 0.6 * s.V**2 * s.d + 4e5)


def draw(grid: Grid, embedding: str, trigger_in_value: bool, quotas: tuple[tuple[Quota, int], ...],
         scramble: int) -> list[Setting]:
    """Settings of one variant, in the order of the sequence, until every quota is full."""
    points = qmc.Sobol(4, rng=np.random.default_rng(scramble))
    left = [n for _, n in quotas]
    chosen: list[Setting] = []
    low, high = np.log(grid.low), np.log(grid.high)
    while sum(left):
        for u in points.random(64):
            V, L, d, ratio = np.exp(low + u * (high - low))
            V = round(V)
            if embedding == "orthogonal":
                V, d = min(V, 512), max(d, min(V, 512))  # d = V is common, as wanted
            s = Setting(V=V, L=round(L), d=round(d), N=round(ratio * V), embedding=embedding,
                        trigger_in_value=trigger_in_value)
            if cost(s, FEWEST) >= grid.dearest:
                continue
            p = guess(s)
            for i, (fits, _) in enumerate(quotas):
                if left[i] and fits(s, p):
                    if cost(s, seeds_for(p)) < grid.dearest:
                        left[i] -= 1
                        chosen.append(s)
                    break
    return chosen


def main() -> None:
    print("# The full grid, drawn by validation/draw_grid.py before anything was simulated.")
    for number, ((embedding, trigger), quotas) in enumerate(FULL.quotas.items()):
        for s in draw(FULL, embedding, trigger, quotas, scramble=2026 + number):
            print(f"\n[[cell]]\nV = {s.V}\nL = {s.L}\nd = {s.d}\nN = {s.N}")
            if embedding != "gaussian":
                print(f'embedding = "{embedding}"')
            if not trigger:
                print("trigger_in_value = false")


if __name__ == "__main__":
    main()
