"""How many facts does a layer store?

Accuracy is not monotone in V: at a fixed number of samples a fact, attention rises with V, and chance is
1/V. So the largest V is searched from above, and the lower end of its interval is reported too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..numerics.plain_data import SCHEMA_VERSION
from ..numerics.thresholds import FAR, Interval, Known, grid, interval_search, rising_search, run_searches
from ..settings import OBSERVABLES, PARAMETERS, SettingError, activation_in_use, check_at_most, check_proportion
from .batch_predictor import Model, Sizes, bearable, samples
from .bounds import most_facts_from_samples, most_facts_on_average
from .domain import remarks_at
from .formulas import leading_laws as laws
from .formulas.lower_bounds import bits_bound, coverage, permutation_bits
from .predict import LAW, FloatArray, Prediction, Predictions
from .solve import COARSE

FEW_FACTS = 16  # a V from which on a capacity is worth a row
MULTIPLES = (1, 4, 16)  # of the least N/V that stores so many: the rows where no budgets are given, beside the limit
MOST_RATIO = 10**9  # N/V of a row, beside the limit
BITS = 16  # bits a parameter
NEIGHBOURS = (4, 6, 11, 16)  # eighths of V at which the spread over seeds is looked at, to both sides

MORE = ("m", "d", "N")  # what can be had more of, for twice the facts
NEARER = 5 / 2  # logits: the same with an MLP, whose predictions cost more
MOST = 64  # times the d that there is: more is not looked at

NO_V = ("V", "V_from", "V_seeds", "accuracy", "recall", "attention", "std", "facts_per_parameter", "bits_per_parameter",
        "coverage_bound", "coverage_V", "longest_L")  # fields of a row without a V

Budget = float | None  # N/V; None is the limit N -> infinity, or N samples in all where N is given


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
    next: dict[str, int | None] | None  # with an MLP: 2 V (or best_V), and about the m, d or N alone that it takes
    longest_L: int | None  # up to which attention still reaches the target, at this V and N; None: any
    best_accuracy: float
    best_V: int
    checked: bool  # whether that V, or best_V where there is none, lies in the domain that was checked
    remarks: tuple[str, ...]  # why not


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
        return {"schema_version": SCHEMA_VERSION, "law": LAW, **dataclasses.asdict(self)}


def limiting_term(prediction: Prediction) -> str:
    """The largest noise term of the step that falls shorter: attention or recall."""
    return _limiting_term(prediction.attention, prediction.recall, prediction.setting.ratio, prediction.terms)


def _limiting_term(attention: float, recall: float, ratio: float, terms: Mapping[str, Mapping[str, float]]) -> str:
    rounding = 1 / 10**12  # of what hardly ever fails, one as little as the other
    step = "attention" if recall - attention > rounding else "recall"
    if step == "recall" and np.exp(-ratio) > max((1 - recall) / 2, rounding):
        return "recall: facts never seen"
    return f"{step}: {max(terms[step], key=lambda name: terms[step][name])}"


def capacity(*, L: int, d: int, N: int | None = None, m: int | None = None, activation: Any = None,
             embedding: str = "gaussian", trigger_in_value: bool = True,
             ratios: tuple[float | None, ...] | None = None, target: float = 0.99, bits: float = BITS) -> Capacity:
    """The largest V whose predicted accuracy reaches `target`, for each sample budget.

    Budgets are N/V in `ratios` (None is the limit N -> infinity), or N samples in all where N is given. Where neither
    is, they are r, 4 r, 16 r and the limit, r the least power of two, 1 or more, at which a V of 16 or more reaches
    the target; the limit alone where there is none. m is the width of an MLP, whose `activation` is relu where none is
    given. `bits` a parameter are for the bound beside it. Raises `SettingError` for values outside their domains.

    >>> answer = capacity(L=16, d=64, ratios=(64, None), target=0.9)
    >>> [row.V for row in answer.rows]
    [21, 62]
    """
    d, L = PARAMETERS["d"].check(d), PARAMETERS["L"].check(L)
    N = None if N is None else PARAMETERS["N"].check(N)
    m = None if m is None else PARAMETERS["m"].check(m)
    check_proportion("target", target)
    for r in ratios or ():
        if r is not None:
            check_at_most("ratio", r, MOST_RATIO)
    check_at_most("bits", bits, 1024)
    if embedding == "orthogonal" and d < PARAMETERS["V"].low:
        raise SettingError("d", f"d={d} is too small: orthogonal embeddings need d of at least V, and V is at "
                           f"least {PARAMETERS['V'].low:g}")
    model = Model(embedding, trigger_in_value, activation_in_use(m, activation))
    sizes = {name: float(size) for name, size in (("d", d), ("L", L), ("m", m), ("N", N)) if size is not None}
    rows = _rows(_LargestV(model, sizes, target), ratios if N is None else (None,))
    parameters = _trained(sizes) + d
    return Capacity(
        setting={"d": d, "L": L, "N": N, "m": m, **model.fixed},
        target=target,
        rows=rows,
        laws={
            "interference: V": model.interference(d, None if m is None else np.inf),
            **({} if m is None else {"interference and MLP noise: V": model.interference(d, m)}),
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


def _trained(sizes: dict[str, float]) -> int:
    """The trained numbers that hold the facts: Val is d x d, and d x m with an MLP."""
    return int(sizes["d"] * sizes.get("m", sizes["d"]))


class _LargestV:
    """Searches for the largest V that reaches the target, by budget. They run side by side and share vectorised
    predictions; what they found out is kept."""

    def __init__(self, model: Model, fixed: dict[str, float], target: float):
        self.model, self.fixed, self.target = model, fixed, target
        self.low, self.high = model.search_range("V", fixed, target)
        self.points = grid(self.low, self.high, COARSE)
        self.found: dict[Budget, Interval | None] = {}
        self.accuracy: dict[Budget, Known] = {}  # by V
        self.attention: dict[Budget, FloatArray] = {}  # at `points`
        self.predicted: dict[tuple[Budget, int], tuple[Predictions, int]] = {}  # where each prediction is

    def sizes_at(self, wanted: list[tuple[Budget, int]]) -> Sizes:
        """The sizes of each (budget, V), as arrays (len(wanted),)."""
        sizes = {name: np.full(len(wanted), size) for name, size in self.fixed.items()}
        sizes["V"] = np.array([float(v) for _, v in wanted])
        if "N" not in sizes:
            sizes["N"] = np.array([float(samples(np.array(v), np.inf if r is None else r)) for r, v in wanted])
        return sizes

    def evaluate(self, wanted: list[tuple[Budget, int]]) -> None:
        """Predict each (budget, V) in full."""
        many = self.model.predict(self.sizes_at(wanted))
        for place, (r, v) in enumerate(wanted):
            self.accuracy[r][v] = float(many.accuracy[place])
            self.predicted[r, v] = many, place

    def search(self, budgets: Iterable[Budget]) -> None:
        """Find the interval of V that ends the highest, for each budget that is not known yet."""
        new = [r for r in dict.fromkeys(budgets) if r not in self.found]
        if not new:
            return
        guess = self.model.estimate(self.sizes_at([(r, int(v)) for r in new for v in self.points]))
        accuracy, attention = (guess[o].reshape(len(new), -1) for o in ("accuracy", "attention"))
        worth = bearable(attention, self.target)
        self.accuracy |= {r: {} for r in new}
        self.attention |= dict(zip(new, attention, strict=True))
        far = FAR if self.model.activation is None else NEARER
        searches = {r: interval_search(self.points, accuracy[i], self.target, self.accuracy[r], highest=True,
                                       worth=worth[i], both_ends=False, far=far) for i, r in enumerate(new)}
        self.found |= run_searches(searches, {r: self.accuracy[r] for r in new}, self.evaluate)

    def default_budgets(self) -> tuple[Budget, ...]:
        """The budgets of an answer without any: multiples of the least N/V that stores a few facts, and the limit."""
        powers = [2**k for k in range(MOST_RATIO.bit_length() - 1)]
        enough = self.points[self.points >= FEW_FACTS]
        if not enough.size:
            return (None,)
        guess = self.model.estimate_recall(self.sizes_at([(r, int(v)) for r in powers for v in enough]))
        reaching = np.flatnonzero((guess.reshape(len(powers), -1) >= self.target).any(axis=1))
        # The guess is optimistic: about half of what it takes, less with an MLP.
        k = min(int(reaching[0]) + 1 if reaching.size else len(powers), len(powers) - 1)
        hoped = [c * powers[k] for c in MULTIPLES if self.model.activation is None and c * powers[k] <= MOST_RATIO]
        self.search([None, powers[k], powers[max(0, k - 1)], *hoped])
        if not self._stores_few(None):
            return (None,)
        # From the guess to the least that is true: more samples never harm.
        while k < len(powers) and not self._stores_few(powers[k]):
            k += 1
            self.search(powers[k:k + 1])
        while k > 0 and self._stores_few(powers[k - 1]):
            k -= 1
            self.search(powers[max(0, k - 1):k])
        least = powers[min(k, len(powers) - 1)]
        return (*(c * least for c in MULTIPLES if c * least <= MOST_RATIO), None)

    def _stores_few(self, budget: Budget) -> bool:
        interval = self.found[budget]
        return interval is not None and interval.high >= FEW_FACTS


def _rows(largest: _LargestV, budgets: tuple[Budget, ...] | None) -> tuple[Row, ...]:
    """A row a budget."""
    model, target, sizes_at = largest.model, largest.target, largest.sizes_at
    given_N = "N" in largest.fixed
    if budgets is None:
        budgets = largest.default_budgets()
    largest.search(budgets)
    found = {r: largest.found[r] for r in budgets}
    # The neighbourhood of each V, for what a lucky or unlucky seed reaches.
    around = {(r, min(max(top.high * n // 8, int(largest.low)), int(largest.high))): None
              for r, top in found.items() if top is not None for n in NEIGHBOURS}
    lucky = bearable(model.attention(sizes_at(list(around))), target) if around else ()
    if wanted := [at for at, worth in zip(around, lucky, strict=True) if worth and at not in largest.predicted]:
        largest.evaluate(wanted)
    tops = {r: sizes_at([(r, top.high)]) for r, top in found.items() if top is not None}
    start = _starts(largest, found)
    longest = _longest(tops, target, model)
    best_V = {r: max(largest.accuracy[r], key=largest.accuracy[r].__getitem__) for r in found}
    wanted_V = {r: best_V[r] if top is None else 2 * top.high for r, top in found.items()}
    more = {} if model.activation is None else _next(
        {r: sizes_at([(r, V)]) for r, V in wanted_V.items()}, given_N, target, model)

    rows = []
    for r in budgets:
        best, top, known = best_V[r], found[r], largest.accuracy[r]
        V = best if top is None else top.high
        sizes = {name: float(x[0]) for name, x in sizes_at([(r, V)]).items()}
        spread = {v: float(many.spread["accuracy"][place])
                  for v in known for many, place in [largest.predicted[r, v]]}
        ends = None if top is None else {"V_from": start[r], "longest_L": longest[r]}
        common = {"best_accuracy": known[best], "best_V": best, "next": more.get(r),
                  "remarks": remarks_at(sizes, model.activation, model.embedding)}
        rows.append(_row(r, given_N, sizes, largest.predicted[r, V], ends, common, known, spread, target))
    return tuple(rows)


def _next(at: dict[Budget, Sizes], given: bool, target: float, model: Model) -> dict[Budget, dict[str, int | None]]:
    """About the m, the d and the N, one at a time, at which the sizes of each budget reach the target; None where
    none does. In the limit N is not sought, `given` says that N is one number for all V."""
    sought = [(r, name) for r in at for name in MORE if name != "N" or given or r is not None]
    known: dict[tuple[Budget, str], Known] = {key: {} for key in sought}
    base = {(i, name): {size: float(x[0]) for size, x in at[i].items()} for i, name in sought}
    searches = {}
    for i, name in sought:
        start, high = base[i, name][name], model.search_range(name, base[i, name], target)[1]
        if name == "d":
            high = min(high, MOST * start)
        searches[i, name] = rising_search(int(start), int(high), target, known[i, name])

    def evaluate(wanted: list[tuple[tuple[Budget, str], int]]) -> None:
        each = [tuple((base[key] | {key[1]: float(x)})[size] for size in model.sizes) for key, x in wanted]
        different = list(dict.fromkeys(each))  # the searches of a budget begin at the same sizes
        many = model.predict(dict(zip(model.sizes, np.array(different).T, strict=True)))
        value = dict(zip(different, many.accuracy.tolist(), strict=True))
        for (key, x), sizes in zip(wanted, each, strict=True):
            known[key][x] = value[sizes]

    found = run_searches(searches, known, evaluate)
    result: dict[Budget, dict[str, int | None]] = {
        i: {"V": int(sizes["V"][0])} | dict.fromkeys(MORE, None) for i, sizes in at.items()}
    for (i, name), size in found.items():
        result[i][name] = size
    return result


def _starts(largest: _LargestV, found: dict[Budget, Interval | None]) -> dict[Budget, int]:
    """About the least V of each budget's interval. There attention decides, which is quick to compute; recall
    is taken from the least V that was predicted."""
    searches, values = {}, {}
    attention, sizes_at, points, target = largest.model.attention, largest.sizes_at, largest.points, largest.target
    for r, top in found.items():
        if top is None:
            continue
        known = largest.accuracy[r]
        least = min(v for v in known if known[v] >= target)
        below = points <= least
        at_least = float(attention(sizes_at([(r, least)]))[0])
        share = min(1.0, max(target, known[least] / at_least)) if at_least > 0 else 1.0
        values[r] = {int(v): float(a) * share
                     for v, a in zip(points[below], largest.attention[r][below], strict=True)}
        values[r][least] = known[least]
        grid_below = np.append(points[points < least], least)
        guess = np.array([values[r][int(v)] for v in grid_below])
        searches[r] = interval_search(grid_below, guess, target, values[r], highest=True), share

    def evaluate(wanted: list[tuple[Budget, int]]) -> None:
        for (r, v), a in zip(wanted, attention(sizes_at(wanted)).tolist(), strict=True):
            values[r][v] = a * searches[r][1]

    low = run_searches({r: s for r, (s, _) in searches.items()}, values, evaluate)
    return {r: top.low for r, top in low.items() if top is not None}


def _longest(tops: dict[Budget, Sizes], target: float, model: Model) -> dict[Budget, int | None]:
    """The longest L at which attention reaches the target, at the sizes of each budget's V; None: any."""
    low, high = model.search_range("L", {}, target)
    points = grid(low, high, 2)
    known: dict[Budget, Known] = {i: {} for i in tops}

    def evaluate(wanted: list[tuple[Budget, int]]) -> None:
        sizes = {name: np.concatenate([tops[i][name] for i, _ in wanted]) for name in model.sizes}
        sizes["L"] = np.array([v for _, v in wanted], dtype=float)
        for (i, v), a in zip(wanted, model.attention(sizes).tolist(), strict=True):
            known[i][v] = a

    falling = np.linspace(1, 0, len(points))  # attention falls with L: start anywhere
    searches = {i: interval_search(points, falling, target, known[i], highest=True, both_ends=False) for i in tops}
    found_L = run_searches(searches, known, evaluate)
    return {i: None if top is None or not top.bounded else top.high for i, top in found_L.items()}


