"""What the leading laws ask of a setting, one cause at a time, beside what the setting has."""

from __future__ import annotations

import dataclasses

from ..setting import Setting
from .numbers import count, number


@dataclasses.dataclass(frozen=True)
class Asked:
    """One law: its registered name, its cause and text, the size it bounds and the least (or, for V, the
    largest) value it allows."""

    name: str
    cause: str
    law: str
    size: str
    value: float
    has: float

    @property
    def shown(self) -> str:
        """The value as people see it."""
        return number(self.value) if self.value < 10 else count(self.value)

    @property
    def met(self) -> bool:
        """Whether the setting has what the law asks."""
        return self.has <= self.value if self.size == "V" else self.has >= self.value


def asked(setting: Setting) -> list[Asked]:
    """The leading laws of attention and recall at the setting's sizes; none with an MLP, whose activation
    they leave out.

    >>> [a.size for a in asked(Setting(V=1024, L=64, d=256, N=65536))]
    ['d', 'N', 'N', 'N', 'V', 'N', 'N']
    """
    from ..theory import laws

    if setting.m is not None:
        return []
    V, L, d, N = (float(getattr(setting, name)) for name in ("V", "L", "d", "N"))
    e = int(setting.trigger_in_value)
    found = []
    if setting.embedding != "orthogonal":
        found += [
            Asked("law.attention.trigger_overlap", "attention: a token's overlap with the trigger",
                  "d = 2 ln L", "d", float(laws.attention_dimension(L=L)), d),
            Asked("law.attention.noise_tokens", "attention: label frequencies stored with the noise tokens",
                  "N^2 d^4 = 2 V^2 L^3 ln L", "N", float(laws.attention_noise_tokens(V=V, L=L, d=d)), N),
            Asked("law.attention.informative_tokens",
                  "attention: label frequencies stored with the informative tokens",
                  "N d^4 = 2 V L^2 ln L", "N", float(laws.attention_informative_tokens(V=V, L=L, d=d)), N),
        ]
        if e:
            found.insert(1, Asked(
                "law.attention.mean_embedding", "attention: label frequencies stored with the mean embedding",
                "N^2 d^3 = 2 V L^4 ln L", "N", float(laws.attention_mean_embedding(V=V, L=L, d=d)), N))
        found.append(Asked("law.recall.interference", "recall: interference of the stored pairs",
                           f"d^2 = {2 * (1 + e)} V ln V", "V",
                           float(laws.recall_interference(d=d, e=e, tau=1)), V))
        if e:
            found.append(Asked("law.recall.mean_bias", "recall: label frequencies carried by the trigger",
                               "N d = 2 V^2 ln V", "N", float(laws.recall_mean_bias(V=V, d=d, tau=1)), N))
    found.append(Asked("law.recall.coverage", "recall: every fact must occur", "N = V ln V", "N",
                       float(laws.recall_coverage(V=V)), N))
    return found
