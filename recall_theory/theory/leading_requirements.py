"""What the leading laws require of a setting, one cause at a time, beside what the setting has."""

from __future__ import annotations

import dataclasses

from ..settings import PARAMETERS, Setting


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
    from .formulas import leading_laws as laws

    if setting.m is not None:
        return _mlp_requirements(setting)
    V, L, d, N = (float(getattr(setting, name)) for name in ("V", "L", "d", "N"))
    e = int(setting.trigger_in_value)
    result = []
    if setting.embedding != "orthogonal":
        result += [
            Requirement("law.attention.trigger_overlap", "attention: a token's overlap with the trigger",
                        "d = 2 ln L", "d", float(laws.attention_dimension(L=L)), d),
            Requirement("law.attention.noise_tokens", "attention: label frequencies stored with the noise tokens",
                        "N^2 d^4 = 2 V^2 L^3 ln L", "N", float(laws.attention_noise_tokens(V=V, L=L, d=d)), N),
            Requirement("law.attention.informative_tokens",
                        "attention: label frequencies stored with the informative tokens",
                        "N d^4 = 2 V L^2 ln L", "N", float(laws.attention_informative_tokens(V=V, L=L, d=d)), N),
        ]
        if e:
            result.insert(1, Requirement(
                "law.attention.mean_embedding", "attention: label frequencies stored with the mean embedding",
                "N^2 d^3 = 2 V L^4 ln L", "N", float(laws.attention_mean_embedding(V=V, L=L, d=d)), N))
        result.append(Requirement("law.recall.interference", "recall: interference of the stored pairs",
                           f"d^2 = {2 * (1 + e)} V ln V", "V",
                           float(laws.recall_interference(d=d, e=e, tau=1)), V))
        if e:
            result.append(Requirement("law.recall.mean_bias", "recall: label frequencies carried by the trigger",
                               "N d = 2 V^2 ln V", "N", float(laws.recall_mean_bias(V=V, d=d, tau=1)), N))
    result.append(Requirement("law.recall.coverage", "recall: every fact must occur", "N = V ln V", "N",
                       float(laws.recall_coverage(V=V)), N))
    return result


def _mlp_requirements(setting: Setting) -> list[Requirement]:
    """The laws with an MLP: of the activation's moments where attention is learnt and where facts are stored."""
    from ..activations import activation
    from .formulas import leading_laws as laws
    from .formulas.step_two import input_power
    from .noise_budget import typical_kernel
    from .seed import activation_moments

    assert setting.m is not None
    V, L, d, N, m = (float(getattr(setting, name)) for name in ("V", "L", "d", "N", "m"))
    e, phi = int(setting.trigger_in_value), activation(setting.activation)
    k = {name: float(value) for name, value in activation_moments(phi, input_power(V, L, e)).items()}
    kernel = typical_kernel(phi, d, e)
    k1, k0, kz, kv = (float(x) for x in (kernel.own, kernel.mean, kernel.noise, kernel.variance * d))
    result = [
        Requirement("law.attention.trigger_overlap", "attention: a token's overlap with the trigger", "d = 2 ln L", "d",
                    float(laws.attention_dimension(L=L)), d),
        Requirement("mlp.law.recall.interference", "recall: interference of the kernel",
                    "d^2 = 2 V ln V k_v/(k_1 - k_0)^2", "d",
                    float(laws.law_recall_interference(V=V, k1=k1, k0=k0, kv=kv)) ** (1 / 2), d),
        Requirement("mlp.law.recall.mlp_noise", "recall: the neurons' noise", "m d = 2 V ln V k_z/(k_1 - k_0)^2", "m",
                    float(laws.law_recall_mlp_noise(V=V, k1=k1, k0=k0, kz=kz)) / d, m),
        Requirement("mlp.law.recall.mean_bias", "recall: label frequencies carried by what all values share",
                    "N d = 2 V^2 ln V k_0^2/(k_1 - k_0)^2", "N",
                    float(laws.law_recall_mean_bias(V=V, k1=k1, k0=k0)) / d, N),
        Requirement("law.recall.coverage", "recall: every fact must occur", "N = V ln V", "N",
                    float(laws.recall_coverage(V=V)), N),
    ]
    if L > 1 and k["A"] * L**2 > k["A2"]:  # the laws of attention are of the activation's linear part
        result[1:1] = [
            Requirement("mlp.law.attention.mean_bias", "attention: label frequencies stored with the mean embedding",
                        "N^2 d^3 = 2 V L^4 ln L (h_1/A)^2", "N",
                        float(laws.law_mean_bias(V=V, L=L, A=k["A"], h1=k["h1"]) / d**3) ** (1 / 2), N),
            Requirement("mlp.law.attention.mlp_mean", "attention: the mean of phi phi' at finite width",
                        "m N^2 d^2 = 2 V^2 L^4 ln L (h_0/A)^2", "m",
                        float(laws.law_mlp_mean(V=V, L=L, A=k["A"], h0=k["h0"])) / (N * d) ** 2, m),
            Requirement("mlp.law.attention.mlp_noise", "attention: the neurons' noise",
                        "m N^2 d^2 = 2 V^2 L^4 ln L (1/L + 1/d) P_0 P_2/A^2", "m",
                        float(laws.law_mlp_noise(V=V, L=L, d=d, A=k["A"], P0=k["P0"], P2=k["P2"])) / (N * d) ** 2, m),
        ]
    return result
