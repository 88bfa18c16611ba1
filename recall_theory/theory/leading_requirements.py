"""What the leading laws require of a setting, one cause at a time, beside what the setting has."""

from __future__ import annotations

import dataclasses

from ..settings import PARAMETERS, Setting
from .formulas import leading_laws as laws

Law = tuple[str, str, str, str, float]  # the fields of a `Requirement` but for what the setting has


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
    """
    from .domain import sizes_of

    sizes = sizes_of(setting)
    laws = _without_mlp(setting, **sizes) if setting.m is None else _with_mlp(setting, **sizes)
    return [Requirement(name, cause, law, size, float(value), sizes[size]) for name, cause, law, size, value in laws]


def _without_mlp(setting: Setting, V: float, L: float, d: float, N: float) -> list[Law]:
    """Of orthogonal embeddings the counts are all that noise is made of."""
    coverage: Law = ("law.recall.coverage", "recall: every fact must occur", "N = V ln V", "N", laws.recall_coverage(V))
    if setting.embedding == "orthogonal":
        return [coverage]
    e = int(setting.trigger_in_value)
    mean_embedding: Law = (
        "law.attention.mean_embedding", "attention: label frequencies stored with the mean embedding",
        "N^2 d^3 = 2 V L^4 ln L", "N", laws.attention_mean_embedding(V, L, d))
    mean_bias: Law = ("law.recall.mean_bias", "recall: label frequencies carried by the trigger", "N d = 2 V^2 ln V",
                      "N", laws.recall_mean_bias(V, d, 1))
    return [
        ("law.attention.trigger_overlap", "attention: a token's overlap with the trigger", "d = 2 ln L", "d",
         laws.attention_dimension(L)),
        *([mean_embedding] if e else []),
        ("law.attention.noise_tokens", "attention: label frequencies stored with the noise tokens",
         "N^2 d^4 = 2 V^2 L^3 ln L", "N", laws.attention_noise_tokens(V, L, d)),
        ("law.attention.informative_tokens", "attention: label frequencies stored with the informative tokens",
         "N d^4 = 2 V L^2 ln L", "N", laws.attention_informative_tokens(V, L, d)),
        ("law.recall.interference", "recall: interference of the stored pairs", f"d^2 = {2 * (1 + e)} V ln V", "V",
         laws.recall_interference(d, e, 1)),
        *([mean_bias] if e else []),
        coverage,
    ]


def _with_mlp(setting: Setting, V: float, L: float, d: float, N: float, m: float) -> list[Law]:
    """Of the activation's moments where attention is learnt and where facts are stored."""
    from ..activations import activation
    from .formulas.step_two import input_power
    from .noise_budget import typical_kernel
    from .seed import activation_moments

    e, phi = int(setting.trigger_in_value), activation(setting.activation)
    k = {name: float(value) for name, value in activation_moments(phi, input_power(V, L, e)).items()}
    kernel = typical_kernel(phi, d, e)
    k1, k0, kz, kv = (float(x) for x in (kernel.own, kernel.mean, kernel.noise, kernel.variance * d))
    of_attention: list[Law] = [
        ("mlp.law.attention.mean_bias", "attention: label frequencies stored with the mean embedding",
         "N^2 d^3 = 2 V L^4 ln L (h_1/A)^2", "N", (laws.law_mean_bias(V, L, k["A"], k["h1"]) / d**3) ** (1 / 2)),
        ("mlp.law.attention.mlp_mean", "attention: the mean of phi phi' at finite width",
         "m N^2 d^2 = 2 V^2 L^4 ln L (h_0/A)^2", "m", laws.law_mlp_mean(V, L, k["A"], k["h0"]) / (N * d) ** 2),
        ("mlp.law.attention.mlp_noise", "attention: the neurons' noise",
         "m N^2 d^2 = 2 V^2 L^4 ln L (1/L + 1/d) P_0 P_2/A^2", "m",
         laws.law_mlp_noise(V, L, d, k["A"], k["P0"], k["P2"]) / (N * d) ** 2),
    ]
    linear = L > 1 and k["A"] * L**2 > k["A2"]  # these laws are of the activation's linear part
    return [
        ("law.attention.trigger_overlap", "attention: a token's overlap with the trigger", "d = 2 ln L", "d",
         laws.attention_dimension(L)),
        *(of_attention if linear else []),
        ("mlp.law.recall.interference", "recall: interference of the kernel", "d^2 = 2 V ln V k_v/(k_1 - k_0)^2", "d",
         laws.law_recall_interference(V, k1, k0, kv) ** (1 / 2)),
        ("mlp.law.recall.mlp_noise", "recall: the neurons' noise", "m d = 2 V ln V k_z/(k_1 - k_0)^2", "m",
         laws.law_recall_mlp_noise(V, k1, k0, kz) / d),
        ("mlp.law.recall.mean_bias", "recall: label frequencies carried by what all values share",
         "N d = 2 V^2 ln V k_0^2/(k_1 - k_0)^2", "N", laws.law_recall_mean_bias(V, k1, k0) / d),
        ("law.recall.coverage", "recall: every fact must occur", "N = V ln V", "N", laws.recall_coverage(V)),
    ]
