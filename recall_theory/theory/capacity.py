"""How many facts does a layer store?

Accuracy is not monotone in V: at a fixed number of samples a fact, attention rises with V, and chance is
1/V. So the largest V is searched from above, and the lower end of its interval is reported too.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..numerics.arrays import FloatArray
from ..numerics.formatting import SCHEMA_VERSION
from ..numerics.thresholds import (
    HOPELESS_LOGITS,
    Interval,
    Known,
    Search,
    grid,
    interval_search,
    last_search,
    rising_search,
    run_search,
    run_searches,
)
from ..settings import (
    MOST_BITS,
    OBSERVABLES,
    PARAMETERS,
    SettingError,
    activation_in_use,
    beta_of,
    check_at_most,
    check_integer,
    check_proportion,
)
from .bounds import BITS, most_facts_from_samples, most_facts_on_average
from .capacity_branches import binding_in, condition, in_numbers
from .domain import remarks_at
from .formulas import leading_laws as laws
from .formulas.lower_bounds import bits_bound, coverage, permutation_bits
from .noise_budget import limit
from .predict import LAW, Prediction, Predictions, predict
from .solve import COARSE, RATIO_OF_LIMIT, Model, Sizes, bearable, samples

FEW_FACTS = 16  # a V from which on a capacity is worth a row
OPTIMISM = (1, 4)  # powers of two by which the N/V that stores so many is guessed too small: without an MLP, with one
MULTIPLES = (1, 4, 16)  # of the least N/V that stores so many: the rows where no budgets are given, beside the limit
MOST_RATIO = 10**9  # N/V of a row, beside the limit
NEIGHBOURS = (4, 6, 11, 16)  # eighths of V at which the spread over seeds is looked at, to both sides

MORE = ("m", "d", "N")  # what can be had more of, for twice the facts
NEARER = 5 / 2  # logits: the same with an MLP, whose predictions cost more
MOST = 64  # times the d that there is: more is not looked at

RATES = "attention: finite rates"  # what limits where the limit of the same sizes misses less than half as much
CLOSE = 1 / 20  # share to which the longest L is sought at finite rates, where each prediction takes its time

Budget = float | None  # N/V; None is the limit N -> infinity, or N samples in all where N is given


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """The capacity at one sample budget: N/V = ratio (None: the limit), or N samples in all."""

    ratio: float | None
    N: int | None
    V: int | None = None
    V_from: int | None = None  # about the least V of the interval that V ends
    V_seeds: tuple[int | None, int | None] | None = None  # about the V of a seed one standard deviation down, up
    accuracy: float | None = None
    recall: float | None = None
    attention: float | None = None
    attention_weight: float | None = None  # mean, at finite rates
    std: dict[str, float] | None = None
    limited_by: str
    facts_per_parameter: float | None = None
    bits_per_parameter: float | None = None
    coverage_bound: float | None = None
    coverage_V: int | None = None  # the largest V that any learner could reach the target at, from the same samples
    next: dict[str, int | None] | None  # with an MLP: 2 V (or best_V), and about the m, d or N alone that it takes
    # up to which attention, or at finite rates accuracy, still reaches the target at this V and N; None: any
    longest_L: int | None = None
    branch: str | None = None  # of the formula of the capacity: the one that binds, its condition, the V that it gives
    branch_condition: str | None = None
    branch_V: float | None = None
    branch_numbers: str | None = None  # the condition with the numbers in it, where it is a product
    length_branch: str | None = None  # the one by which attention fails in longer sequences at this V, and from which L
    length_condition: str | None = None
    length_L: float | None = None
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
        data = {"schema_version": SCHEMA_VERSION, "law": LAW, **dataclasses.asdict(self)}
        if "eta" not in self.setting:
            for row in data["rows"]:
                del row["attention_weight"]
        return data


def limiting_term(prediction: Prediction, group: Callable[[str], str] = str) -> str:
    """The largest noise term, added up by `group`, of the step that falls shorter: attention or recall."""
    name = limit(prediction.attention, prediction.recall, prediction.setting.ratio, prediction.terms, group)
    if prediction.setting.is_limit:
        return name
    in_limit = predict(prediction.setting.replace(eta=None, gamma=None))
    return RATES if rates_limit(prediction.accuracy, in_limit.accuracy) else name


def rates_limit(accuracy: float, in_limit: float) -> bool:
    """Whether finite rates limit an accuracy: whether the limit of the same sizes misses less than half as much."""
    return (1 - accuracy) > 2 * (1 - in_limit)


def capacity(*, L: int, d: int, N: int | None = None, m: int | None = None, activation: Any = None,
             embedding: str = "gaussian", trigger_in_value: bool = True,
             ratios: tuple[float | None, ...] | None = None, target: float = 0.99,
             bits: int | None = None, eta: float | None = None, gamma: float | None = None) -> Capacity:
    """The largest V whose predicted accuracy reaches `target`, for each sample budget.

    Budgets are N/V in `ratios` (None is the limit N -> infinity), or N samples in all where N is given. Where neither
    is, they are r, 4 r, 16 r and the limit, r the least power of two, 1 or more, at which a V of 16 or more reaches
    the target; the limit alone where there is none. m is the width of an MLP, whose `activation` is relu where none is
    given. With `bits`, from 1 to 64, Val is quantised to so many an entry and the counting bound is that of so many a
    parameter; without, Val is as it is and the bound that of 16. With an MLP and with orthogonal embeddings bits are
    for the bound alone. With `eta` and `gamma` attention is soft, and V falls with L; the budgets are then those of the
    limit. Raises `SettingError` for values outside their domains.

    >>> answer = capacity(L=16, d=64, ratios=(64, None), target=0.9)
    >>> [row.V for row in answer.rows]
    [21, 62]
    """
    given = {name: size if size is None and name in "Nm" else PARAMETERS[name].check(size)
             for name, size in (("d", d), ("L", L), ("N", N), ("m", m))}
    check_proportion("target", target)
    for r in ratios or ():
        if r is not None:
            check_at_most("ratio", r, MOST_RATIO)
    bits = None if bits is None else check_integer("bits", bits, 1, MOST_BITS)
    if embedding == "orthogonal" and d < PARAMETERS["V"].low:
        raise SettingError("d", f"d={d} is too small: orthogonal embeddings need d of at least V, and V is at "
                           f"least {PARAMETERS['V'].low:g}")
    phi = activation_in_use(m, activation)
    model = Model(embedding, trigger_in_value, phi, bits if phi is None and embedding != "orthogonal" else None,
                  beta_of(eta, gamma))
    bits = BITS if bits is None else bits
    sizes = {name: float(size) for name, size in given.items() if size is not None}
    largest = LargestV(model, sizes, target)
    rows = largest.rows((None,) if N is not None else largest.default_budgets() if ratios is None else ratios)
    parameters = _trained(sizes) + d
    return Capacity(
        setting={**given, **model.fixed, **({} if model.beta is None else {"eta": eta, "gamma": gamma})},
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


class LargestV:
    """Searches for the largest V that reaches the target, by budget. They run side by side and share vectorised
    predictions; what they found out is kept."""

    def __init__(self, model: Model, fixed: dict[str, float], target: float):
        self.model, self.fixed, self.target = model, fixed, target
        self.low, self.high = model.search_range("V", fixed, target)
        self.points = grid(self.low, self.high, COARSE)
        self.found: dict[Budget, Interval | None] = {}
        self.accuracy: dict[Budget, Known] = {}  # by V
        self.predicted: dict[tuple[Budget, int], tuple[Predictions, int]] = {}  # where each prediction is
        self.far = HOPELESS_LOGITS if model.activation is None else NEARER

    def sizes(self, budget: Budget, V: int, **changed: float) -> dict[str, float]:
        """All sizes at a V."""
        N = self.fixed.get("N", float(samples(np.array(V), np.inf if budget is None else budget)))
        return {**self.fixed, "V": float(V), "N": N, **changed}

    def stacked(self, each: Iterable[Mapping[str, float]]) -> Sizes:
        """Sizes as arrays."""
        rows = list(each)
        return {name: np.array([sizes[name] for sizes in rows]) for name in self.model.sizes}

    def evaluate(self, wanted: Sequence[tuple[Budget, int]]) -> list[float]:
        """Predict each (budget, V) in full: the accuracies."""
        many = self.model.predict(self.stacked(self.sizes(*at) for at in wanted))
        self.predicted |= {at: (many, place) for place, at in enumerate(wanted)}
        return many.accuracy.tolist()

    def search(self, budgets: Iterable[Budget]) -> None:
        """Find the interval of V that ends the highest, for each budget that is not known yet."""
        new = [r for r in dict.fromkeys(budgets) if r not in self.found]
        if not new:
            return
        self.accuracy |= {r: {} for r in new}
        self.found |= run_searches({r: self._interval(r, self.points, self.accuracy[r], 1) for r in new}, self.accuracy,
                                   self.evaluate)

    def _interval(self, budget: Budget, points: FloatArray, known: Known, ends: int) -> Search[Interval | None]:
        """The search among points for the interval of V that ends the highest."""
        guess = self.model.estimate(self.stacked(self.sizes(budget, int(v)) for v in points))
        return interval_search(points, guess["accuracy"], self.target, known, highest=True, ends=ends, far=self.far,
                               worth=bearable(guess["attention"], self.target))

    def default_budgets(self) -> tuple[Budget, ...]:
        """The budgets of an answer without any: multiples of the least N/V that stores a few facts, and the limit."""
        if self.model.beta is not None:
            return LargestV(dataclasses.replace(self.model, beta=None), self.fixed, self.target).default_budgets()
        powers = [2**k for k in range(MOST_RATIO.bit_length() - 1)]
        enough = self.points[self.points >= FEW_FACTS]
        if not enough.size:
            return (None,)
        guess = self.model.estimate_recall(self.stacked(self.sizes(r, int(v)) for r in powers for v in enough))
        reaching = np.flatnonzero((guess.reshape(len(powers), -1) >= self.target).any(axis=1))
        k = min(int(reaching[0]) + OPTIMISM[self.model.activation is not None] if reaching.size else len(powers),
                len(powers) - 1)
        self.search([None, powers[k]] if self.model.activation is None else [None])  # rows, most likely
        if not self._stores_few(None):
            return (None,)
        # From the guess to the least that is true: more samples never harm.
        stores_few = functools.cache(lambda k: self._stores_few(powers[k]))
        while k < len(powers) - 1 and not stores_few(k):
            k += 1
        while k > 0 and stores_few(k - 1):
            k -= 1
        return (*(c * powers[k] for c in MULTIPLES if c * powers[k] <= MOST_RATIO), None)

    def _stores_few(self, budget: Budget) -> bool:
        """Whether a V of `FEW_FACTS` or more reaches the target; where the interval is not known, from a few
        predictions that are not kept."""
        if budget in self.found:
            interval = self.found[budget]
            return interval is not None and interval.high >= FEW_FACTS
        known: Known = {}
        points = np.union1d(FEW_FACTS, self.points[self.points > FEW_FACTS])
        return run_search(self._interval(budget, points, known, 0), known, lambda wanted: self.model.predict(
            self.stacked(self.sizes(budget, V) for V in wanted)).accuracy) is not None

    def rows(self, budgets: tuple[Budget, ...]) -> tuple[Row, ...]:
        """A row a budget."""
        self.search(budgets)
        tops = {r: top.high for r in budgets if (top := self.found[r]) is not None}
        # The neighbourhood of each V, for what a lucky or unlucky seed reaches.
        around = list(dict.fromkeys((r, min(max(V * n // 8, int(self.low)), int(self.high)))
                                    for r, V in tops.items() for n in NEIGHBOURS if self.model.beta is None))
        if around:
            lucky = bearable(self.model.attention(self.stacked(self.sizes(*at) for at in around)), self.target)
            wanted = [at for at, worth in zip(around, lucky, strict=True) if worth and at not in self.predicted]
            for (r, V), value in zip(wanted, self.evaluate(wanted) if wanted else (), strict=True):
                self.accuracy[r][V] = value
        best = {r: max(self.accuracy[r], key=self.accuracy[r].__getitem__) for r in budgets}
        more = {} if self.model.activation is None else self._next(
            {r: 2 * tops[r] if r in tops else best[r] for r in budgets})
        starts, longest = self._starts(tops), self._longest(tops)
        return tuple(self._row(r, best[r], more.get(r), V=tops.get(r), V_from=starts.get(r), longest_L=longest.get(r))
                     for r in budgets)

    def _row(self, budget: Budget, best: int, following: dict[str, int | None] | None, **found: Any) -> Row:
        """What is said of a budget: at its largest V, with what else was `found`, or where there is none at the best
        one."""
        top = found["V"]
        V, N_given, model = top or best, self.fixed.get("N"), self.model
        (many, place), sizes = self.predicted[budget, V], self.sizes(budget, V)
        seen: dict[str, Any] = {o: float(getattr(many, o)[place]) for o in OBSERVABLES}
        terms = {step: {name: float(x[place]) for name, x in of.items()} for step, of in many.terms.items()}
        limited_by = limit(seen["attention"], seen["recall"], sizes["N"] / V, terms)
        if model.beta is not None:
            in_limit = dataclasses.replace(model, beta=None).predict(self.stacked([sizes]))
            limited_by = RATES if rates_limit(seen["accuracy"], float(in_limit.accuracy[0])) else limited_by
        remarks = remarks_at(model.batch(sizes))
        row = Row(ratio=budget if N_given is None else N_given / V, N=None if N_given is None else int(N_given),
                  limited_by=limited_by, best_accuracy=self.accuracy[budget][best], best_V=best, next=following,
                  checked=not remarks, remarks=remarks)
        if top is None:
            return row
        N, trained, is_limit = sizes["N"], _trained(self.fixed), budget is None and N_given is None
        return dataclasses.replace(
            row, **seen, **self._formula(V, N), **found, N=None if is_limit else int(N),
            V_seeds=(self._reached(budget, -1, V), self._reached(budget, 1, V)),
            attention_weight=None if model.beta is None else float(many.attention_weight[place]),
            std={o: float(x[place]) for o, x in many.std.items()}, facts_per_parameter=V / trained,
            bits_per_parameter=float(permutation_bits(V=float(V))) / trained,
            coverage_bound=float(coverage(V=float(V), N=N)),
            coverage_V=None if is_limit else most_facts_from_samples(int(N), self.target))

    def _formula(self, V: int, N: float) -> dict[str, Any]:
        """The branches of `capacity.attention_only`, or with an MLP, that bind at N samples."""
        if self.model.embedding == "orthogonal":
            return {}
        layer = {"m": None, **self.model.fixed, **self.fixed, "L": max(self.fixed["L"], 2.0)}
        e, fields = int(self.model.trigger_in_value), dict[str, Any]()
        shared = {"d": self.fixed["d"], "N": N, "e": e, "target": self.target,
                  **({} if self.model.beta is None else {"beta": self.model.beta})}
        for sought, name, at in (("V", "branch", {"L": layer["L"]}), ("L", "length", {"V": float(max(V, 2))})):
            try:
                bound = binding_in(layer, sought, **shared, **at)
            except SettingError:  # an activation without branches
                return {}
            # a formula for large V says nothing where it leaves less than two facts
            if bound is not None and (sought == "L" or bound[1] >= PARAMETERS["V"].low) and bound[1] < RATIO_OF_LIMIT:
                binds, value, given = bound
                fields |= {f"{name}_condition": condition(binds, e, has_mlp="m" in self.fixed),
                           f"{name}_{sought}": value}
                fields |= ({"branch": binds, "branch_numbers": in_numbers(binds, given, value)} if sought == "V"
                           else {"length_branch": binds})
        return fields

    def _next(self, V: dict[Budget, int]) -> dict[Budget, dict[str, int | None]]:
        """About the m, the d and the N, one at a time, at which V facts of each budget reach the target; None where
        none does. In the limit N is not sought."""
        searches, known = {}, {}
        for r, facts in V.items():
            sizes = self.sizes(r, facts)
            for name in MORE:
                if name != "N" or "N" in self.fixed or r is not None:
                    high = self.model.search_range(name, sizes, self.target)[1]
                    high = min(high, MOST * sizes[name]) if name == "d" else high
                    start = int(sizes[name])
                    known[r, name] = {start: x} if (x := self.accuracy[r].get(facts)) is not None else {}
                    searches[r, name] = rising_search(start, int(high), self.target, known[r, name])

        def values(wanted: list[tuple[tuple[Budget, str], int]]) -> list[float]:
            sizes = self.stacked(self.sizes(r, V[r], **{name: float(x)}) for (r, name), x in wanted)
            return self.model.predict(sizes).accuracy.tolist()

        found = run_searches(searches, known, values)
        return {r: {"V": facts, **{name: found.get((r, name)) for name in MORE}} for r, facts in V.items()}

    def _starts(self, tops: Mapping[Budget, int]) -> dict[Budget, int | None]:
        """About the least V of each budget's interval. There attention decides, which is quick to compute; recall is
        taken from the least V that was predicted."""
        known, share = dict[Budget, Known](), dict[Budget, float]()
        least = {r: min(v for v, x in self.accuracy[r].items() if x >= self.target) for r in tops}
        there = self.model.attention(self.stacked(self.sizes(*at) for at in least.items())) if least else ()
        for (r, V), attention in zip(least.items(), there, strict=True):
            accuracy = self.accuracy[r][V]
            known[r] = {V: accuracy}
            share[r] = min(1.0, max(self.target, accuracy / float(attention))) if attention > 0 else 1.0

        def values(wanted: list[tuple[Budget, int]]) -> list[float]:
            attention = self.model.attention(self.stacked(self.sizes(*at) for at in wanted))
            return [share[r] * float(x) for (r, _), x in zip(wanted, attention, strict=True)]

        return run_searches({r: last_search(V, int(self.low), self.target, known[r], V) for r, V in least.items()},
                            known, values)

    def _longest(self, tops: Mapping[Budget, int]) -> dict[Budget, int | None]:
        """The longest L at which attention reaches the target, at the sizes of each budget's V; None: any. At finite
        rates it is accuracy that has to, and L comes to a share CLOSE."""
        start, high = int(self.fixed["L"]), int(self.model.search_range("L", {}, self.target)[1])
        known: dict[Budget, Known] = {r: {} for r in tops}

        def values(wanted: list[tuple[Budget, int]]) -> FloatArray:
            sizes = self.stacked(self.sizes(r, tops[r], L=float(L)) for r, L in wanted)
            return self.model.attention(sizes) if self.model.beta is None else self.model.predict(sizes).accuracy

        found = run_searches({r: last_search(start, high, self.target, known[r], 2 * start, relative=(
            0.0 if self.model.beta is None else CLOSE)) for r in tops}, known, values)
        return {r: None if longest == high else longest for r, longest in found.items()}

    def _reached(self, budget: Budget, deviations: int, V: int) -> int | None:
        """About the largest V at which a seed so many standard deviations from the mean reaches the target.

        A straight line in ln V between the predictions that the search for V has made, or beyond the last of
        them along the last two; None where no V reaches it.
        """
        known = self.accuracy[budget]
        places = sorted(v for v in known if (v <= V) == (deviations < 0) or v == V)
        spread = [float(many.spread["accuracy"][i]) for v in places for many, i in [self.predicted[budget, v]]]
        x = np.array(places, dtype=float)
        lead = np.array([known[v] + deviations * s - self.target for v, s in zip(places, spread, strict=True)])
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
