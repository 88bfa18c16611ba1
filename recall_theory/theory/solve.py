"""`solve_for`: the inverse of a prediction for any one size, and the model that a search predicts.

Searches run over the sizes V, L, d, N and, with an MLP, m; a `Model` holds what stays, and predicts arrays of sizes
at three prices: in full, attention alone, and a guess from the leading terms.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..activations import activation
from ..numerics.arrays import TINY, FloatArray
from ..numerics.forced_choice import forced_choice
from ..numerics.thresholds import Interval, Known, grid, interval_search, known_interval, run_search
from ..settings import OBSERVABLES, PARAMETERS, SIZES, SettingError, activation_in_use, beta_of, check_proportion
from .accuracy import DEFAULT
from .domain import Batch, batch_of
from .formulas import leading_laws as laws
from .formulas.finite_rate_formulas import least_rates, logit_lead, typical_weight
from .formulas.generic import solved
from .kernel import typical_kernel
from .noise_budget import recall_terms
from .orthogonal import orthogonal_attention, orthogonal_prediction
from .predict import Prediction, Predictions, predictions_at
from .seed import attention as mean_attention

Sizes = dict[str, FloatArray]  # V, L, d, N and, with an MLP, m

# N/V that stands for infinity: at V up to 10^15, d up to 10^9 and L up to 10^7 all that N divides is below 10^-6 of the
# signal, and nothing is yet lost in rounding
RATIO_OF_LIMIT = 1e18
MISSES_ALLOWED = 2  # attention may miss so many times what accuracy may: at most half of wrong picks are right by luck
BEYOND_LEADING_LAW = 8  # a search for V goes so many times beyond what the leading laws leave
LEAST_END_OF_V = 64  # and at least to here
LARGEST_SEARCHED = {"d": 10**6, "L": 10**7, "m": 10**9}  # that a search considers
COARSE = 8  # points a decade where a crossing is looked for
SOUGHT_LARGEST = ("V", "L")  # sizes whose largest value is sought
WITHIN = 1 / 100  # of the limit's recall and accuracy: what counts as its holding
CLEAR, LITTLE = 1 / 50, 4  # of WITHIN, and of the gap before: one that the next step is not expected to raise to it
RATE_STEP, MOST_RATE_STEPS = 2, 12  # in eta*gamma, on the way to where the limit holds
STEPS_TO_FALL, FALLEN = 3, 0.9  # so many steps that leave more than this part of a gap will not close it


@dataclasses.dataclass(frozen=True)
class Model:
    """Embeddings, architecture and rates; `activation` None is the Attention-only model, without the size m. Val's
    entries are quantised to `bits`, or not at all, and `beta` is eta*gamma, None in the limit."""

    embedding: str = "gaussian"
    trigger_in_value: bool = True
    activation: str | None = None
    bits: int | None = None
    beta: float | None = None

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of its sizes."""
        return SIZES[:4] if self.activation is None else SIZES

    @property
    def fixed(self) -> dict[str, Any]:
        """Its fields that are parameters of a `Setting`."""
        return {name: getattr(self, name) for name in ("embedding", "trigger_in_value", "activation")}

    def batch(self, at: Mapping[str, ArrayLike]) -> Batch:
        """The settings of this model that have these sizes."""
        return Batch.of(**at, phi=self.activation, embedding=self.embedding,
                        trigger_in_value=self.trigger_in_value, bits=self.bits, beta=self.beta)

    def predict(self, at: Sizes) -> Predictions:
        """Everything, in full."""
        return predictions_at(self.batch(at))

    def weight(self, at: Sizes) -> FloatArray:
        """About the mean attention weight of the informative token: 1/(1 + (L - 1) e^-lead), its logit lead T beta."""
        if self.beta is None:
            return np.ones_like(at["V"])
        L = np.maximum(at["L"], 2)
        lead = np.minimum(logit_lead(at["V"], L, self.beta, 1), np.log(np.finfo(float).max))
        return np.where(at["L"] > 1, typical_weight(L, lead, 0), 1)

    def attention(self, at: Sizes) -> FloatArray:
        """Predicted attention alone: a small part of what a whole prediction costs."""
        if self.embedding == "orthogonal":
            return orthogonal_attention(self.batch(at))
        return np.where(at["L"] > 1, mean_attention(self.batch(at)), 1)  # a sequence of one token has no rival

    def estimate(self, at: Sizes) -> dict[str, FloatArray]:
        """Attention, and a quick guess of recall and accuracy for a search to start from."""
        if self.embedding == "orthogonal":
            return orthogonal_prediction(self.batch(at), DEFAULT.halved())
        recall, attention = self.estimate_recall(at), self.attention(at)
        # A mixture is answered right while the weight of the right token is not small: sqrt is a guess of how often.
        return {"attention": attention, "recall": recall, "accuracy": recall * attention * np.sqrt(self.weight(at))}

    def estimate_recall(self, at: Sizes) -> FloatArray:
        """A quick guess of recall: the terms as Gaussian noise."""
        if self.embedding == "orthogonal":
            return self.estimate(at)["recall"]
        V, N = at["V"], np.maximum(at["N"] * self.weight(at), 1)
        noise = np.maximum(sum(recall_terms(self.batch({**at, "N": N})).values()), TINY)
        return np.asarray(forced_choice(1 / np.sqrt(noise), V) * -np.expm1(-N / V))

    def interference(self, d: float, m: float | None = None, e: int | None = None) -> float:
        """The V that interference and the MLP's noise leave at any N, to leading order."""
        if self.activation is None or m is None:
            return float(laws.recall_interference(d=d, e=int(self.trigger_in_value) if e is None else e, tau=1))
        k = typical_kernel(activation(self.activation), d, int(self.trigger_in_value))
        return float(solved(float(d * k.lead**2 / (2 * (k.variance + k.noise / m)))))

    def search_range(self, unknown: str, fixed: dict[str, float], target: float) -> tuple[float, float]:
        """Where the unknown can lie. Above it V is beyond what interference leaves at any N."""
        low, high = PARAMETERS[unknown].low, PARAMETERS[unknown].high
        if unknown == "V" and self.embedding == "orthogonal":
            high = fixed["d"]
        elif unknown == "V":
            left = self.interference(fixed["d"], fixed.get("m"), e=0)
            high = min(high, max(LEAST_END_OF_V, BEYOND_LEADING_LAW * left, BEYOND_LEADING_LAW / target))
        elif unknown == "d" and self.embedding == "orthogonal":
            low = fixed["V"]
        return low, min(high, LARGEST_SEARCHED.get(unknown, high))


