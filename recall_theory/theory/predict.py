"""`predict`: from a setting to attention, recall and accuracy, by quadrature of closed forms.

No random number is drawn and no file is read here: the three steps' laws are quadratures over what differs
from seed to seed. `predict_many` is the same for arrays of settings.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..activations import activation as activation_of
from ..numerics.plain_data import SCHEMA_VERSION
from ..settings import EMBEDDINGS, N_TEST, OBSERVABLES, PARAMETERS, Setting, SettingError, activation_in_use
from .accuracy import DEFAULT, Accuracy
from .batch import Batch
from .domain import is_checked, remarks
from .noise_budget import mlp_recall_terms, recall_terms, typical_kernel
from .orthogonal import orthogonal_prediction, orthogonal_terms
from .recall import recall_and_accuracy
from .seed import attention_terms, mean_and_std, seed_law

LAW = 2  # the version of what is predicted, in every JSON with predictions: raised whenever a golden value moves

# Spreads are roots of differences: below these, of seeds and of an observation, they are rounding, and given as 0.
RESOLVED, OBSERVABLE = 1 / 2_000_000, 1 / 10**8

FloatArray = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Prediction:
    """The predicted observables of one setting: means over seeds, spreads and the noise budget.

    `attention`, `recall` and `accuracy` are probabilities. `spread` holds their standard deviations from
    seed to seed, `std` the same as an observation on `N_TEST` fresh sequences a seed shows it. `terms`
    holds, for "attention" and "recall", the named contributions to (noise/signal)^2.
    """

    setting: Setting
    attention: float
    recall: float
    accuracy: float
    std: dict[str, float]
    spread: dict[str, float]
    terms: dict[str, dict[str, float]]

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
            "predicted": {**{o: getattr(self, o) for o in OBSERVABLES}, "std": dict(self.std)},
            "terms": {k: dict(v) for k, v in self.terms.items()},
            "checked": self.checked,
            "remarks": list(self.remarks),
        }


@dataclasses.dataclass(frozen=True)
class _Arrays:
    """Means, spreads and terms of flat arrays of settings."""

    attention: FloatArray
    recall: FloatArray
    accuracy: FloatArray
    std: dict[str, FloatArray]
    spread: dict[str, FloatArray]
    terms: dict[str, dict[str, FloatArray]]


@dataclasses.dataclass(frozen=True)
class Predictions:
    """`Prediction` for arrays of settings: sizes and observables are arrays of the broadcast shape.

    `V`, `L`, `d`, `N` and `m` (None without an MLP) are the sizes; `activation`, `embedding` and `trigger_in_value` are
    what all settings share; the other fields are those of `Prediction`.
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

    @property
    def checked(self) -> NDArray[np.bool_]:
        """Where settings lie in the domain in which predictions were checked against simulation."""
        sizes = {"V": self.V, "L": self.L, "d": self.d, "N": self.N} | ({} if self.m is None else {"m": self.m})
        return is_checked(sizes, self.activation, self.embedding)

    def to_dict(self) -> dict[str, Any]:
        """Columns of a table with one row a setting, by the names that `recall-theory predict --csv` gives them.

        Arrays are flattened in C order. `pandas.DataFrame(predictions.to_dict())` makes a data frame of it.

        >>> table = predict_many(V=[256, 512], L=32, d=128, N=16384).to_dict()
        >>> table["V"].tolist(), len(table["std.recall"])
        ([256, 512], 2)
        """
        rows = self.V.size
        sizes: dict[str, Any] = {name: np.rint(getattr(self, name).reshape(-1)).astype(np.int64)
                                 for name in ("V", "L", "d", "N")}
        sizes["m"] = [None] * rows if self.m is None else np.rint(self.m.reshape(-1)).astype(np.int64)
        shared = {name: [getattr(self, name)] * rows for name in ("activation", "embedding", "trigger_in_value")}
        means = {o: getattr(self, o).reshape(-1) for o in OBSERVABLES}
        spreads = {f"std.{o}": v.reshape(-1) for o, v in self.std.items()}
        terms = {f"terms.{step}.{name}": v.reshape(-1) for step, of in self.terms.items() for name, v in of.items()}
        return {**sizes, **shared, **means, **spreads, **terms, "checked": self.checked.reshape(-1)}


