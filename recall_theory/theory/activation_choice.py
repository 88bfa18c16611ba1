"""Which activation remembers best: the predicted accuracy of each, and the parts of it that decide.

An activation of inputs of variance s is the sum of its Hermite parts. The mean is what all values share: it
stores nothing and carries label-frequency noise. The linear part is the Attention-only model. The higher parts
tell values apart that the linear part confuses, and cost width: m must resolve them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..activations import NAMED, activation, gaussian_mean, hermite_coefficients
from ..settings import Setting, SettingError
from .formulas.step_two import input_power
from .phase import binding
from .predict import predict

EVERY = tuple(NAMED)


@dataclasses.dataclass(frozen=True)
class Parts:
    """Shares of the energy E phi^2 at inputs of variance s: mean^2, linear, quadratic and the rest."""

    s: float
    mean: float
    linear: float
    quadratic: float
    higher: float


@dataclasses.dataclass(frozen=True)
class Choice:
    """One activation in one setting; name None is the Attention-only model, without the MLP.

    `remarks` say why the setting lies outside the domain that was checked. `parts` are at the variance of the values,
    where facts are stored; `parts_of_average` at that of an averaged sequence, where attention is learned.
    """

    name: str | None
    attention: float
    recall: float
    accuracy: float
    std: dict[str, float]
    limited_by: str
    parts: Parts
    parts_of_average: Parts
    remarks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Every field by name."""
        return {**dataclasses.asdict(self), "checked": not self.remarks}


def hermite_parts(name: Any, s: float) -> Parts:
    """The shares of an activation's energy at variance s.

    >>> round(hermite_parts("relu", 1.0).linear, 6)  # 1/4 of 1/2
    0.5
    """
    phi = activation(name)
    c = hermite_coefficients(phi, s, 2)
    energy = float(gaussian_mean(phi, lambda x: phi.phi(x) ** 2, s))
    mean, linear, quadratic = (float(x) ** 2 / energy for x in c)
    return Parts(s, mean, linear, quadratic, max(0, 1 - mean - linear - quadratic))


def compare_activations(setting: Setting | None = None, activations: Sequence[Any] = EVERY, *, V: int | None = None,
                        L: int | None = None, d: int | None = None, N: int | None = None, m: int | None = None,
                        embedding: str = "gaussian", trigger_in_value: bool = True,
                        without: bool = True) -> tuple[Choice, ...]:
    """The activations by predicted accuracy, the best first; `without` adds the Attention-only model.

    Give the sizes V, L, d, N and m, or a `setting` with an m, whose own activation plays no part. Raises `SettingError`
    for a value outside its domain, where m is missing, or where an activation is not accepted.

    >>> found = compare_activations(V=128, L=8, d=32, N=8192, m=256, activations=("relu", "tanh"))
    >>> [(choice.name, round(choice.accuracy, 2)) for choice in found]
    [('tanh', 0.23), (None, 0.16), ('relu', 0.1)]
    """
    if setting is None:
        sizes: dict[str, Any] = {"V": V, "L": L, "d": d, "N": N, "m": m}
        setting = Setting(**sizes, embedding=embedding, trigger_in_value=trigger_in_value)
    if setting.m is None:
        raise SettingError("m", "to compare activations give the width m of the MLP")
    names: list[str | None] = [*dict.fromkeys(activation(a).name for a in activations), *[None] * without]
    e, L = int(setting.trigger_in_value), setting.L
    found = []
    for name in names:
        p = predict(setting.replace(m=None, activation=None) if name is None else setting.replace(activation=name))
        phi = name or "identity"
        found.append(Choice(name, p.attention, p.recall, p.accuracy, std=p.std, limited_by=binding(p),
                            remarks=p.remarks, parts=hermite_parts(phi, 1 + e),  # E|z_in(k) + e z_trig|^2
                            parts_of_average=hermite_parts(phi, input_power(setting.V, L, e))))  # E|hbar|^2
    return tuple(sorted(found, key=lambda choice: -choice.accuracy))