def bearable(attention: FloatArray, target: float) -> NDArray[np.bool_]:
    """Where accuracy can reach the target at all: what attention misses is answered right by luck only."""
    return (1 - attention) <= MISSES_ALLOWED * (1 - target)


def samples(V: FloatArray, ratio: float) -> FloatArray:
    """N = ratio V, at least 1 and no more than is allowed; beyond that for an infinite ratio, the limit."""
    if ratio == np.inf:
        return RATIO_OF_LIMIT * V
    return np.clip(np.rint(ratio * V), 1, PARAMETERS["N"].high)


def solve_for(unknown: str, target: float = 0.99, observable: str = "accuracy", *,
              V: int | None = None, L: int | None = None, d: int | None = None, N: int | None = None,
              m: int | None = None, activation: Any = None, embedding: str = "gaussian",
              trigger_in_value: bool = True, ratio: float | None = None, bits: int | None = None,
              eta: float | None = None, gamma: float | None = None) -> Interval | None:
    """The largest V or L, or the least N, d or m, at which a predicted observable reaches the target.

    Give the other ones of V, L, d, N, and m with an MLP; `ratio` = N/V can stand in for N. `activation` alone belongs
    with the unknown m; m alone means relu. `bits` quantises Val, as in `predict`; `eta` and `gamma` go together, and
    without them it is the limit. Returns the whole interval of the unknown on which the target is reached (the highest
    one for V and L, the lowest for N, d and m), or None where there is none.

    Raises `SettingError` for a value outside its domain and for a missing or superfluous size.

    >>> solve_for("N", 0.5, V=256, L=16, d=128).low
    12269
    >>> solve_for("L", 0.9, "attention", V=256, d=128, ratio=64).high
    431
    """
    given = {"V": V, "L": L, "d": d, "N": N, "m": m}
    if unknown not in given:
        raise SettingError("unknown", f"unknown={unknown!r} is not one of {', '.join(given)}")
    if unknown == "N" and ratio is not None:
        raise SettingError("ratio", "ratio gives N = ratio V: to solve for N leave it out")
    sizes = {name: size for name, size in given.items() if size is not None}
    check_proportion("target", target)
    if observable not in OBSERVABLES:
        raise SettingError("observable", f"observable={observable!r} is not one of {', '.join(OBSERVABLES)}")
    width = "m" if "m" in sizes or unknown == "m" else None
    model = Model(embedding, trigger_in_value, activation_in_use(width, activation), bits, beta_of(eta, gamma))
    needed = [name for name in model.sizes if name != unknown and (name != "N" or ratio is None)]
    for name in given:
        if (name in sizes) != (name in needed):
            wrong = "must be left out" if name in sizes else "is missing"
            raise SettingError(name, f"{name} {wrong}: to solve for {unknown} give {', '.join(needed)}")
    fixed = {name: float(PARAMETERS[name].check(value)) for name, value in sizes.items()}

    low, high = model.search_range(unknown, fixed, target)
    if low > high:
        return None
    points, highest = grid(low, high, COARSE), unknown in SOUGHT_LARGEST

    def sizes_at(x: FloatArray) -> Sizes:
        sizes = {name: np.full(x.shape, size) for name, size in fixed.items()} | {unknown: x}
        return sizes if ratio is None else sizes | {"N": samples(sizes["V"], ratio)}

    if observable == "attention":  # cheap enough to look everywhere
        return known_interval(lambda x: model.attention(sizes_at(x)), target, points, highest)
    known: Known = {}

    guess = model.estimate(sizes_at(points))
    worth = bearable(guess["attention"], target) if observable == "accuracy" else None
    search = interval_search(points, guess[observable], target, known, highest, worth=worth)
    return run_search(search, known, lambda wanted: getattr(
        model.predict(sizes_at(np.array(wanted, dtype=float))), observable))


