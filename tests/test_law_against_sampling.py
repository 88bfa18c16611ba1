"""The law against `reference/law.py`, which draws networks and knows nothing of it; and that a wrong law is seen."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from reference import law as reference
from scipy.special import ndtr, ndtri
from support import of_one_group

from recall_theory import Setting, predict
from recall_theory.activations import activation
from recall_theory.numerics import machine_code
from recall_theory.simulate import three_step
from recall_theory.simulate.data import Samples, draw_embeddings, draw_mlp
from recall_theory.theory import (
    competitors,
    fact_loops,
    kernel,
    read_out,
    recall,
    seed,
    strengths,
    training_attention,
    variance,
)
from recall_theory.theory.accuracy import Accuracy
from recall_theory.theory.domain import Batch, batch_of

# What a prediction may be off by beside three standard errors: attention right, with an MLP, attention given wrongly.
MARGINS = {"sure": 0.0015, "neurons": 0.004, "at a seed": 0.003}
KEPT = reference.kept()


def kind_of(case):
    if case.snr is not None:
        return "at a seed"
    return "sure" if case.m is None else "neurons"


def predicted(case, accuracy=None):
    """Recall, attended recall, accuracy, attention, and the spread of recall."""
    accuracy = accuracy or Accuracy()
    V, L, d, N, e, sphere, m, phi = case[:8]
    embedding = "sphere" if sphere else "gaussian"
    if case.snr is None:
        p = predict(Setting(V=V, L=L, d=d, N=N, m=m, activation=phi, embedding=embedding, trigger_in_value=bool(e)),
                    accuracy)
        return p.recall, p.recall, p.accuracy, p.attention, p.spread["recall"]
    neurons = None if m is None else np.array([float(m)])
    one = Batch(*(np.array([float(a)]) for a in (V, L, d, N)), neurons, None if phi is None else activation(phi),
                embedding, e)
    flat = -6 / (d + 2) if sphere else 0.0
    row = (np.array([float(a)]) for a in (V, L, d, N, case.tau, case.snr, 0.0, flat, 1.0, 0.0))
    seeds = seed.Seeds(*row, e, sphere)
    reader = read_out.InnerProduct() if phi is None else kernel.NeuronKernel(one.phi, m, d, sphere, accuracy)
    rules, weight = recall.rules_of(one, 0, 0.5, accuracy), np.ones((1, 1))
    if rules.long:
        top, weight = training_attention.top_nodes(seeds, np.ones(1), accuracy)
        seeds = dataclasses.replace(seeds.at(np.zeros(top.size, int)), top=top[0])
    right, attended, wrong, variance, attention = (
        float(weight[0] @ a) for a in recall.recall_given(seeds, weight[0], reader, rules))
    return right, attended, attended + wrong, attention, np.sqrt(variance)


def excess(case, seen, found):
    """Errors of the four means beyond three standard errors and the margin; positive where the law is wrong."""
    off = np.abs(np.array(found[:4]) - seen["mean"]) - 3 * np.array(seen["se"])
    return off - MARGINS[kind_of(case)]


MISSED = {  # by more than the margin, and why (derivations/recall, "What is modelled")
    (40, 1, 60, 60, 0): "on the sphere, few samples in d > V: recalled 1 % too seldom",
}


@pytest.mark.parametrize("case, seen", [
    pytest.param(case, seen, id=str(tuple(case)),
                 marks=pytest.mark.xfail(strict=True, reason=MISSED[case[:5]]) if case[:5] in MISSED else ())
    for case, seen in KEPT])
def test_the_law_is_what_networks_do(case, seen):
    found = predicted(case)
    assert (excess(case, seen, found) < 0).all(), (found, seen)
    if case.snr is None:  # at a seed, the variance through attention's own is no part of what is compared
        assert 1 / 1.3 < found[4] / seen["sd"][0] < 1.3, (found[4], seen["sd"][0])


def test_the_kept_samples_are_todays():
    """A part of the cases once more, of other seeds."""
    for case, seen in KEPT[::4]:
        again = reference.sampled(case, 150, seed=1)
        error = np.hypot(again["se"], seen["se"])
        assert (np.abs(np.subtract(again["mean"], seen["mean"])) <= 5 * error + 1e-12).all(), case


def patched(module, name, make):
    """A mutation that replaces a module's function by what `make` makes of it."""
    return lambda monkeypatch: monkeypatch.setattr(module, name, make(getattr(module, name)))


