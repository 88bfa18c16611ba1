"""The one-step reading: what Val1, the first gradient step alone, recalls.

logits_j = z_out(j)^T Val1 z_in(k): the memory is asked with the token's own embedding, without the
trigger, whether or not the trigger was in the values that were stored.
"""

from __future__ import annotations

import numpy as np

from ..settings import Setting
from .data import Samples, draw_embeddings
from .observables import credit
from .three_step import step_one


def one_step_recall(setting: Setting, seed: int, index: int) -> float:
    """Fraction of the V tokens k whose label has the largest logit z_out(j)^T Val1 z_in(k), ties shared.

    The draws are those of `run.one_seed(setting, seed, index)`.

    >>> 0 <= one_step_recall(Setting(V=16, L=4, d=16, N=64), 0, 0) <= 1
    True
    """
    root = np.random.SeedSequence(seed, spawn_key=(index,))
    s_emb, s_samples, _ = root.spawn(3)
    emb = draw_embeddings(setting, np.random.default_rng(s_emb))
    _, val1 = step_one(setting, emb, Samples(setting, s_samples))
    logits = emb.z_in @ val1.T @ emb.z_out[emb.label].T
    return float(credit(logits, np.arange(setting.V)).mean())
