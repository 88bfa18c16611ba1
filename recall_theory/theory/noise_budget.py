"""The noise budget: contributions to (noise/signal)^2 by cause, at a typical seed and fact, and what laws ask for."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Mapping

import numpy as np

from ..activations import Activation, activation
from ..numerics.arrays import FloatArray
from ..numerics.quantiser import compression, quantiser_noise
from ..settings import PARAMETERS, Setting
from .domain import Batch, sizes_of
from .formulas import recall_formulas as rt
from .formulas.leading_laws import STATED
from .formulas.step_two import input_power
from .kernel import TypicalKernel, typical_kernel
from .seed import activation_moments

HARDLY_EVER = 1 / 10**12  # of what hardly ever fails, one step as little as the other


def recall_terms(batch: Batch) -> dict[str, FloatArray]:
    """Contributions to (noise/signal)^2 of recall at right attention and tau = 1, by cause.

    With an MLP every name begins with one of "mean bias", "gradient noise", "MLP noise", "interference".

    >>> {k: round(float(v[0]), 4) for k, v in recall_terms(Batch.of(512, 2, 128, 51200)).items()}
    {'interference': 0.0625, 'gradient noise': 0.0006, 'mean bias': 0.04, 'token overlap': 0.0258}
    """
    V, d, N, e, bits = batch.V, batch.d, batch.N, batch.e, batch.bits
    if batch.phi is not None and batch.m is not None:
        return _mlp_terms(typical_kernel(batch.phi, d, e), V, d, N, batch.m)
    terms = {"interference": rt.interference(V, d, e, 1), "gradient noise": rt.gradient_noise(V, d, N, e, 1)}
    if e:
        terms["mean bias"] = rt.mean_bias(V, d, N, e, 1)
    terms["token overlap"] = rt.token_overlap(d, N, V, e, 1)
    if bits is not None:
        terms["quantisation"] = rt.quantisation(V, d, N, e, 1, quantiser_noise(bits))
        if e:
            terms["mean bias"] = terms["mean bias"] * rt.trigger_kept(V, N, e, 1, compression(bits))**2
    return {k: np.broadcast_to(v, V.shape) for k, v in terms.items()}


def _mlp_terms(k: TypicalKernel, V: FloatArray, d: FloatArray, N: FloatArray, m: FloatArray) -> dict[str, FloatArray]:
    """`recall_terms` with an MLP of m neurons."""
    lam = N / V
    scale = V / (d * k.lead**2)
    return {
        "interference: kernel": scale * k.variance * (1 - 1 / m),
        "gradient noise: kernel": scale * k.variance * (1 - 1 / m) / lam,
        "MLP noise: neurons": scale * k.noise / m * (1 + 1 / lam) + k.spread / m / k.lead**2 / d,
        "mean bias: mean of phi": scale * k.mean * k.of_mean / lam,
        "mean bias: trigger": scale * k.mean * (k.mean - k.of_mean) / lam,
        "gradient noise: own count": k.own**2 / lam / k.lead**2 / d,
    }


def limit(attention: float, recall: float, ratio: float, terms: Mapping[str, Mapping[str, float]],
          group: Callable[[str], str] = str) -> str:
    """The step that falls shorter, attention or recall, and the largest of its terms, added up by `group`: "recall:
    mean bias". `ratio` is N/V; "recall: facts never seen" where they are most of what is missed."""
    step = "attention" if recall - attention > HARDLY_EVER else "recall"
    if step == "recall" and np.exp(-ratio) > max((1 - recall) / 2, HARDLY_EVER):
        return "recall: facts never seen"
    total: dict[str, float] = {}
    for name, value in terms[step].items():
        total[group(name)] = total.get(group(name), 0) + value
    return f"{step}: {max(total, key=total.__getitem__)}"


# --- what the leading laws require of a setting, one cause at a time -------------------------------