def scaled(**factors):
    """What a function finds, with fields scaled."""
    def make(right):
        def wrong(*arguments):
            found = right(*arguments)
            return dataclasses.replace(found, **{k: f * getattr(found, k) for k, f in factors.items()})
        return wrong
    return make


def interpreted(**replaced):
    """A mutation of the compiled loops: all of them as Python, with some functions replaced by what is made of them."""
    def mutate(monkeypatch):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(machine_code, "compiled", lambda function: function)
            loops = ModuleType(fact_loops.__name__)
            loops.__package__ = fact_loops.__package__
            exec(Path(fact_loops.__file__).read_text(encoding="utf-8"), vars(loops))
        for name, make in replaced.items():
            setattr(loops, name, make(getattr(loops, name)))
        monkeypatch.setattr(variance, "fact_loops", loops)
    return mutate


LOOPS = {  # slow, and tried where training attended rightly
    "competitors that are independent": interpreted(constrain=lambda f: lambda *a: None),
    "competitors tied by the sum of their strengths alone": interpreted(slopes_by_gain=lambda f: lambda *a: 0 * f(*a)),
    "a sphere with one dimension less": interpreted(
        peizer_pratt=lambda f: lambda d: f(d - 1),
        tilted_scores=lambda f: lambda *a: f(*a[:-1], a[-1] - 1)),
}
MUTATIONS = LOOPS | {
    "no fluctuation of the competitors' power": patched(competitors, "power_variance", lambda f: lambda *a: 0 * f(*a)),
    "the fluctuation of the power halved": patched(competitors, "power_variance", lambda f: lambda *a: f(*a) / 2),
    "a tenth less noise": patched(recall, "stored", scaled(square=0.9)),
    "no skewness of the neurons' kernel": patched(kernel.NeuronKernel, "moments", scaled(skewness=0)),
    "a tenth less variance of the kernel": patched(read_out.InnerProduct, "moments", scaled(variance=0.9)),
    "no overlap of a token with another": patched(recall, "stored", scaled(spread=0)),
    "three times as many wrong picks of the fact itself": patched(
        recall, "others_of", scaled(picked=3)),
    "a fifth more tokens in a sequence": patched(
        recall, "attended_share", lambda f: lambda seeds, *rest: f(dataclasses.replace(seeds, L=1.2 * seeds.L), *rest)),
    "long sequences as if the top score were any": patched(recall, "is_long", lambda f: lambda V, L: f(V, 0 * L)),
    "the label of the top score as one of many": patched(
        recall, "kinds", lambda f: lambda *a: of_one_group(f(*a))),
    "what wrong picks share as noise from label to label": patched(
        recall, "at_overlaps", lambda f: lambda kernel, stored, n, lone: (
            f(kernel, stored, n, lone)[0], stored.repeated(n, kernel.own.shape[1]))),
    "no copy of a token among its own noise": patched(
        training_attention, "taken_as_wrong", lambda f: lambda seeds, *rest: f(
            dataclasses.replace(seeds, snr=np.abs(seeds.snr)), *rest)),
    "own samples that attend to no copy of their token": patched(
        recall, "samples_of", lambda f: lambda seeds, attended, wrong, copied, *rest: f(
            seeds, attended, wrong, 0 * copied, *rest)),
    "facts that all overlap alike with the trigger": patched(
        read_out, "gauss_hermite", lambda f: lambda n: (np.zeros(1), np.ones(1)) if n == Accuracy().trigger else f(n)),
}