def rates_of_limit(in_limit: Prediction) -> float | None:
    """About the least eta*gamma from which on recall and accuracy are within 0.01 of their limits `in_limit`, as
    eta -> 0; 0 where that is so at uniform attention, as of one token, and None where finite rates have no law.

    It is sought from the formula `least_rates` by factors of two, and interpolated between the last two; where a factor
    of eight leaves more than 0.9 of the distance the two laws differ by more than 0.01 and it is None too. Where the
    second is far closer than 0.01 too, or hardly less close than the first, and the last of all is closer than 0.005,
    those between are taken to be within 0.01.

    >>> from recall_theory import Setting, predict
    >>> round(math.log10(rates_of_limit(predict(Setting(V=64, L=8, d=64, N=4096)))), 1)
    4.6
    """
    s = in_limit.setting

    def gap(beta: float) -> float:
        """The larger distance of recall and accuracy at eta*gamma = beta from their limits."""
        at = predictions_at(dataclasses.replace(batch_of(s), beta=beta))
        return max(abs(float(at.recall[0]) - in_limit.recall), abs(float(at.accuracy[0]) - in_limit.accuracy))

    if s.L == 1:
        return 0.0
    try:
        beta = float(least_rates(s.V, s.L, WITHIN))
        gaps = [gap(beta)]
        rising = gaps[0] > WITHIN
        for taken in range(1, MOST_RATE_STEPS + 1):
            before = beta
            beta *= RATE_STEP if rising else 1 / RATE_STEP
            gaps.append(gap(beta))
            old, new = gaps[-2:]
            if (new > WITHIN) != rising:  # straight in the logarithms
                share = math.log(old / WITHIN) / math.log(old / new) if min(old, new) > 0 else old > WITHIN
                return before * (beta / before) ** share
            if taken == 1 and not rising and new < max(CLEAR * WITHIN, LITTLE * old):
                if gap(beta / RATE_STEP**(MOST_RATE_STEPS - 1)) < WITHIN / 2:
                    return 0.0
            if rising and taken >= STEPS_TO_FALL and new > FALLEN * gaps[taken - STEPS_TO_FALL]:
                return None
    except SettingError:
        return None
    return None if rising else 0.0
