"""The formulas of the capacity beside the semi-analytic capacity, along a ladder of sizes up to V = 10^9.

Each rung is inside one branch: sizes are powers of V, the last of them such that the branch's formula gives about V,
and all other branches allow a power of V more. The semi-analytic V is where the prediction crosses the target. With
attention in transition it is computed with more nodes over seeds and scores and with no attention taken for sure, and
with counts no matter how rare, which at such V the default accuracy does not resolve. Nothing is simulated.

    python -m validation.capacity_ladder [--rungs 9] [--out validation/capacity_ladder.json]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

from recall_theory.activations import activation
from recall_theory.theory.accuracy import DEFAULT, Accuracy
from recall_theory.theory.domain import Batch
from recall_theory.theory.formulas.capacity_laws import (
    FINITE,
    MIXED,
    Layer,
    dimension,
    samples,
    vocabulary,
)
from recall_theory.theory.formulas.generic import lambert_w
from recall_theory.theory.formulas.step_two import input_power
from recall_theory.theory.kernel import typical_kernel
from recall_theory.theory.predict import predictions_at
from recall_theory.theory.seed import activation_moments, attention

FINE = dataclasses.replace(DEFAULT, lead_nodes=96, seed_ahead=48, score=30, score_top=9, class_score=64, sure=1e-12,
                           rare=1e-12, last_count=1e-14)
AT_RATES = dataclasses.replace(DEFAULT, logit=48, noise=24)
WITHIN = 100.0  # a ratio beyond which a formula says nothing
MANY = 1e18  # N/V of the limit
Sizes = dict[str, float]


@dataclasses.dataclass(frozen=True)
class Ladder:
    """`sizes` gives d, N, L and m of the rung at V, all but the one that is None, which the branch decides."""

    branch: str
    e: int
    target: float
    sizes: Callable[[float], Sizes]
    phi: str | None = None
    observable: str = "accuracy"
    accuracy: Accuracy = DEFAULT


def power(**exponents: float) -> Callable[[float], Sizes]:
    """Sizes that are powers of V."""
    return lambda V: {name: V**exponent for name, exponent in exponents.items()}


def limit(**exponents: float) -> Callable[[float], Sizes]:
    """The same in the limit of many samples, with sequences of 16 tokens."""
    return lambda V: {"N": MANY * V, "L": 16.0} | {name: V**exponent for name, exponent in exponents.items()}


LADDERS = (
    *(Ladder("interference", e, target, limit()) for e in (1, 0) for target in (0.9, 0.99)),
    *(Ladder("mean bias", 1, target, lambda V: {"d": V**0.75, "L": 16.0}) for target in (0.9, 0.99)),
    Ladder("coverage", 0, 0.9, lambda V: {"d": V**0.9, "L": 4.0}),
    Ladder("counts", 1, 0.9, lambda V: {"d": V**1.25, "L": 4.0}, accuracy=FINE),
    *(Ladder("mean embedding", 0, target, power(d=0.7, L=0.875), observable="attention")
      for target in (0.5, 0.9)),
    Ladder("noise tokens", 0, 0.9, power(d=0.3, L=0.5), observable="attention"),
    Ladder("MLP noise", 1, 0.9, limit(d=0.75), phi="relu"),
    Ladder("interference", 1, 0.9, limit(m=0.8), phi="relu"),
    Ladder("MLP mean", 0, 0.9, power(d=0.9, N=1.2, L=0.9), phi="relu", observable="attention"),
    Ladder("noise tokens", 0, 0.9, power(d=0.3, L=0.5, m=2), phi="relu", observable="attention"),
    Ladder("MLP mean", 0, 0.9, power(d=0.7, L=0.8, m=0.3), phi="tanh", observable="attention"),
    Ladder("MLP neurons", 0, 0.9, power(d=0.33, L=0.5, m=0.15), phi="tanh", observable="attention"),
    *(Ladder(branch, 0, target, lambda V, c=c: {"N": MANY * V, "L": V**c, "d": V**0.75},
             accuracy=AT_RATES)
      for branch, c in ((MIXED, 1 / 3), (FINITE, 0.6)) for target in (0.5, 0.9)),
    Ladder("uneven attention", 1, 0.9, power(d=0.7, L=1.15), accuracy=FINE),
)


def layer(ladder: Ladder, V: float, sizes: Sizes) -> Layer:
    """The arguments of the formulas; None where a size is sought."""
    moments: dict[str, float] = {}
    if ladder.phi is not None:
        phi = activation(ladder.phi)
        found = activation_moments(phi, input_power(V, sizes["L"], ladder.e))
        kernel = typical_kernel(phi, np.array(sizes.get("d", math.sqrt(V))), ladder.e)
        d = sizes.get("d", math.sqrt(V))
        moments = {name: float(found[name]) for name in ("A", "B", "h0", "h1", "P0", "P2")}
        moments |= {"k1": float(kernel.own), "k0": float(kernel.mean), "kv": float(kernel.variance) * d,
                    "kz": float(kernel.noise), "m": sizes.get("m", 1.0)}
    return Layer(V=V, d=sizes.get("d"), N=sizes.get("N"), L=sizes["L"], e=ladder.e, target=ladder.target,
                 beta=sizes.get("beta"), **moments)


def rung(ladder: Ladder, V: float) -> Sizes:
    """The sizes at which the branch's formula for the missing size gives V."""
    sizes = ladder.sizes(V)
    p = layer(ladder, V, sizes)
    if "N" not in sizes:
        sizes["N"] = float(samples(p)[ladder.branch])
    elif "d" not in sizes:
        sizes["d"] = float(dimension(p)[ladder.branch])
    elif ladder.branch in (FINITE, MIXED):
        sizes["beta"] = math.exp(brentq(lambda u: math.log(float(dataclasses.replace(p, beta=math.exp(u)).at_rates()[
            ladder.branch]) / V), 0, 200))
    elif ladder.phi is not None and "m" not in sizes:  # of V as a function of m, a power: 1 in recall, 1/2 in attention
        u = brentq(lambda u: math.log(float(vocabulary(dataclasses.replace(p, m=math.exp(u)))[ladder.branch])
                                               / V), 3, 60)
        sizes["m"] = math.exp(u)
    return sizes


