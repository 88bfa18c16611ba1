"""Recall and end-to-end accuracy, averaged over seeds, with their spread from seed to seed.

Recall = E_seed E_fact E_x (1 - Q(x))^(V-1): facts at a seed, the correct label's logit x, and the chance Q(x) of one
competitor to exceed it. Accuracy weighs facts by their attention and adds what wrong picks answer. The kernel by which
values are read out is an argument. docs/derivations/recall.md has the derivation.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtrik

from ..numerics.arrays import TINY, FloatArray
from ..numerics.machine_code import on_threads
from .accuracy import SEED_ROUNDING, Accuracy
from .competitors import kinds
from .correct_label import own_label, samples_of
from .domain import Batch
from .kernel import NeuronKernel, typical_kernel
from .read_out import InnerProduct, ReadOut, facts
from .seed import SeedLaw, SeedLaws, Seeds, nodes_with_weight, tau_nodes
from .strengths import at_overlaps, by_signal, in_few_bits, others_of, stored
from .training_attention import Attended, attended_share, classes, is_long, sure_classes, top_nodes, wrong_score
from .variance import answers, scatter
from .wrong_picks import wrong_answers

__all__ = ["recall_and_accuracy"]


ENTRIES_AT_A_TIME = 150_000  # nodes computed at a time: what fits a processor's cache; decides no value
SETTINGS_AT_A_TIME = 8  # the same of a thread, so that threads end together


@dataclasses.dataclass(frozen=True)
class Rules:
    """Which quadrature a setting gets: one class of attention if it is sure; else so many nodes of the lead `ahead` of
    0 and, if sequences are long, nodes over the top score; so many counts of a competitor, and of the fact itself, each
    by itself if they are far apart (else 0); and what `Accuracy` asks for at its size.
    """

    sure: bool
    long: bool
    ahead: int
    counts: int
    own: int
    accuracy: Accuracy

    @property
    def seeds(self) -> tuple[bool, bool, int]:
        """What decides which seeds recall is computed at."""
        return self.sure, self.long, self.ahead


def rules_of(batch: Batch, i: int, miss: float, accuracy: Accuracy) -> Rules:
    """The rules of setting i, whose attention misses so much."""
    V, N, e = float(batch.V[i]), float(batch.N[i]), batch.e
    d, lam = min(float(batch.d[i]), accuracy.wide * V), N / V
    own, mean, variance = 1.0 + e, float(e), (1 + e) / d  # of the kernel, of the fact with itself and over the others
    if batch.phi is not None and batch.m is not None:
        kernel = typical_kernel(batch.phi, d, e)
        own, mean = float(kernel.own), float(kernel.mean)
        variance = float(kernel.variance + (kernel.noise - kernel.variance) / batch.m[i])
    power = (V - 1) * (mean**2 / lam + (1 + 1 / lam) * variance)
    of_fact, of_other = (stored * np.sqrt(d / power) / lam for stored in (own, mean))  # logits between two counts
    sure = bool(miss < accuracy.sure)
    halvings = max(int(np.ceil(np.log2(accuracy.small / min(V, d)))), 0)
    more = (halvings + 1) // 2 if sure else int(halvings > 0)
    aside = more if sure else 0  # elsewhere scores have nodes of their own beside
    most = np.nan_to_num(pdtrik(1 - accuracy.last_count, lam))  # NaN from lambda = 10^11 on, where none counts
    every = 4 * int(np.ceil((most + 1) / 4))
    sharp = of_fact > accuracy.sharp and lam < accuracy.few
    counts = every if sharp or of_other > accuracy.apart else 0
    few = lam < accuracy.few or counts > 0
    each = every if sharp or (sure and counts) else 0
    # nodes over counts as their spread in logits asks for
    wide_own, wide = (float(np.clip(x * np.sqrt(lam), 1, accuracy.widest)) for x in (of_fact, 2 * of_other))
    halved = 2 if not sure and miss < accuracy.almost else 1
    rank = -(-accuracy.rank // halved)
    long = not sure and is_long(V, float(batch.L[i]))
    fewer = 2 if long else halved
    alike = long and halvings < 3 and (batch.phi is None or d <= V)
    at_size = dataclasses.replace(
        accuracy, logit=accuracy.points_over_logit(d / V, (1 + halvings / 4) * (2 if of_other > accuracy.sharp else 1)),
        score=-(-accuracy.score // fewer), score_below=accuracy.score_below + int(halvings > 0),
        score_above=-(-accuracy.score_above // fewer) + (halvings + 1) // 2,
        gain=accuracy.gain + halvings + 2 * int(sharp), chi=accuracy.chi + more + int(batch.sphere),
        power=accuracy.power + (more if sure else halvings // 2), length=accuracy.length + aside,
        signal=max(accuracy.signal - int(alike), 1),
        trigger=accuracy.trigger + more // 2, overlap=accuracy.overlap + more,
        strength=each or int(np.ceil(accuracy.strength * wide_own)),
        count=int(np.ceil((accuracy.few_count if few else accuracy.count) * wide_own)),
        competitor=int(np.ceil((accuracy.few_competitor if few else accuracy.competitor) * wide)),
        kind=int(np.ceil(accuracy.kind * wide)), rank=int(V) if V <= 2 * rank else rank,
        answer_trigger=-(-accuracy.answer_trigger // halved))
    ahead = -(-accuracy.seed_ahead // (2 if miss < accuracy.nearly and not long else 1))
    return Rules(sure=sure, long=long, ahead=ahead, counts=counts, own=each, accuracy=at_size)


def recall_given(seeds: Seeds, weight: FloatArray, read_out: ReadOut, rules: Rules,
                 bits: int | None = None) -> tuple[FloatArray, ...]:
    """(R,) each, at seeds of this weight (R,): recall, E[share recall] over facts, accuracy from wrong picks, variance
    of recall at the row, and the attention of training, E share."""
    accuracy = rules.accuracy
    if rules.sure:
        groups = sure_classes(seeds)
    else:
        groups = classes(seeds, accuracy)
    read = facts(seeds, accuracy, scores=not rules.sure)
    zeta, top = read.zeta[:, ::read.alike], read.top[:, ::read.alike]
    if rules.sure:
        one = np.ones((*zeta.shape, 1))
        attended, wrong = Attended(one, one), np.zeros_like(zeta)
    else:
        attended, wrong = attended_share(seeds, zeta, accuracy.outranking, top), wrong_score(seeds, zeta, accuracy)
    picked = read.picked[:, ::read.alike]
    # less than one copy on average is rare and brings much, which a normal law of its number has not
    copied = np.where((seeds.snr[:, None] < 0) & (seeds.lam[:, None] * picked >= 1), picked, 0)
    samples = samples_of(seeds, attended, wrong, copied, accuracy, rules.own)
    share = (read.weight * np.repeat((samples.share * samples.weight).sum(-1), read.alike, axis=1)).sum(-1)
    labels = others_of(seeds, groups, zeta, picked, top)
    kernel, scores = read_out.moments(seeds, read), zeta.shape[1]
    each_row = kernel.own.shape[1] * max(accuracy.strength, accuracy.kind)
    rows = max(1, ENTRIES_AT_A_TIME // each_row)
    parts = []
    for start in range(0, len(seeds.V), rows):
        i = slice(start, start + rows)
        part, of, group, lone = seeds.at(i), kernel.at(i), groups.at(i), accuracy.lone / weight[i]
        each = of.own.shape[1] // scores
        of = by_signal(of, stored(part, group, of, labels.at(i).repeated(each, scores)), scores, accuracy.signal,
                       lone)
        each = of.own.shape[1] // scores
        if bits is None:
            store = stored(part, group, of, labels.at(i).repeated(each, scores))
        else:
            of, store = in_few_bits(part, group, of, labels.at(i).repeated(each, scores), bits)
        if rules.long:
            nodes = -(-accuracy.common // (1 + seeds.e))  # with the trigger, only labels that were attended compete
            of, store = at_overlaps(of, store, nodes, lone)
            each *= nodes
        others = kinds(part, of, store, rules.counts, accuracy)
        own = own_label(part, of, store, samples.at(i).repeated(each, scores))
        each, law = answers(part, of, store, own, others, accuracy, weight=weight[i])
        right = own.weight * each
        recall = (of.weight * right.sum(-1)).sum(-1)
        both = (of.weight * (right * own.share).sum(-1)).sum(-1)
        parts.append((recall, both, scatter(part, law, accuracy)))
    recall, both, spread = (np.concatenate(column) for column in zip(*parts, strict=True))
    wrong = 0 * recall if rules.sure else wrong_answers(seeds, groups, read_out, accuracy)
    return recall, both, wrong, spread, share


@dataclasses.dataclass(frozen=True)
class RecallSeeds(SeedLaw):
    """Seeds at which recall is computed, and which tau and `lead` (R,) each has: at one of these there may be nodes
    over the top score."""

    lead: NDArray[np.intp]


def seeds_of(laws: SeedLaws, rows: NDArray[np.intp], sure: bool, long: bool, ahead: int) -> RecallSeeds:
    """The seeds of these settings at which recall is computed."""
    batch, accuracy = laws.batch.at(rows), laws.accuracy
    if sure:
        tau, weight = tau_nodes(batch.d, batch.embedding, accuracy.seed_tau)
        one, zero = np.ones_like(tau), np.zeros_like(tau)
        law = nodes_with_weight(dataclasses.replace(batch, L=np.ones_like(batch.V)), weight, tau, zero,
                                (zero, zero, one, zero))
    else:
        law = laws.for_recall(rows, ahead)
    seeds, weight, of = law.seeds, law.weight, rows[law.of]
    # larger d acts as this one, embeddings being all but orthogonal
    seeds = dataclasses.replace(seeds, d=np.minimum(seeds.d, accuracy.wide * seeds.V))
    lead = np.arange(len(weight))
    if long:
        top, of_top = top_nodes(seeds, weight, accuracy)
        lead, node = np.nonzero(of_top)
        seeds, weight, of = dataclasses.replace(seeds.at(lead), top=top[lead, node]), weight[lead], of[lead]
        weight = weight * of_top[lead, node]
    return RecallSeeds(seeds, weight, of, lead)


def recall_and_accuracy(laws: SeedLaws, missed: FloatArray, finite: FloatArray) -> dict[str, FloatArray]:
    """Recall and accuracy of settings, with their standard deviations over seeds, each (B,).

    missed (B,): what attention misses. finite (B,): variance of attention at a seed's tau and lead. Settings of the
    same rules are computed together; with an MLP each has neurons of its own.
    """
    batch, accuracy = laws.batch, laws.accuracy
    out = {name: np.zeros(len(missed)) for name in ("recall", "accuracy", "recall_std", "accuracy_std")}
    groups: dict[tuple[Rules, int], list[int]] = {}
    for i, miss in enumerate(missed.tolist()):
        groups.setdefault((rules_of(batch, i, miss, accuracy), 0 if batch.m is None else i), []).append(i)
    of_kind: dict[tuple[bool, bool, int], list[int]] = {}
    for (rules, _), members in groups.items():
        of_kind.setdefault(rules.seeds, []).extend(members)
    seeds_of_kind = {kind: seeds_of(laws, np.array(members), *kind) for kind, members in of_kind.items()}

    def computed(rules: Rules, members: list[int]) -> None:
        nodes = seeds_of_kind[rules.seeds]
        rows = np.flatnonzero(np.isin(nodes.of, members))
        seeds = nodes.seeds.at(rows)
        read_out: ReadOut = InnerProduct()
        if batch.phi is not None and batch.m is not None:
            of_draw = accuracy if rules.sure else dataclasses.replace(accuracy, narrow=0.0)
            read_out = NeuronKernel(batch.phi, float(batch.m[members[0]]), float(seeds.d[0]), batch.sphere, of_draw)
        columns = recall_given(seeds, nodes.weight[rows], read_out, rules, batch.bits)
        for i in members:
            mine = nodes.of[rows] == i
            found = _over_seeds(nodes.weight[rows][mine], seeds.tau[mine], nodes.lead[rows][mine],
                                [a[mine] for a in columns], right=1 - missed[i] if rules.sure else 1.0,
                                finite=finite[i])
            for name, value in found.items():
                out[name][i] = value

    on_threads(computed, [
        (rules, members[start:start + SETTINGS_AT_A_TIME]) for (rules, _), members in groups.items()
        for start in range(0, len(members), SETTINGS_AT_A_TIME)])
    return out


def _over_seeds(weight: FloatArray, tau: FloatArray, lead: NDArray[np.intp], columns: list[FloatArray], *,
                right: float, finite: float) -> dict[str, float]:
    """Means over the seeds of a setting, and the variances between them, at them, and through attention's own, but for
    what is between nodes over the top score at one lead; columns as `recall_given` returns them. What attention
    adds of its own follows the slope in it, which no seeds show where all attend alike: there it moves no recall, and
    answers what is recalled."""
    recall, attended, wrong, own, attention = columns
    attended = attended * right
    share = np.minimum(attended / np.maximum(recall, TINY), 1)
    turn = _beside_alike(attention, weight, tau)
    turn[np.abs(turn) < SEED_ROUNDING] = 0
    turned = weight @ turn**2
    finite = max(finite - float(weight @ _beside_alike(attention, weight, lead)**2), 0)
    out = {}
    for name, value, scale, alike in (("recall", recall, np.ones_like(recall), 0.0),
                                      ("accuracy", attended + wrong, share, weight @ attended)):
        mean = weight @ value
        slope = np.clip(weight @ (turn * value) / turned, 0, 1) if turned > 0 else alike
        out[name] = float(mean)
        out[name + "_std"] = float(np.sqrt(weight @ (value - mean)**2 + weight @ (own * scale**2) + slope**2 * finite))
    return out


def _beside_alike(values: FloatArray, weight: FloatArray, by: FloatArray | NDArray[np.intp]) -> FloatArray:
    """Values (R,) less their mean over the seeds that are alike in `by` (R,)."""
    alike = (by[:, None] == by) * weight
    return np.asarray(values - (alike @ values) / alike.sum(-1))
