"""What gradient descent finds: subject embeddings and MLP trained on random bijections, and what they hold.

Everything is NumPy with gradients written out: the layer is small enough that a framework would add a dependency and
no speed.
"""

from __future__ import annotations

from .run import Findings, train, transfer
from .setting import TrainingSetting
from .threshold import least_dimension

__all__ = ["Findings", "TrainingSetting", "least_dimension", "train", "transfer"]