def _row(budget: Budget, is_given_N: bool, sizes: Mapping[str, float], prediction: tuple[Predictions, int],
         ends: dict[str, Any] | None, common: dict[str, Any], known: Known, spread: Known, target: float) -> Row:
    """The row of one budget, from what its search found: the `prediction` is that at its V, `ends` what else was
    searched for, None where no V reaches the target, `common` the fields that it has even then."""
    many, place = prediction
    seen: dict[str, Any] = {o: float(getattr(many, o)[place]) for o in OBSERVABLES}
    terms = {step: {name: float(x[place]) for name, x in of.items()} for step, of in many.terms.items()}
    V, N = int(sizes["V"]), int(sizes["N"])
    is_limit = budget is None and not is_given_N
    common = {**common, "checked": not common["remarks"], "ratio": N / V if is_given_N else budget,
              "limited_by": _limiting_term(seen["attention"], seen["recall"], sizes["N"] / V, terms)}
    if ends is None:
        nothing: dict[str, Any] = dict.fromkeys(NO_V)
        return Row(N=N if is_given_N else None, **common, **nothing)
    trained = _trained(dict(sizes))
    return Row(
        N=None if is_limit else N,
        V=V,
        V_seeds=(_reached(-1, V, known, spread, target), _reached(1, V, known, spread, target)),
        std={o: float(x[place]) for o, x in many.std.items()},
        facts_per_parameter=V / trained,
        bits_per_parameter=float(permutation_bits(V=float(V))) / trained,
        coverage_bound=float(coverage(V=float(V), N=sizes["N"])),
        coverage_V=None if is_limit else most_facts_from_samples(N, target),
        **seen, **ends, **common,
    )


def _reached(deviations: int, V: int, known: Known, spread: Known, target: float) -> int | None:
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