def test_what_all_labels_store_of_a_token_is_taken_from_its_own_label():
    """Mean square of what a label stores of its own token, by right picks, less what all labels store of that by wrong
    ones. 1,600 networks at one seed; without what is taken it is rejected."""
    V, L, N, snr = 80.0, 40.0, 800, 1.0
    rng, squares = np.random.default_rng(), []
    for _ in range(1600):
        score = rng.standard_normal(80)
        x, noise = rng.integers(80, size=N), rng.integers(80, size=(N, 39))
        best = noise[np.arange(N), score[noise].argmax(axis=1)]
        right = score[x] + snr >= score[best]
        own, picked = (np.bincount(token, minlength=80) / (N / V) for token in (x[right], best[~right]))
        squares.append(((own - (own + picked) / V)**2).mean())
    row = (np.array([a]) for a in (V, L, 1e6, float(N), 1.0, snr, 0.0, 0.0, 1.0, 0.0))
    groups = training_attention.classes(seed.Seeds(*row, 0, False), Accuracy())
    a, weight = groups.share[0], groups.weight[0]
    assert weight @ groups.taken[0] * V == pytest.approx(1 - weight @ a, rel=0.03)
    kept, whole = (weight @ ((a - taken)**2 + a / (N / V)) for taken in (groups.taken[0], 0))
    mean, error = np.mean(squares), np.std(squares) / 40
    assert abs(kept - mean) < 5 * error
    assert abs(whole - mean) > 5 * error


def power_of_competitors(e, overlap, seeds):
    """All competitors' squared strengths where one fact is read out, in so many networks at one seed. Its token's score
    is 0.8, that of the top token 1.9, and these overlap beside the scores by so many standard deviations."""
    V, L, d, N, snr, scores = 24, 60, 16, 1200, 1.5, (1.9, 0.8)
    rng, found = np.random.default_rng(), []
    trigger, fact = np.zeros(d), np.zeros(d)
    trigger[:2] = snr / 4, np.sqrt(1 - snr**2 / d)
    fact[[0, 2]] = scores[1] / 4, np.sqrt(1 - scores[1]**2 / d)
    beside = (fact + e * trigger) * (np.arange(d) > 0)
    beside /= np.linalg.norm(beside)
    for _ in range(seeds):
        z = rng.standard_normal((V, d)) / 4
        score = ndtri(rng.random(V) * ndtr(scores[0]))
        score[:2] = scores
        z[:, 0], z[1] = score / 4, fact
        z[0] += (overlap / 4 - z[0] @ beside) * beside
        x, noise = rng.integers(V, size=N), rng.integers(V, size=(N, L - 1))
        best = noise[np.arange(N), score[noise].argmax(axis=1)]
        right = score[x] + snr >= score[best]
        stored = np.zeros((V, d))
        np.add.at(stored, x, np.where(right[:, None], z[x] + e * trigger, z[best]) * V / N)
        strength = (stored - stored.mean(axis=0)) @ (fact + e * trigger)
        found.append((strength**2).sum() - strength[1]**2 * V / (V - 1))
    return np.array(found)


def law_of_competitors(e, tied=1.0):
    """Mean and relative variance of that by the law, at the overlaps -sqrt(3), 0 and sqrt(3)."""
    V, d, snr, one, no = 24, 16, 1.5, np.ones((1, 1)), np.zeros((1, 1))
    zeta, tilt, slope = 0.8 * one, 0.8 * snr / d, (0.8 + e * snr) / d * one
    row = (np.array([a]) for a in (24.0, 60.0, 16.0, 1200.0, 1.0, snr, 0.0, 0.0, 1.0, 0.0))
    at = dataclasses.replace(seed.Seeds(*row, e, False), top=np.array([1.9]))
    fact = read_out.Facts(1, one, zeta, one + e * (1 + 2 * tilt), e * (1 + tilt) * one, (1 + e * tilt) * one,
                          slope, slope, training_attention.best_of_noise(at, zeta, no), no)
    groups, of = training_attention.classes(at, Accuracy()), read_out.InnerProduct().moments(at, fact)
    of = dataclasses.replace(of, tied=tied * of.tied)
    labels = strengths.others_of(at, groups, zeta, fact.picked, no)
    of, store = strengths.at_overlaps(of, strengths.stored(at, groups, of, labels), 3, np.zeros(1))
    return (V - 2) * store.square[0], competitors.kinds(at, of, store, 0, Accuracy()).varied[0]


