"""The least embedding dimension at which gradient descent recalls the facts, and how it grows."""

from __future__ import annotations

import math

from .model import recall
from .run import trained
from .setting import TrainingSetting

__all__ = ["counting_dimension", "fact_bits", "least_dimension"]


def least_dimension(setting: TrainingSetting, seed: int, index: int, target: float = 0.99) -> int | None:
    """The least d at which the network of this seed recalls at least `target` of its facts; None where not even
    R k does, the dimension of the exact construction. `setting.d` is not used.

    By bisection: log2(R k) trainings, each judged once, at its last step. Recall rises with d but for the noise of
    single trainings, which moves the answer either way.

    >>> least_dimension(TrainingSetting(N=16, R=2, steps=300), seed=0, index=0) < 8
    True
    """

    def enough(d: int) -> bool:
        task, network = trained(setting.replace(d=d), seed, index)
        return recall(network, task) >= target

    most = setting.R * setting.k
    low, high = 0, most + 1  # too little, enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high if high <= most else None


def counting_dimension(setting: TrainingSetting, bits: float) -> float:
    """The d at which all trained numbers, MLP included, at `bits` each come to the R log2 N! bits of the facts.

    With m = 2 R k hidden units: bits (N d + m (d + R + k)) = R log2 N!. Negative where the MLP alone would do. No
    model whose numbers hold `bits` each can do with a smaller d. `setting.d` is not used.

    >>> round(counting_dimension(TrainingSetting(N=256, R=2), bits=2.0), 3)
    4.736
    """
    mlp = setting.mlp_width * (setting.R + setting.k)
    return (fact_bits(setting) / bits - mlp) / (setting.N + setting.mlp_width)


def fact_bits(setting: TrainingSetting) -> float:
    """R log2 N!, the bits that R bijections hold."""
    return setting.R * math.lgamma(setting.N + 1) / math.log(2)