@dataclasses.dataclass(frozen=True)
class Requirement:
    """What one leading law requires of a setting.

    `name` is the law's in the registry of formulas, `cause` and `law` its words, `size` the size that it bounds,
    `value` the least of it (for V the largest) that it allows, and `has` what the setting has.
    """

    name: str
    cause: str
    law: str
    size: str
    value: float
    has: float

    @property
    def met(self) -> bool:
        """Whether the setting has what the law requires."""
        return self.has <= self.value if self.size == "V" else self.has >= self.value

    @property
    def in_regime(self) -> bool:
        """Whether the law says anything here: a leading law holds for large sizes, and may otherwise ask for less
        than one sample, or for more than any size can be."""
        return PARAMETERS[self.size].low <= self.value <= PARAMETERS[self.size].high


def requirements(setting: Setting) -> list[Requirement]:
    """The leading laws of attention and recall at the setting's sizes.

    >>> [r.size for r in requirements(Setting(V=1024, L=64, d=256, N=65536))]
    ['d', 'N', 'N', 'N', 'V', 'N', 'N']
    >>> keys_only = requirements(Setting(V=1024, L=64, d=256, N=64, trigger_in_value=False))
    >>> [r.cause for r in keys_only if r.cause.startswith("attention") and not r.met]
    ['attention: label frequencies stored with the mean embedding']
    """
    e, sizes = int(setting.trigger_in_value), sizes_of(setting)
    known: dict[str, float] = {**sizes, "e": e, "tau": 1.0}
    attention = ["mean_embedding", "noise_tokens", "informative_tokens"]
    recall, mlp = ["interference", *["mean_bias"] * e], ""
    if setting.m is not None:
        known |= leading_moments(activation(setting.activation), sizes["V"], sizes["L"], sizes["d"], e)
        attention = ["mean_bias", "gradient_noise", "mlp_mean", "mlp_noise"] if is_linear(known, sizes["L"]) else []
        recall, mlp = ["interference", "mlp_noise", "mean_bias"], "mlp."
    names = ["law.attention.trigger_overlap", *(f"{mlp}law.attention.{cause}" for cause in attention),
             *(f"{mlp}law.recall.{cause}" for cause in recall)]
    # With orthogonal embeddings counts are all that noise is made of.
    return [_requirement(name, known) for name in (*(names if setting.embedding != "orthogonal" else ()),
                                                   "law.recall.coverage")]


def is_linear(moments: Mapping[str, float], L: float) -> bool:
    """Whether the linear part of an activation of such moments is what attention learns by: its laws are of that."""
    return L > 1 and moments["A"] * L**2 > moments["A2"]


def _requirement(name: str, known: Mapping[str, float]) -> Requirement:
    """That of one law; with an MLP its equation is solved for the size."""
    law = STATED[name]
    arguments = inspect.signature(law.function).parameters
    value = float(law.function(**{argument: known[argument] for argument in arguments}))
    if name.startswith("mlp."):
        left = {size: int(power or 1) for size, power in re.findall(r"(\w)(?:\^(\d))?", law.equation.split("=")[0])}
        power = left.pop(law.size)
        value = (value / math.prod(known[size]**other for size, other in left.items())) ** (1 / power)
    return Requirement(name, law.cause, law.equation.format(c=2 * (1 + int(known["e"]))), law.size, value,
                       known[law.size])


def leading_moments(phi: Activation, V: float, L: float, d: float, e: int) -> dict[str, float]:
    """The moments of an activation that leading laws take: those of `StepTwo` in step two, and the kernel's in step
    three, with itself k1, mean k0, d and m times its variances kv and kz."""
    kernel = typical_kernel(phi, d, e)
    found = activation_moments(phi, input_power(V, L, e)) | {
        "k1": kernel.own, "k0": kernel.mean, "kv": kernel.variance * d, "kz": kernel.noise}
    return {name: float(value) for name, value in found.items()}