def crossing(ladder: Ladder, sizes: Sizes, V: float) -> float | None:
    """The V at which the prediction crosses the target, from above; None where it reaches it within a factor of
    `WITHIN` nowhere."""
    def logit(y: float) -> float:
        at = Batch.of(**(sizes | {"V": math.exp(y)}), phi=ladder.phi, trigger_in_value=bool(ladder.e))
        if ladder.observable == "attention":
            value = attention(at)[0]
        else:
            value = predictions_at(at, ladder.accuracy).accuracy[0]
        p = min(max(float(value), 1e-15), 1 - 1e-15)
        return math.log(p / (1 - p)) - math.log(ladder.target / (1 - ladder.target))

    low, high = math.log(V) - 0.2, math.log(V) + 0.2
    while logit(low) < 0:
        low -= 0.4
        if low < math.log(max(V / WITHIN, 2)):
            return None
    while logit(high) > 0:
        high += 0.4
        if high > math.log(V * WITHIN):
            return None
    return math.exp(brentq(logit, low, high, xtol=1e-3))


def leading(ladder: Ladder, sizes: Sizes, V: float) -> float | None:
    """The leading law of the branch, 2 ln(competitors) in place of the lead's square; None where it has another form.
    """
    p = layer(ladder, V, sizes)
    d, N, L = sizes["d"], sizes["N"], sizes["L"]
    y = 2 * math.log(min(L, V))
    if ladder.branch in ("interference", "MLP noise"):
        x = d**2 / p.overlap if ladder.branch == "interference" else d / p.neurons
        return float(x / 2 / lambert_w(x / 2))
    if ladder.phi is not None and ladder.branch in p.by_width:
        return N * d / L**2 / math.sqrt(y * p.by_width[ladder.branch])
    return {"mean bias": lambda: math.sqrt(N * d / float(lambert_w(N * d))),
            "coverage": lambda: float(N / lambert_w(N)),
            "mean embedding": lambda: N**2 * d**3 / L**4 / y,
            "uneven attention": lambda: N**2 * d**3 / L**4 / y,
            "noise tokens": lambda: p.stored * N * d**2 / math.sqrt(L**3 * y)}.get(ladder.branch, lambda: None)()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rungs", type=int, default=9, help="the largest power of ten")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "capacity_ladder.json")
    options = parser.parse_args()
    rows = json.loads(options.out.read_text()) if options.out.exists() else []  # what is there is not computed again
    known = {(row["branch"], row["phi"], row["e"], row["target"]) for row in rows}
    for ladder in LADDERS:
        if (ladder.branch, ladder.phi, ladder.e, ladder.target) in known:
            continue
        for exponent in range(3, options.rungs + 1) if ladder.accuracy != FINE else (4, 6, 8, options.rungs):
            sizes = rung(ladder, 10.0**exponent)
            V = float(vocabulary(layer(ladder, 10.0**exponent, sizes))[ladder.branch])
            if not 2 <= V < math.inf:
                continue
            semi = crossing(ladder, sizes, V)
            if semi is None:
                print(ladder.branch, ladder.phi, ladder.e, ladder.target, f"10^{exponent}: no V near", flush=True)
                continue
            first = leading(ladder, sizes, V)
            rows.append({"branch": ladder.branch, "phi": ladder.phi, "e": ladder.e, "target": ladder.target,
                         "observable": ladder.observable, "sizes": sizes, "formula": V, "semi_analytic": semi,
                         "ratio": V / semi, "leading": None if first is None else first / semi})
            print(ladder.branch, ladder.phi, ladder.e, ladder.target, f"10^{exponent}", f"{V / semi:.4f}",
                  rows[-1]["leading"], flush=True)
            options.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