def predict(setting: Setting, accuracy: Accuracy = DEFAULT) -> Prediction:
    """Attention, recall and accuracy of a setting, averaged over seeds, without a fitted constant.

    Derived in docs/derivations; the theory is of the limit eta -> 0, eta*gamma -> infinity, so finite
    learning rates raise `SettingError`.

    >>> p = predict(Setting(V=1024, L=64, d=256, N=65536))
    >>> round(p.recall, 2), round(p.attention, 2)
    (0.36, 1.0)
    """
    if not setting.is_limit:
        raise SettingError("eta", "predict describes the limit eta -> 0, eta*gamma -> infinity: leave "
                           f"eta={setting.eta:g} and gamma={setting.gamma:g} out (simulate takes them)")
    V, L, d, N = (np.array([x], dtype=float) for x in (setting.V, setting.L, setting.d, setting.N))
    m = None if setting.m is None else np.array([setting.m], dtype=float)
    phi = None if m is None else setting.activation or "relu"
    many = _arrays(Batch(V, L, d, N, m, None if phi is None else activation_of(phi), setting.embedding,
                         int(setting.trigger_in_value)), accuracy)
    return Prediction(
        setting, float(many.attention[0]), float(many.recall[0]), float(many.accuracy[0]),
        std={o: float(v[0]) for o, v in many.std.items()},
        spread={o: float(v[0]) for o, v in many.spread.items()},
        terms={k: {n: float(t[0]) for n, t in v.items()} for k, v in many.terms.items()},
    )


def predict_many(V: ArrayLike, L: ArrayLike, d: ArrayLike, N: ArrayLike, *, m: ArrayLike | None = None,
                 activation: Any = None, embedding: str = "gaussian", trigger_in_value: bool = True,
                 accuracy: Accuracy = DEFAULT) -> Predictions:
    """`predict` for arrays of settings; V, L, d, N and, with an MLP, m broadcast against one another.

    Arrays may be empty. Either all settings have an MLP or none has. Raises `SettingError` where any value lies
    outside its domain.

    >>> predict_many(V=[256, 512], L=32, d=128, N=16384).recall.shape
    (2,)
    """
    if m is not None and np.asarray(m).dtype == object and None in np.asarray(m):
        raise SettingError("m", "m holds None beside widths: ask for the settings without an MLP in another call, "
                           "without m")
    given = (V, L, d, N) if m is None else (V, L, d, N, m)
    sizes = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in given))
    for name, values in zip(("V", "L", "d", "N", "m"), sizes, strict=False):
        p = PARAMETERS[name]
        bad = ~((values >= p.low) & (values <= p.high) & (values == np.floor(values)))
        if bad.any():
            raise SettingError(name, f"{name}={values[bad].flat[0]:g} is not {p.domain}")
    if embedding not in EMBEDDINGS:
        raise SettingError("embedding", f"embedding={embedding!r} is not {PARAMETERS['embedding'].domain}")
    if embedding == "orthogonal" and (sizes[2] < sizes[0]).any():
        raise SettingError("d", "orthogonal embeddings need d of at least V in every setting")
    return predictions_at(dict(zip(("V", "L", "d", "N", "m"), sizes, strict=False)), activation_in_use(m, activation),
                          embedding, trigger_in_value, accuracy)


