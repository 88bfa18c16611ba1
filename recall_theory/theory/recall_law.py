"""Recall and accuracy over seeds: the mean over seeds, facts and logits of (1 - Q)^(V - 1)."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .accuracy import Accuracy
from .competitors import hazard, kinds
from .correct_label import nodes_of
from .fact import Facts, facts
from .strengths import Kernel, ReadOut, stored
from .training_attention import BELOW_ONE, TINY, Classes, Seeds, attended_share, classes, sure_classes

FloatArray = NDArray[np.float64]

ENTRIES = 150_000  # nodes computed at a time: what fits a processor's cache
LARGEST = 5.0  # logarithm of the expected number of competitors above, from where on a fact is lost


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What seeds yield, fields (R,): recall and E[share recall] over facts, Cov(recall, n_k), and for the variance the
    law of the correct label's score (R, A) as the quantile of a competitor, and what facts share."""

    recall: FloatArray
    attended: FloatArray
    count_covariance: FloatArray


def recall_given(seeds: Seeds, read_out: ReadOut, sure: bool, few: bool, exact: bool, points: int,
                 accuracy: Accuracy) -> Outcome:
    """Recall at each row's seed."""
    if sure:
        groups, n_zeta = sure_classes(seeds), 1
    else:
        groups, n_zeta = classes(seeds, accuracy), -(-accuracy.score // (2 if few else 1))
    read = facts(seeds, n_zeta, accuracy)
    if sure:
        share, share_weight = np.ones((*read.s.shape, 1)), np.ones((*read.s.shape, 1))
    else:
        share, share_weight = attended_share(seeds, read.zeta, accuracy.outranking)
    kernel = read_out.moments(seeds, read)
    D = kernel.nodes
    share, share_weight = np.repeat(share, D, axis=1), np.repeat(share_weight, D, axis=1)
    picked = np.repeat(read.picked, D, axis=1)
    parts, start, rows = [], 0, 1
    while start < len(seeds.V):
        i = slice(start, start + rows)
        part = seeds.at(i)
        of = Kernel(D, *(getattr(kernel, f.name)[i] for f in dataclasses.fields(kernel)[1:]))
        gr = Classes(*(getattr(groups, f.name)[i] for f in dataclasses.fields(groups)))
        st = stored(part, gr, of, picked[i])
        nodes = nodes_of(part, of, st, share[i], share_weight[i], exact, accuracy)
        law = hazard(part, kinds(part, gr, of, st, exact, accuracy), nodes, points, accuracy)
        shape = (*of.own.shape, -1)
        lost = law.at(nodes.logit.reshape(shape), nodes.gain.reshape(shape))
        right = np.exp(-np.exp(np.minimum(lost, LARGEST))).reshape(nodes.mass.shape)
        win = (nodes.mass * right).sum(-1)
        W = of.weight[..., None]
        parts.append([(W * win).sum((1, 2)), (W * win * nodes.share).sum((1, 2)), (W * win * nodes.surplus).sum((1, 2))])
        start += rows
        rows = max(1, int(ENTRIES / max(nodes.mass[0].size, 1)))
    return Outcome(*(np.concatenate(column) for column in zip(*parts, strict=True)))