def test_competitors_of_unequal_attention_vary_more():
    """The relative variance of their power is within half of that in 1,500 networks, and not as if all were alike."""
    seen = power_of_competitors(0, 0.0, 1500)
    seen = seen.var() / seen.mean()**2
    assert 2 / 3 < law_of_competitors(0)[1][1] / seen < 3 / 2
    assert 2 * (1 + 4 / 50) / 24 < seen / 2


def test_the_label_of_what_wrong_picks_attend_to_has_their_overlap():
    """How the competitors' mean power falls with the top token's overlap, in 800 networks each: too fast where that is
    no part of what the token's own label stores, and not at all where it moves no mean square."""
    seeds = 800
    low, high = (power_of_competitors(1, x, seeds) for x in (-np.sqrt(3), np.sqrt(3)))
    fall = np.log(high.mean() / low.mean())
    allowed = 0.08 + 4 * np.hypot(high.std() / high.mean(), low.std() / low.mean()) / np.sqrt(seeds)
    expected, otherwise = (np.log(power[2] / power[0]) for power, _ in map(law_of_competitors, (1, 1), (1.0, 0.0)))
    assert abs(fall - expected) < allowed < min(abs(fall - otherwise), -fall), (fall, expected, otherwise)


@pytest.mark.parametrize("case, without", [
    (reference.Case(51, 1, 12, 7391, 0, False, 41, "x**3 - 3*x"),
     patched(variance, "tails_in_power", lambda f: lambda *a: 0.0)),
    (reference.Case(143, 1, 133, 3620, 0, False, 43, "x**2 - 1"), patched(competitors, "SYMMETRIC", lambda f: np.inf))])
def test_recall_through_a_kernel_of_heavy_tails(case, without, monkeypatch):
    """Within four standard errors and 0.006 of 300 networks; further off where tails do not move the power of all
    competitors, or where the kernel counts as symmetric."""
    seen = reference.sampled(case, 300)
    allowed = 4 * seen["se"][0] + 0.006
    assert abs(predicted(case)[0] - seen["mean"][0]) < allowed
    without(monkeypatch)
    assert abs(predicted(case)[0] - seen["mean"][0]) > allowed


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_wrong_law_is_seen(name, monkeypatch):
    """Each mutation is off, beyond its error and margin, in one of the cases; where the law is too, by half a margin
    more than the law."""
    cases = [(case, seen) for case, seen in KEPT
             if (case.m is None or not case.e or case.L == 1)
             and (name not in LOOPS or (case.L == 1 and case.m is None))]
    allowed = [np.maximum(excess(case, seen, predicted(case)), 0) + MARGINS[kind_of(case)] / 2
               if case[:5] in MISSED else 0 for case, seen in cases]
    MUTATIONS[name](monkeypatch)
    assert any((excess(case, seen, predicted(case)) > most).any()
               for (case, seen), most in zip(cases, allowed, strict=True))