def predictions_at(sizes: Mapping[str, FloatArray], phi: str | None, embedding: str, trigger_in_value: bool,
                   accuracy: Accuracy = DEFAULT) -> Predictions:
    """`predict_many` for sizes that need no check: arrays V, L, d, N and, with an activation, m, of one shape.

    N may be beyond its domain here, which stands for the limit of many samples.
    """
    shape, number = sizes["V"].shape, sizes["V"].size
    rows = {name: np.ascontiguousarray(x).reshape(-1) if number else np.array([2.0])  # the laws want one
            for name, x in sizes.items()}

    def shaped(x: FloatArray) -> FloatArray:
        return x[:number].reshape(shape)

    flat = _arrays(Batch(rows["V"], rows["L"], rows["d"], rows["N"], rows.get("m"),
                         None if phi is None else activation_of(phi), embedding, int(trigger_in_value)), accuracy)
    return Predictions(
        V=shaped(rows["V"]), L=shaped(rows["L"]), d=shaped(rows["d"]), N=shaped(rows["N"]),
        m=None if phi is None else shaped(rows["m"]),
        activation=phi, embedding=embedding, trigger_in_value=bool(trigger_in_value),
        attention=shaped(flat.attention), recall=shaped(flat.recall), accuracy=shaped(flat.accuracy),
        std={o: shaped(v) for o, v in flat.std.items()},
        spread={o: shaped(v) for o, v in flat.spread.items()},
        terms={k: {n: shaped(t) for n, t in v.items()} for k, v in flat.terms.items()},
    )


def _arrays(batch: Batch, accuracy: Accuracy) -> _Arrays:
    """The prediction for flat arrays of valid sizes."""
    V, L, d, N, e = batch.V, batch.L, batch.d, batch.N, bool(batch.e)
    if batch.embedding == "orthogonal":
        if batch.m is not None:
            raise SettingError("embedding", "embedding='orthogonal': with an MLP predict describes gaussian and "
                               "sphere embeddings (simulate takes it)")
        found = orthogonal_prediction(V, L, d, N, e, accuracy)
        terms = orthogonal_terms(V, L, d, N, e)
    else:
        if batch.embedding == "sphere":
            d = np.maximum(d, 2)  # a line has no directions to average over: the circle stands in for it
            batch = dataclasses.replace(batch, d=d)
        law = seed_law(V, L, d, N, batch.embedding, e, m=batch.m, phi=batch.phi, accuracy=accuracy)
        mean, std, finite = mean_and_std(law, accuracy)
        found = recall_and_accuracy(batch, np.where(L > 1, 1 - mean, 0), finite, accuracy)
        found["attention"] = np.where(L > 1, mean, 1.0)
        found["attention_std"] = np.where(L > 1, std, 0.0)
        budget = attention_terms(V, L, d, N, batch.embedding, e, m=batch.m, phi=batch.phi)
        terms = {"attention": {name: np.where(L > 1, term, 0.0) for name, term in budget.items()},
                 "recall": recall_terms(V, d, N, e) if batch.phi is None else
                 mlp_recall_terms(typical_kernel(batch.phi, d, batch.e), V, d, N, batch.m)}
    # quadrature weights sum to 1 but for rounding
    values = tuple(np.clip(found[o], 0, 1) for o in OBSERVABLES)
    spread = _resolved(found)
    attention, recall, right = values
    return _Arrays(attention, recall, right, _observed_std(values, spread), spread, terms)


def _resolved(found: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """The spreads over seeds that are more than rounding."""
    return {o: np.where(found[o + "_std"] > RESOLVED, found[o + "_std"], 0) for o in OBSERVABLES}


def _observed_std(values: tuple[FloatArray, ...], spread: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Spread over seeds with the sampling of `N_TEST` sequences, E p(1-p)/n, that an observation adds."""
    observed = dict(spread)
    for name, mean in zip(OBSERVABLES, values, strict=True):
        if name != "recall":  # recall is counted over all tokens: nothing is sampled
            sampling = np.maximum(mean * (1 - mean) - spread[name] ** 2, 0) / N_TEST
            total = np.sqrt(spread[name] ** 2 + sampling)
            observed[name] = np.where(total > OBSERVABLE, total, 0)
    return observed
