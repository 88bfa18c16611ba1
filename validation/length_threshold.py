"""From which length on attention fails: the formula beside the prediction up to V = 10^9, and beside simulation.

Keys only, 1.5 times the d that interference asks for and 1.5 times the N of coverage, accuracy 0.9. The slope is that
of ln L over ln V between neighbouring rungs. The simulated lengths are a half, one and twice the predicted one.

    python -m validation.length_threshold [--out validation/length_threshold.json]
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

from scipy.optimize import brentq

from recall_theory import Setting, simulate
from recall_theory.theory.capacity_branches import branches
from recall_theory.theory.domain import Batch
from recall_theory.theory.seed import attention

TARGET, MORE = 0.9, 1.5
V_SIMULATED, SEEDS, SEED = 512, 48, 20261122


def sizes(V: float) -> dict[str, float]:
    """d and N at V."""
    d = MORE * float(branches("d", V=V, N=1e6 * V, L=16.0, e=0, target=TARGET)["interference"])
    return {"V": V, "d": d, "N": MORE * float(branches("N", V=V, d=d, L=16.0, e=0, target=TARGET)["coverage"])}


def crossing(at: dict[str, float]) -> float:
    """The L at which predicted attention crosses the target."""
    def miss(u: float) -> float:
        return float(attention(Batch.of(at["V"], math.exp(u), at["d"], at["N"], trigger_in_value=False))[0]) - TARGET

    return math.exp(brentq(miss, math.log(2), math.log(100 * at["V"]), xtol=1e-6))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "length_threshold.json")
    options = parser.parse_args()
    ladder: list[dict[str, float | None]] = []
    for exponent in range(3, 10):
        at = sizes(10.0**exponent)
        formula = min(float(x) for x in branches("L", **at, e=0, target=TARGET).values())
        predicted = crossing(at)
        before = ladder[-1]["predicted"] if ladder else None
        ladder.append({"V": at["V"], "d": at["d"], "N": at["N"], "formula": formula, "predicted": predicted,
                       "c_formula": math.log(formula) / math.log(at["V"]),
                       "c_predicted": math.log(predicted) / math.log(at["V"]),
                       "slope": None if before is None else math.log10(predicted / before)})
    at = sizes(float(V_SIMULATED))
    d, N = round(at["d"]), round(at["N"])
    points = []
    for share in (0.5, 1, 2):
        L = round(share * crossing(at))
        seen = simulate(Setting(V=V_SIMULATED, L=L, d=d, N=N, trigger_in_value=False), seeds=SEEDS, seed=SEED)
        points.append({"L": L, "observed": float(seen.attention.mean), "se": float(seen.attention.se or 0),
                       "predicted": float(attention(Batch.of(V_SIMULATED, L, d, N, trigger_in_value=False))[0])})
        print(points[-1], flush=True)
    found = {"ladder": ladder, "simulated": {"V": V_SIMULATED, "d": d, "N": N, "seeds": SEEDS, "seed": SEED,
                                             "points": points}}
    options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