def test_machine_code_is_what_the_loops_say(monkeypatch):
    cases = [case for case, _ in KEPT if case.L == 1 and case.m is None]
    compiled = [predicted(case) for case in cases]
    interpreted()(monkeypatch)
    assert np.allclose([predicted(case) for case in cases], compiled, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("nodes", [{"neuron_ratio": 1, "neuron_mean": 1}, {"few_count": 1, "count": 1},
                                   {"length": 1, "chi": 1}])
def test_a_fluctuation_left_out_is_seen(nodes):
    wrong = dataclasses.replace(Accuracy(), **nodes)
    assert any((excess(case, seen, predicted(case, wrong)) > 0).any() for case, seen in KEPT if case.L == 1)


@pytest.mark.parametrize("more", [{}, {"m": 80, "activation": "relu"}], ids=["inner product", "neurons"])
def test_the_kernel_rises_with_the_scores(more):
    """The direction of attention is made of tokens and neurons, along which these vary most: two tokens of high score
    are more alike than if it knew nothing of them."""
    setting = Setting(V=60, L=60, d=60, N=600, trigger_in_value=False, **more)
    rises, overlaps = [], []
    for _ in range(120):
        rng, samples = np.random.default_rng(), Samples(setting, np.random.SeedSequence())
        emb = draw_embeddings(setting, rng)
        layer = draw_mlp(setting, rng) if more else None
        scores = three_step.train(setting, emb, samples, layer).scores
        z = (scores - scores.mean()) / scores.std()
        weights = np.eye(60) if layer is None else layer.W_in / np.sqrt(len(layer.W_in))
        inputs = emb.z_in @ weights.T
        products = inputs @ inputs.T
        rises.append((z @ products @ z - z**2 @ products.diagonal()) * 60 / (60 * 59))
        overlaps.append(z @ inputs.mean(axis=1) / 60 / inputs.mean(axis=1).std())
    law = seed.SeedLaws(batch_of(setting)).for_recall(np.arange(1), 4)
    rise, aligned = (law.weight @ a for a in (law.seeds.rise, law.seeds.aligned))
    for values, expected, otherwise in ((rises, rise, 1), (overlaps, aligned, 0))[:1 + len(more)]:
        mean, error = np.mean(values), np.std(values) / len(values)**0.5
        assert abs(mean - expected) < 4.5 * error + 0.04 * expected, (mean, error, expected)
        assert abs(mean - otherwise) > 4.5 * error + 0.04 * expected


@pytest.mark.parametrize("sizes", [
    {"V": 47, "d": 30, "N": 470}, {"V": 23, "d": 15, "N": 1380}, {"V": 30, "d": 30, "N": 900, "m": 60}])
@pytest.mark.parametrize("trigger_in_value", [False, True])
def test_labels_are_alike_where_the_triggers_score_is_negative(sizes, trigger_in_value):
    """Long sequences then attend to a token of their noise whatever they hold of their own, so that no label has an
    advantage: accuracy is 1/V, and recall, whose competitors are worked out apart, within a few percent."""
    setting = Setting(**sizes, L=8 * sizes["V"], trigger_in_value=trigger_in_value,
                      activation="relu" if "m" in sizes else None)
    batch, accuracy = batch_of(setting), Accuracy()
    law = recall.seeds_of(seed.SeedLaws(batch, accuracy), np.arange(1), False, True, accuracy.seed_ahead)
    negative = law.seeds.snr < 0
    reader = read_out.InnerProduct() if batch.phi is None else kernel.NeuronKernel(batch.phi, 60, 30, False, accuracy)
    right, attended, wrong, _, share = recall.recall_given(
        law.seeds.at(negative), law.weight[negative], reader, recall.rules_of(batch, 0, 0.9, accuracy))
    assert negative.any() and share.max() < 1e-4
    assert np.allclose((attended + wrong) * setting.V, 1, atol=1e-3)
    assert np.allclose(right * setting.V, 1, atol=0.03)


def test_what_tokens_of_high_scores_store_varies_more():
    """The variance over other values, given the scores, rises with a token's score as its square does: within a fifth
    of that, and not without it."""
    setting = Setting(V=60, L=60, d=60, N=600, trigger_in_value=False, m=40, activation="relu")
    others, slopes = ~np.eye(60, dtype=bool), []
    for _ in range(150):
        rng = np.random.default_rng()
        emb, layer = draw_embeddings(setting, rng), draw_mlp(setting, rng)
        scores = three_step.train(setting, emb, Samples(setting, np.random.SeedSequence()), layer).scores
        z = (scores - scores.mean()) / scores.std()
        features = np.maximum(emb.z_in @ layer.W_in.T, 0)
        rows = [(z[k], row[k]) for row, k in zip(features @ features.T, others, strict=True)]
        left = np.array([np.var(row - np.polyval(np.polyfit(x, row, 1), x)) for x, row in rows])
        slopes.append(np.polyfit(z, left / left.mean(), 1)[0])
    law = seed.SeedLaws(batch_of(setting)).for_recall(np.arange(1), 4)
    pulls = kernel.mean_pulls(activation("relu"), 0)
    expected = float(law.weight @ law.seeds.aligned) * pulls.bare_swell / np.sqrt(40)
    mean, error = np.mean(slopes), np.std(slopes) / np.sqrt(150)
    assert abs(mean - expected) < 4.5 * error + 0.2 * expected, (mean, error, expected)
    assert mean > 4.5 * error + 0.2 * expected
