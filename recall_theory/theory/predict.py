"""`predict`: from a setting to attention, recall and accuracy, by quadrature of closed forms.

No random number is drawn and no file is read here: the three steps' laws are quadratures over what differs
from seed to seed. `predict_many` is the same for arrays of settings.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..activations import activation as activation_of
from ..numerics.arrays import FloatArray
from ..numerics.formatting import SCHEMA_VERSION
from ..settings import (
    EMBEDDINGS,
    N_TEST,
    OBSERVABLES,
    PARAMETERS,
    SIZES,
    Setting,
    SettingError,
    activation_in_use,
    beta_of,
)
from .accuracy import DEFAULT, Accuracy
from .accuracy import LAW as LAW  # others have it from here
from .domain import Batch, batch_of, is_checked, remarks
from .finite_rates import softened
from .noise_budget import recall_terms
from .orthogonal import orthogonal_prediction, orthogonal_terms
from .recall import recall_and_accuracy
from .seed import SeedLaws, mean_and_std

# Spreads are roots of differences: below these, of seeds and of an observation, they are rounding, and given as 0.
RESOLVED, OBSERVABLE = 1 / 2_000_000, 1 / 10**8
SETTINGS_AT_ONCE = 256  # of which each takes a megabyte; decides no value
Fields = dict[str, Any]  # of predictions, by name: arrays, and dictionaries of arrays


@dataclasses.dataclass(frozen=True)
class Prediction:
    """The predicted observables of one setting: means over seeds, spreads and the noise budget.

    `attention`, `recall` and `accuracy` are probabilities. `spread` holds their standard deviations from
    seed to seed, `std` the same as an observation on `N_TEST` fresh sequences a seed shows it. `terms`
    holds, for "attention" and "recall", the named contributions to (noise/signal)^2. `attention_weight` is the mean
    weight that attention gives to the informative token: in the limit it is `attention`, the chance that this is the
    greatest, which does not depend on the learning rates.
    """

    setting: Setting
    attention: float
    recall: float
    accuracy: float
    std: dict[str, float]
    spread: dict[str, float]
    terms: dict[str, dict[str, float]]
    attention_weight: float = math.nan

    @functools.cached_property
    def remarks(self) -> tuple[str, ...]:
        """Where the setting lies outside the domain that was checked: why, and the error to expect."""
        return remarks(self.setting)

    @property
    def checked(self) -> bool:
        """Whether the setting lies in the domain in which predictions were checked against simulation."""
        return not self.remarks

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `recall-theory predict`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "law": LAW,
            "setting": self.setting.to_dict(),
            "predicted": {**{o: getattr(self, o) for o in OBSERVABLES}, "std": dict(self.std),
                          **({} if self.setting.is_limit else {"attention_weight": self.attention_weight})},
            "terms": {k: dict(v) for k, v in self.terms.items()},
            "checked": self.checked,
            "remarks": list(self.remarks),
        }


@dataclasses.dataclass(frozen=True)
class Predictions:
    """`Prediction` for arrays of settings: sizes and observables are arrays of the broadcast shape.

    `V`, `L`, `d`, `N` and `m` (None without an MLP) are the sizes; `activation`, `embedding` and `trigger_in_value` are
    what all settings share, as is `beta`, eta*gamma or None in the limit; the other fields are those of `Prediction`.
    """

    V: FloatArray
    L: FloatArray
    d: FloatArray
    N: FloatArray
    m: FloatArray | None
    activation: str | None
    embedding: str
    trigger_in_value: bool
    attention: FloatArray
    recall: FloatArray
    accuracy: FloatArray
    std: dict[str, FloatArray]
    spread: dict[str, FloatArray]
    terms: dict[str, dict[str, FloatArray]]
    attention_weight: FloatArray
    beta: float | None = None

    @property
    def checked(self) -> NDArray[np.bool_]:
        """Where settings lie in the domain in which predictions were checked against simulation."""
        return is_checked(Batch(self.V, self.L, self.d, self.N, self.m,
                                None if self.activation is None else activation_of(self.activation), self.embedding,
                                int(self.trigger_in_value), beta=self.beta))

    def to_dict(self) -> dict[str, Any]:
        """Columns of a table with one row a setting, by the names that `recall-theory predict --csv` gives them.

        Arrays are flattened in C order. `pandas.DataFrame(predictions.to_dict())` makes a data frame of it.

        >>> table = predict_many(V=[256, 512], L=32, d=128, N=16384).to_dict()
        >>> table["V"].tolist(), len(table["std.recall"])
        ([256, 512], 2)
        """
        rows = self.V.size
        sizes: dict[str, Any] = {name: [None] * rows if x is None else np.rint(x.reshape(-1)).astype(np.int64)
                                 for name in SIZES for x in [getattr(self, name)]}
        shared = {name: [getattr(self, name)] * rows for name in ("activation", "embedding", "trigger_in_value")}
        columns = {o: getattr(self, o) for o in OBSERVABLES} | {f"std.{o}": x for o, x in self.std.items()}
        columns |= {f"terms.{step}.{name}": x for step, of in self.terms.items() for name, x in of.items()}
        columns["checked"] = self.checked
        return {**sizes, **shared, **{name: x.reshape(-1) for name, x in columns.items()}}


def predict(setting: Setting, accuracy: Accuracy = DEFAULT, *, bits: int | None = None) -> Prediction:
    """Attention, recall and accuracy of a setting, averaged over seeds, without a fitted constant.

    Derived in docs/derivations. With finite eta and gamma it is the law of eta -> 0 at that eta*gamma, of Gaussian and
    sphere embeddings without an MLP; others raise `SettingError`. With `bits`, an integer from 1 to 64, the entries of
    Val are quantised after training (`recall_theory.numerics.quantiser`): in the limit, without an MLP.

    >>> p = predict(Setting(V=1024, L=64, d=256, N=65536))
    >>> round(p.recall, 2), round(p.attention, 2)
    (0.36, 1.0)
    >>> [round(predict(Setting(V=1024, L=64, d=256, N=65536), bits=b).recall, 2) for b in (1, 2, 4)]
    [0.31, 0.35, 0.36]
    """
    return _prediction(setting, _predicted(batch_of(setting, bits), accuracy), 0)


def predict_each(settings: Sequence[Setting]) -> list[Prediction]:
    """`predict` of each of these settings, in about half of the time: those that differ in sizes alone are computed
    together.

    >>> near, far = predict_each([Setting(V=256, L=16, d=128, N=N) for N in (16384, 65536)])
    >>> near == predict(near.setting), round(far.recall, 2)
    (True, 0.8)
    """
    alike: dict[tuple[Any, ...], list[int]] = {}
    for i, s in enumerate(settings):
        alike.setdefault((s.activation, s.embedding, s.trigger_in_value, s.eta, s.gamma), []).append(i)
    found: dict[int, Prediction] = {}
    for members in alike.values():
        batch = batch_of(settings[members[0]])
        sizes: dict[str, Any] = {name: np.array([getattr(settings[i], name) for i in members], dtype=float)
                                 for name in SIZES if getattr(batch, name) is not None}
        fields = _predicted(dataclasses.replace(batch, **sizes), DEFAULT)
        for place, i in enumerate(members):
            found[i] = _prediction(settings[i], fields, place)
    return [found[i] for i in range(len(settings))]


def predict_many(V: ArrayLike, L: ArrayLike, d: ArrayLike, N: ArrayLike, *, m: ArrayLike | None = None,
                 activation: Any = None, embedding: str = "gaussian", trigger_in_value: bool = True,
                 eta: float | None = None, gamma: float | None = None, accuracy: Accuracy = DEFAULT,
                 bits: int | None = None) -> Predictions:
    """`predict` for arrays of settings; V, L, d, N and, with an MLP, m broadcast against one another. All have the same
    learning rates, and bits.

    They are computed on up to four threads, or as many as the environment's NUMBA_NUM_THREADS says, which decides no
    value. Arrays may be empty. Either all settings have an MLP or none has. Raises `SettingError` where any value lies
    outside its domain.

    >>> predict_many(V=[256, 512], L=32, d=128, N=16384).recall.shape
    (2,)
    """
    if m is not None and np.asarray(m).dtype == object and None in np.asarray(m):
        raise SettingError("m", "m holds None beside widths: ask for the settings without an MLP in another call, "
                           "without m")
    given = (V, L, d, N) if m is None else (V, L, d, N, m)
    arrays = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in given))
    sizes = dict(zip(SIZES, arrays, strict=False))
    for name, values in sizes.items():
        p = PARAMETERS[name]
        bad = ~((values >= p.low) & (values <= p.high) & (values == np.floor(values)))
        if bad.any():
            raise SettingError(name, f"{name}={values[bad].flat[0]:g} is not {p.domain}")
    if embedding not in EMBEDDINGS:
        raise SettingError("embedding", f"embedding={embedding!r} is not {PARAMETERS['embedding'].domain}")
    if embedding == "orthogonal" and (sizes["d"] < sizes["V"]).any():
        raise SettingError("d", "orthogonal embeddings need d of at least V in every setting")
    batch = Batch.of(**sizes, phi=activation_in_use(m, activation), embedding=embedding,
                     trigger_in_value=trigger_in_value, bits=bits, beta=beta_of(eta, gamma))
    return predictions_at(batch, accuracy, arrays[0].shape)


def predictions_at(batch: Batch, accuracy: Accuracy = DEFAULT, shape: tuple[int, ...] = (-1,)) -> Predictions:
    """`predict_many` for settings that need no check, with arrays of that shape.

    N may be beyond its domain here, which stands for the limit of many samples.
    """
    number, names = len(batch.V), SIZES[:4 if batch.m is None else 5]
    one: dict[str, Any] = dict.fromkeys(names, np.full(1, 2.0))  # the laws want a setting
    rows = batch if number else dataclasses.replace(batch, **one)
    fields = {name: getattr(rows, name) for name in names} | _predicted(rows, accuracy)
    arrays = _each(fields, lambda x: x[:number].reshape(shape))
    return Predictions(**{"m": None, **arrays}, activation=batch.activation, embedding=batch.embedding,
                       trigger_in_value=bool(batch.e), beta=batch.beta)


def _prediction(setting: Setting, fields: Fields, place: int) -> Prediction:
    """That of a setting which stands at this place of the arrays."""
    return Prediction(setting, **_each(fields, lambda x: float(x[place])))


def _each(tree: Fields, of_array: Callable[[FloatArray], Any]) -> Fields:
    """The same dictionary of dictionaries, with a function of each array in its place."""
    return {name: _each(x, of_array) if isinstance(x, dict) else of_array(x) for name, x in tree.items()}


def _joined(trees: Sequence[Fields]) -> Fields:
    """One dictionary of dictionaries, with the arrays of all of these, which have the same names, one after another."""
    return {name: _joined([tree[name] for tree in trees]) if isinstance(first, dict)
            else np.concatenate([tree[name] for tree in trees]) for name, first in trees[0].items()}


def _predicted(batch: Batch, accuracy: Accuracy) -> Fields:
    """The fields of `Prediction` for valid sizes, of which there are some."""
    return _joined([_predicted_at_once(batch.at(slice(start, start + SETTINGS_AT_ONCE)), accuracy)
                    for start in range(0, len(batch.V), SETTINGS_AT_ONCE)])


def _predicted_at_once(batch: Batch, accuracy: Accuracy) -> Fields:
    """The same of so many settings as there is memory for."""
    L = batch.L
    if batch.embedding == "orthogonal":
        found, terms = orthogonal_prediction(batch, accuracy), orthogonal_terms(batch)
    else:
        if batch.sphere:  # a line has no directions to average over: the circle stands in for it
            batch = dataclasses.replace(batch, d=np.maximum(batch.d, 2))
        mean, std, finite = np.ones_like(L), np.zeros_like(L), np.zeros_like(L)
        laws = SeedLaws(batch, accuracy)
        longer = np.flatnonzero(L > 1)  # a sequence of one token attends to it
        if len(longer):
            mean[longer], std[longer], finite[longer] = mean_and_std(laws.for_attention(longer), accuracy)
        found = (recall_and_accuracy if batch.beta is None else softened)(laws, 1 - mean, finite)
        found |= {"attention": mean, "attention_std": std}
        terms = {"attention": {name: np.where(L > 1, term, 0.0) for name, term in laws.attention_terms().items()},
                 "recall": recall_terms(batch)}
    # quadrature weights sum to 1 but for rounding
    means = {o: np.clip(found[o], 0, 1) for o in OBSERVABLES}
    weight = np.clip(found.get("weight", found["attention"]), 0, 1)
    spread = {o: np.where(found[o + "_std"] > RESOLVED, found[o + "_std"], 0) for o in OBSERVABLES}
    # recall is counted over all tokens: nothing is sampled
    observed = {o: spread[o] if o == "recall" else _observed_std(means[o], spread[o]) for o in OBSERVABLES}
    return {**means, "attention_weight": weight, "std": observed, "spread": spread, "terms": terms}


def _observed_std(mean: FloatArray, spread: FloatArray) -> FloatArray:
    """Spread over seeds with the sampling of `N_TEST` sequences, E p(1-p)/n, that an observation adds."""
    total = np.sqrt(spread ** 2 + np.maximum(mean * (1 - mean) - spread ** 2, 0) / N_TEST)
    return np.where(total > OBSERVABLE, total, 0)
