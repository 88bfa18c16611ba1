"""How many facts does a layer store? `capacity` answers in full, `solve_for` inverts for any one size.

Accuracy is not monotone in V: at a fixed number of samples a fact, attention rises with V, and chance is
1/V. So the largest V is searched from above, and the lower end of its interval is reported too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..setting import PARAMETERS, Setting, SettingError
from . import bounds, laws
from .attention import law as attention_law
from .bounds import bits_bound
from .bounds.at import most_facts_from_samples, most_facts_on_average
from .forced_choice import forced_choice
from .orthogonal.law import orthogonal_prediction
from .predict import OBSERVABLES, FloatArray, Prediction, Predictions, predict_many
from .recall.law import recall_terms
from .seek import Values, seek, together
from .solve import Interval, grid, intervals

RATIOS: tuple[float | None, ...] = (4, 16, 64, 256, None)  # N/V; None is the limit N -> infinity
LIMIT_RATIO = 10**9  # stands for infinity: every term that N divides is negligible at this N/V
BITS = 16  # bits a parameter
COARSE = 8  # points a decade where a crossing is looked for
LUCK = 2  # attention may miss so many times what accuracy may: a wrong pick is right by luck at most half the time
NEIGHBOURS = (4, 6, 11, 16)  # eighths of V at which the spread over seeds is looked at, to both sides

SizesAt = Callable[[list[tuple[int, int]]], dict[str, Any]]  # V, L, d, N of (budget, V)


@dataclasses.dataclass(frozen=True)
class Row:
    """The capacity at one sample budget: N/V = ratio (None: the limit), or N samples in all."""

    ratio: float | None
    N: int | None
    V: int | None
    V_from: int | None  # about the least V of the interval that V ends
    V_seeds: tuple[int | None, int | None] | None  # about the V of a seed one standard deviation down, up
    accuracy: float | None
    recall: float | None
    attention: float | None
    std: dict[str, float] | None
    limited_by: str
    facts_per_parameter: float | None
    bits_per_parameter: float | None
    coverage_bound: float | None
    coverage_V: int | None  # the largest V that any learner could reach the target at, from the same samples
    longest_L: int | None  # up to which attention still reaches the target, at this V and N; None: any
    best_accuracy: float
    best_V: int


@dataclasses.dataclass(frozen=True)
class Capacity:
    """What `recall-theory capacity` prints: a row a budget, the laws' values and the bounds."""

    setting: dict[str, Any]
    target: float
    rows: tuple[Row, ...]
    laws: dict[str, float]
    bounds: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory capacity`."""
        return {"schema_version": 1, **dataclasses.asdict(self)}


def limiting_term(prediction: Prediction) -> str:
    """The largest noise term of the step that falls shorter: attention or recall."""
    step = "attention" if 1 - prediction.attention > 1 - prediction.recall else "recall"
    if step == "recall" and np.exp(-prediction.setting.ratio) > (1 - prediction.recall) / 2:
        return "recall: facts never seen"
    terms = prediction.terms[step]
    return f"{step}: {max(terms, key=lambda name: terms[name])}"


def solve_for(unknown: str, target: float = 0.99, observable: str = "accuracy", *,
              ratio: float | None = None, embedding: str = "gaussian", trigger_in_value: bool = True,
              **sizes: float) -> Interval | None:
    """The largest V or L, or the least N or d, at which a predicted observable reaches the target.

    `sizes` fixes the other three of V, L, d, N; for the unknown V give N or `ratio` = N/V. Returns the
    whole interval of the unknown on which the target is reached (the highest one for V and L, the lowest
    for N and d), or None where there is none.

    Raises `SettingError` for a value outside its domain and for a missing or superfluous size.

    >>> found = solve_for("N", 0.5, V=256, L=16, d=128)
    >>> found.low < 256 * 100
    True
    """
    check_target(target)
    if observable not in OBSERVABLES:
        raise SettingError("observable", f"observable={observable!r} is not one of {', '.join(OBSERVABLES)}")
    needed = {"V", "L", "d", "N"} - {unknown} - ({"N"} if ratio is not None else set())
    if unknown not in ("V", "L", "d", "N") or (ratio is not None and unknown == "N"):
        raise SettingError("unknown", f"unknown={unknown!r} is not one of V, L, d, N"
                           + (" (and N is given by the ratio)" if unknown == "N" else ""))
    if set(sizes) != needed:
        raise SettingError("sizes", f"to solve for {unknown} give {', '.join(sorted(needed))}, not "
                           f"{', '.join(sorted(sizes)) or 'nothing'}")
    fixed = {name: float(PARAMETERS[name].check(value)) for name, value in sizes.items()}

    low, high = _search_range(unknown, fixed, target, embedding, trigger_in_value)
    if low > high:
        return None
    points, highest = grid(low, high, COARSE), unknown in ("V", "L")

    def sizes_at(x: FloatArray) -> dict[str, Any]:
        return _sizes(unknown, x, fixed, ratio)

    if observable == "attention":  # cheap enough to look everywhere
        found = intervals(lambda x: _attention(**sizes_at(x), embedding=embedding,
                                               trigger_in_value=trigger_in_value), target, points)
        return None if not found else found[-1 if highest else 0]
    known: Values = {}

    def evaluate(wanted: list[tuple[None, int]]) -> None:
        x = np.array([v for _, v in wanted], dtype=float)
        many = predict_many(**sizes_at(x), embedding=embedding, trigger_in_value=trigger_in_value)
        known.update(zip((v for _, v in wanted), getattr(many, observable).tolist(), strict=True))

    guess = _estimate(**sizes_at(points), embedding=embedding, trigger_in_value=trigger_in_value)
    worth = _bearable(guess["attention"], target) if observable == "accuracy" else None
    search = seek(points, guess[observable], target, known, highest, worth)
    return together({None: search}, {None: known}, evaluate)[None]


def check_target(target: float) -> None:
    """Raise `SettingError` unless target is a number strictly between 0 and 1."""
    if not 0 < target < 1:
        raise SettingError("target", f"target={target!r} is not a number above 0 and below 1")


def _sizes(unknown: str, x: FloatArray, fixed: dict[str, float], ratio: float | None) -> dict[str, Any]:
    """V, L, d and N along the values x of one of them, as arrays of the shape of x."""
    sizes: dict[str, Any] = {name: np.full(x.shape, size) for name, size in fixed.items()} | {unknown: x}
    if ratio is not None:
        sizes["N"] = np.clip(np.rint(ratio * sizes["V"]), 1, PARAMETERS["N"].high)
    return sizes


def _attention(V: FloatArray, L: FloatArray, d: FloatArray, N: FloatArray, embedding: str,
               trigger_in_value: bool) -> FloatArray:
    """Predicted attention alone: a small part of what a whole prediction costs."""
    if embedding == "orthogonal":
        return np.asarray(orthogonal_prediction(V, L, d, N, trigger_in_value)["attention"])
    mean = attention_law.attention(V, np.maximum(L, 2), d, N, embedding, trigger_in_value)
    return np.where(L > 1, mean, 1)


def _estimate(V: FloatArray, L: FloatArray, d: FloatArray, N: FloatArray, embedding: str,
              trigger_in_value: bool) -> dict[str, FloatArray]:
    """Attention, and a quick guess of recall and accuracy for a search to start from: the terms as Gaussian
    noise."""
    if embedding == "orthogonal":
        return orthogonal_prediction(V, L, d, N, trigger_in_value)
    noise = sum(recall_terms(V, L, d, N, embedding, trigger_in_value).values())
    recall = forced_choice(1 / np.sqrt(noise), V) * -np.expm1(-N / V)
    attention = _attention(V, L, d, N, embedding, trigger_in_value)
    return {"attention": attention, "recall": recall, "accuracy": recall * attention}


def _bearable(attention: FloatArray, target: float) -> NDArray[np.bool_]:
    """Where accuracy can reach the target at all: what attention misses is answered right by luck only."""
    return (1 - attention) <= LUCK * (1 - target)


def _search_range(unknown: str, fixed: dict[str, float], target: float, embedding: str,
                  trigger_in_value: bool) -> tuple[float, float]:
    """Where the unknown can lie. Above it V is beyond what interference leaves at any N."""
    low, high = PARAMETERS[unknown].low, PARAMETERS[unknown].high
    if unknown == "V":
        if embedding == "orthogonal":
            high = fixed["d"]
        else:
            law = laws.recall_interference(d=fixed["d"], e=0, tau=1)
            high = min(high, max(64.0, 8 * float(law), 8 / target))
    elif unknown == "d" and embedding == "orthogonal":
        low = fixed["V"]
    elif unknown == "d":
        high = min(high, 1e6)
    elif unknown == "L":
        high = min(high, 1e7)
    return low, high


def capacity(d: int, L: int, *, ratios: tuple[float | None, ...] = RATIOS, N: int | None = None,
             target: float = 0.99, embedding: str = "gaussian", trigger_in_value: bool = True,
             bits: float = BITS) -> Capacity:
    """The largest V whose predicted accuracy reaches `target`, for each sample budget.

    Budgets are N/V in `ratios` (None is the limit N -> infinity), or N samples in all where N is given.
    Raises `SettingError` for values outside their domains.

    >>> answer = capacity(d=64, L=16, ratios=(None,), target=0.9)
    >>> 50 < answer.rows[0].V < 80
    True
    """
    d, L = PARAMETERS["d"].check(d), PARAMETERS["L"].check(L)
    N = None if N is None else PARAMETERS["N"].check(N)
    check_target(target)
    for r in ratios:
        if r is not None and not (np.isfinite(r) and 0 < r <= LIMIT_RATIO):
            raise SettingError("ratio", f"ratio={r!r} is not a number above 0 and at most {LIMIT_RATIO:g}")
    if not 0 < bits <= 1024:
        raise SettingError("bits", f"bits={bits!r} is not a number above 0 and at most 1024")
    if embedding == "orthogonal" and d < PARAMETERS["V"].low:
        raise SettingError("d", f"d={d} is too small: orthogonal embeddings need d of at least V, and V is at "
                           f"least {PARAMETERS['V'].low:g}")
    budgets: tuple[float | None, ...] = ratios if N is None else (None,)
    rows = _rows(d, L, budgets, N, target, embedding, trigger_in_value)
    parameters = d * d + d
    e = int(trigger_in_value)
    return Capacity(
        setting={"d": d, "L": L, "N": N, "m": None, "activation": None, "embedding": embedding,
                 "trigger_in_value": trigger_in_value},
        target=target,
        rows=rows,
        laws={
            "interference: V": float(laws.recall_interference(d=float(d), e=e, tau=1)),
            "trigger overlap: longest L": float(np.exp(min(d / 2, 700))),
        },
        bounds={
            "bits": {"parameters": parameters, "bits_per_parameter": bits,
                     "V": bits_bound(parameters, bits),
                     "V_at_target": most_facts_on_average(parameters, bits, target)},
            "orthogonal": {"V": d},
            "best_linear_memory": {"V": float(laws.recall_interference(d=float(d), e=0, tau=1))},
        },
    )


def _rows(d: int, L: int, budgets: tuple[float | None, ...], N: int | None, target: float, embedding: str,
          trigger_in_value: bool) -> tuple[Row, ...]:
    """A row a budget; their searches run side by side and share vectorised predictions."""
    fixed = {"d": float(d), "L": float(L)} | ({} if N is None else {"N": float(N)})
    ratios = [None if N is not None else LIMIT_RATIO if r is None else r for r in budgets]
    how: dict[str, Any] = {"embedding": embedding, "trigger_in_value": trigger_in_value}
    low, high = _search_range("V", fixed, target, embedding, trigger_in_value)
    points = grid(low, high, COARSE)
    known: dict[int, Values] = {i: {} for i in range(len(budgets))}
    seen: dict[tuple[int, int], tuple[Predictions, int]] = {}  # (budget, V) -> where its prediction is

    def sizes_at(wanted: list[tuple[int, int]]) -> dict[str, Any]:
        parts = [_sizes("V", np.array([float(v)]), fixed, ratios[i]) for i, v in wanted]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def evaluate(wanted: list[tuple[int, int]]) -> None:
        many = predict_many(**sizes_at(wanted), **how)
        for place, (i, v) in enumerate(wanted):
            known[i][v] = float(many.accuracy[place])
            seen[i, v] = many, place

    everywhere = [(i, int(v)) for i in known for v in points]
    guess = _estimate(**sizes_at(everywhere), **how)
    accuracy, attention = (guess[o].reshape(len(budgets), -1) for o in ("accuracy", "attention"))
    worth = _bearable(attention, target)
    found = together({i: seek(points, accuracy[i], target, known[i], True, worth[i], both_ends=False)
                      for i in known}, known, evaluate)
    # The neighbourhood of each V, for what a lucky or unlucky seed reaches.
    around = {(i, min(max(top.high * n // 8, int(low)), int(high))): None for i, top in found.items()
              if top is not None for n in NEIGHBOURS}
    lucky = _bearable(_attention(**sizes_at(list(around)), **how), target) if around else ()
    if wanted := [at for at, worth_it in zip(around, lucky, strict=True) if worth_it and at not in seen]:
        evaluate(wanted)
    start = _starts(points, attention, known, found, target, sizes_at, how)
    longest = _longest(d, found, sizes_at, target, how)
    rows = []
    for i, r in enumerate(budgets):
        best, top = max(known[i], key=lambda v: known[i][v]), found[i]
        V = best if top is None else top.high
        sizes: dict[str, Any] = {name: int(x[0]) for name, x in sizes_at([(i, V)]).items()}
        at = _one(*seen[i, V], Setting(**sizes, **how))
        spread = {v: float(seen[i, v][0].spread["accuracy"][seen[i, v][1]]) for v in known[i]}
        rows.append(_row(r, N, at, None if top is None else (start[i], longest[i]), best, known[i], spread,
                         target))
    return tuple(rows)


def _starts(points: FloatArray, attention: FloatArray, known: dict[int, Values],
            found: dict[int, Interval | None], target: float, sizes_at: SizesAt,
            how: dict[str, Any]) -> dict[int, int]:
    """About the least V of each budget's interval. There attention decides, which is quick to compute; recall
    is taken from the least V that was looked at."""
    searches, values = {}, {}
    for i, top in found.items():
        if top is None:
            continue
        least = min(v for v in known[i] if known[i][v] >= target)
        below = points <= least
        at_least = float(_attention(**sizes_at([(i, least)]), **how)[0])
        share = min(1.0, max(target, known[i][least] / at_least)) if at_least > 0 else 1.0
        values[i] = {int(v): float(a) * share for v, a in zip(points[below], attention[i][below], strict=True)}
        values[i][least] = known[i][least]
        grid_below = np.append(points[points < least], least)
        guess = np.array([values[i][int(v)] for v in grid_below])
        searches[i] = seek(grid_below, guess, target, values[i], highest=True), share

    def evaluate(wanted: list[tuple[int, int]]) -> None:
        for (i, v), a in zip(wanted, _attention(**sizes_at(wanted), **how).tolist(), strict=True):
            values[i][v] = a * searches[i][1]

    low = together({i: s for i, (s, _) in searches.items()}, values, evaluate)
    return {i: top.low for i, top in low.items() if top is not None}


def _longest(d: int, found: dict[int, Interval | None], sizes_at: SizesAt, target: float,
             how: dict[str, Any]) -> dict[int, int | None]:
    """The longest L at which attention reaches the target, at each budget's V and N; None: any."""
    low, high = _search_range("L", {"d": float(d)}, target, **how)
    points = grid(low, high, 2)
    tops = {i: sizes_at([(i, top.high)]) for i, top in found.items() if top is not None}
    known: dict[int, Values] = {i: {} for i in tops}

    def evaluate(wanted: list[tuple[int, int]]) -> None:
        sizes: dict[str, Any] = {name: np.concatenate([tops[i][name] for i, _ in wanted]) for name in ("V", "d", "N")}
        lengths = np.array([v for _, v in wanted], dtype=float)
        for (i, v), a in zip(wanted, _attention(L=lengths, **sizes, **how).tolist(), strict=True):
            known[i][v] = a

    falling = np.linspace(1, 0, len(points))  # attention falls with L: start anywhere
    found_L = together({i: seek(points, falling, target, known[i], highest=True, both_ends=False) for i in tops},
                       known, evaluate)
    return {i: None if top is None or not top.bounded else top.high for i, top in found_L.items()}


def _one(many: Predictions, i: int, setting: Setting) -> Prediction:
    """The prediction at place i of an array of them."""
    return Prediction(setting, attention=float(many.attention[i]), recall=float(many.recall[i]),
                      accuracy=float(many.accuracy[i]), std={o: float(x[i]) for o, x in many.std.items()},
                      spread={o: float(x[i]) for o, x in many.spread.items()},
                      terms={k: {n: float(x[i]) for n, x in v.items()} for k, v in many.terms.items()})


def _row(ratio: float | None, N: int | None, at: Prediction, ends: tuple[int, int | None] | None, best: int,
         known: Values, spread: Values, target: float) -> Row:
    """The row of one budget, from what its search found: `at` is the prediction at its V, `ends` are the
    least V and the longest L, None where no V reaches the target."""
    setting = at.setting
    V, d, samples = setting.V, setting.d, setting.N
    common: dict[str, Any] = {"ratio": ratio if N is None else samples / V, "limited_by": limiting_term(at),
                              "best_accuracy": known[best], "best_V": best}
    if ends is None:
        nothing: dict[str, Any] = dict.fromkeys(("V", "V_from", "V_seeds", "accuracy", "recall", "attention", "std",
                                 "facts_per_parameter", "bits_per_parameter", "coverage_bound", "coverage_V",
                                 "longest_L"))
        return Row(N=N, **common, **nothing)
    return Row(
        N=None if (ratio is None and N is None) else samples,
        V=V, V_from=ends[0],
        V_seeds=(_reached(-1, V, known, spread, target), _reached(1, V, known, spread, target)),
        accuracy=at.accuracy, recall=at.recall, attention=at.attention, std=at.std,
        facts_per_parameter=V / d**2,
        bits_per_parameter=float(bounds.permutation_bits(V=float(V))) / d**2,
        coverage_bound=float(bounds.coverage(V=float(V), N=float(samples))),
        coverage_V=None if (ratio is None and N is None) else most_facts_from_samples(samples, target),
        longest_L=ends[1],
        **common,
    )


def _reached(deviations: int, V: int, known: Values, spread: Values, target: float) -> int | None:
    """About the largest V at which a seed so many standard deviations from the mean reaches the target.

    A straight line in ln V between the predictions that the search for V has made, or beyond the last of
    them along the last two; None where no V reaches it.
    """
    x = np.array(sorted(v for v in known if (v <= V) == (deviations < 0) or v == V), dtype=float)
    lead = np.array([known[int(v)] + deviations * spread[int(v)] - target for v in x])
    reached = np.flatnonzero(lead >= 0)
    if not reached.size:
        return None
    i = int(reached[-1])
    if i == len(x) - 1:
        i = max(i - 1, 0)
        if deviations < 0 or len(x) == 1 or lead[i + 1] >= lead[i]:
            return int(x[-1])
    share = lead[i] / (lead[i] - lead[i + 1])
    return max(1, round(float(x[i] * (x[i + 1] / x[i]) ** share)))
