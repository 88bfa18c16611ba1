"""What a prediction must not depend on: the number of nodes, its company, the name of the model."""

from __future__ import annotations

import dataclasses
import functools
import importlib

import numpy as np
import pytest

from recall_theory import Setting, predict, predict_many
from recall_theory.numerics import quadrature
from recall_theory.settings import OBSERVABLES
from recall_theory.theory import competitors
from recall_theory.theory import seed as law
from recall_theory.theory.accuracy import Accuracy
from recall_theory.theory.domain import MOST_OF_FEW, Batch, share_of_few
from recall_theory.theory.predict import predictions_at

QUICK = Accuracy()
PHI = ("relu", "tanh", "gelu", "identity", "abs(x)")


def drawn(number, seed, least, most, L):
    """Settings drawn log-uniformly, every kind in turn; with an MLP those whose width the theory asks for."""
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < number:
        i = len(found)
        V, d, m = (round(np.exp(rng.uniform(*np.log(ends)))) for ends in ((least, most), (8, 200), (32, 1024)))
        N = max(1, round(V * np.exp(rng.uniform(0, np.log(300)))))
        phi = PHI[i // 2 % len(PHI)] if i % 2 else None
        setting = Setting(V=V, L=L, d=d, N=N, m=m if phi else None, activation=phi,
                          embedding=("gaussian", "sphere")[i // 2 % 2],
                          trigger_in_value=i // 4 % 2 == 0 and (phi is None or V > d))
        if phi is None or share_of_few(m, phi) <= MOST_OF_FEW["even"]:
            found.append(setting)
    return found


quick = functools.cache(predict)  # several tests compare with the same


def moved(setting, accuracy):
    """How far means move, and the largest ratio of spreads that count, with another accuracy."""
    a, b = quick(setting), predict(setting, accuracy)
    spreads = [(a.spread[o], b.spread[o]) for o in OBSERVABLES if max(a.spread[o], b.spread[o]) > 0.01]
    ratio = max((abs(np.log(max(y, 1e-9) / max(x, 1e-9))) for x, y in spreads), default=0.0)
    return max(abs(getattr(a, o) - getattr(b, o)) for o in OBSERVABLES), ratio


def more_nodes(part):
    """Twice as many nodes of one part: of the counts whose names begin like its."""
    return QUICK.doubled(*PARTS[part])


PARTS = {
    "seed": ("tau_nodes", "scale_nodes", "spread_nodes", "noise_nodes", "lead_nodes", "ahead_nodes", "behind_nodes",
             "score_steps"),
    "seeds of recall": ("seed_tau", "seed_ahead", "seed_behind"),
    "fact": ("score", "trigger", "length", "signal", "outranking", "common", "count", "few_count", "strength"),
    "neurons": ("neuron_",),
    "correct label": ("chi", "power", "noise"),
    "competitors": ("classes", "class_score", "class_above", "competitor", "few_competitor", "kind", "tail", "logit",
                    "gain"),
    "variance": ("overlap", "angle", "pair", "cells"),
    "wrong answers": ("rank", "answer"),
    "orthogonal": ("orthogonal_",),
    "finite rates": ("soft_",),
}
DRAWN = [*drawn(26, 1, 64, 400, 1), *drawn(12, 2, 24, 64, 1)]
IN_TURN = [part for part in PARTS if part != "orthogonal"]


@pytest.mark.parametrize("number", range(len(DRAWN)))
def test_twice_as_many_nodes_change_nothing(number):
    """Of all parts at once without an MLP; with one that takes a minute each and is `validation`'s, and here it is of
    one part, of each of them in turn."""
    setting = DRAWN[number]
    mean, spread = moved(setting, QUICK.doubled() if setting.m is None else
                         more_nodes(IN_TURN[number // 2 % len(IN_TURN)]))
    assert mean < 1e-3 and spread < 0.05, setting


@pytest.mark.parametrize("part", PARTS)
def test_twice_as_many_nodes_of_one_part_change_nothing_where_attention_fails(part):
    """All parts at once is `validation`'s: where attention fails that takes up to half a minute each."""
    settings = [Setting(V=100, L=60, d=40, N=1500), Setting(V=60, L=30, d=30, N=300, embedding="sphere"),
                Setting(V=150, L=20, d=60, N=400, trigger_in_value=False)]
    if part == "neurons":
        settings = [Setting(V=100, L=30, d=40, N=900, m=200, trigger_in_value=False)]
    if part == "orthogonal":
        settings = [Setting(V=V, L=L, d=d, N=N, embedding="orthogonal", trigger_in_value=e) for V, L, d, N, e in (
            (24, 100, 98, 106, False), (40, 183, 149, 217, True), (29, 85, 29, 317, True), (57, 90, 120, 182, False))]
    for setting in settings:
        mean, spread = moved(setting, more_nodes(part))
        assert mean < 1e-3 and spread < 0.05, setting


def test_every_node_count_belongs_to_a_part():
    for f in dataclasses.fields(QUICK):
        if f.type == "int":
            assert sum(f.name.startswith(names) for names in PARTS.values()) >= 1, f.name
            assert getattr(QUICK.doubled(), f.name) == 2 * getattr(QUICK, f.name)


def test_fewer_nodes_are_seen():
    """The negative control: one node in the place of several moves what the tests above compare."""
    saturated, few = Setting(V=100, L=1, d=40, N=1500), Setting(V=100, L=16, d=40, N=300)
    cases = {saturated: ("few_count", "noise", "trigger", "seed_tau"), few: ("power",)}
    for setting, name in ((setting, name) for setting, names in cases.items() for name in names):
        mean, _ = moved(setting, dataclasses.replace(QUICK, **{name: 1}))
        assert mean > 1e-4, name


def test_facts_that_weigh_little_are_computed_coarsely():
    setting = Setting(V=95, L=139, d=118, N=6705, m=72, activation="relu", trigger_in_value=False)
    fine, coarse = dataclasses.replace(QUICK, slight=0.0), dataclasses.replace(QUICK, slight=1.0)
    exact, usual, rough = (predict(setting, accuracy).recall for accuracy in (fine, QUICK, coarse))
    assert 0 < abs(usual - exact) < 3e-4 < abs(rough - exact)


EXTREME = [(79, 149, 145, 428), (452, 160, 57, 2851), (92, 20, 17, 744), (1057, 180, 76, 4396), (64, 64, 1400, 64)]


@pytest.mark.parametrize("sizes", [{}, {"m": 96, "activation": "relu"}])
def test_seeds_and_counts_that_weigh_little_move_little(sizes):
    """All are computed where nothing is rare. Nodes over samples that are negligible answer as the next one: at some
    hundred times the weight they are missed."""
    setting = Setting(V=48, L=64, d=64, N=1500, **sizes)
    every = predict(setting, dataclasses.replace(QUICK, rare=0.0, negligible=0.0))
    usual, fewer = predict(setting), predict(setting, dataclasses.replace(QUICK, negligible=1e-4))
    assert all(getattr(usual, o) == pytest.approx(getattr(every, o), abs=3e-4) for o in OBSERVABLES)
    assert abs(fewer.recall - every.recall) > 3e-3


@pytest.mark.parametrize("m", [None, 300])
def test_attention_converges_at_any_size(m):
    """At twenty drawn settings, each of one model in turn; `validation` has all kinds. The spread where it was hard."""
    rng = np.random.default_rng(7)
    sizes = np.rint(np.exp(rng.uniform(np.log((16, 4, 12, 16)), np.log((800, 200, 300, 20000)), (20, 4))))
    models = (("gaussian", True), ("sphere", True), ("gaussian", False))
    for k, (embedding, in_value) in enumerate(models):
        V, L, d, N = np.concatenate([sizes[k::len(models)], EXTREME]).T
        batch = Batch.of(V, L, d, N, m=m, phi=None if m is None else "gelu", embedding=embedding,
                         trigger_in_value=in_value)
        quick, dense = (law.mean_and_std(law.seed_law(batch, a), a) for a in (QUICK, QUICK.doubled()))
        assert np.abs(quick[0] - dense[0]).max() < 1e-3
        assert dense[1][-len(EXTREME):] == pytest.approx(quick[1][-len(EXTREME):], rel=0.05)


COMPANY = {
    "gaussian": {}, "sphere": {"embedding": "sphere", "trigger_in_value": False},
    "MLP": {"m": [64, 300, 64, 150], "activation": "tanh", "trigger_in_value": False},
    "orthogonal": {"embedding": "orthogonal"},
}


@pytest.mark.parametrize("kind", COMPANY)
def test_a_prediction_does_not_depend_on_its_company(kind, monkeypatch):
    """Alone, among others, in another order, in a part of the array and a part at a time: the same to 1e-12."""
    shared = dict(COMPANY[kind])
    V, L, d, N = np.array([(256, 5, 293, 374), (20, 5, 293, 374), (64, 12, 72, 900), (100, 1, 110, 3000)]).T
    m = np.array(shared.pop("m")) if "m" in shared else None
    many = predict_many(V, L, d, N, m=m, **shared)
    alone = [predict(Setting(V=int(V[i]), L=int(L[i]), d=int(d[i]), N=int(N[i]), m=None if m is None else int(m[i]),
                             **shared)) for i in range(4)]
    for order in (np.array([2, 0, 3, 1]), np.array([1, 2])):
        part = predict_many(V[order], L[order], d[order], N[order], m=None if m is None else m[order], **shared)
        for name in OBSERVABLES:
            assert getattr(part, name) == pytest.approx(getattr(many, name)[order], abs=1e-12)
            assert part.spread[name] == pytest.approx(many.spread[name][order], abs=1e-12)
    monkeypatch.setattr(importlib.import_module("recall_theory.theory.predict"), "SETTINGS_AT_ONCE", 3)
    by_threes = predict_many(V, L, d, N, m=m, **shared).to_dict()
    for name, column in many.to_dict().items():
        assert list(by_threes[name]) == pytest.approx(list(column), abs=1e-12), name
    for i, p in enumerate(alone):
        for name in OBSERVABLES:
            assert getattr(many, name)[i] == pytest.approx(getattr(p, name), abs=1e-12)
            assert many.spread[name][i] == pytest.approx(p.spread[name], abs=1e-12)


@pytest.mark.parametrize("n", [2, 5, 8, 14])
def test_points_between_are_those_of_a_polynomial(n):
    """The one through the eight nearest points over the logit, or all: exact up to its degree, and not beyond."""
    to_points = importlib.import_module("recall_theory.theory.variance")._to_points(n)
    every = np.arange(2 * n - 1) / 2
    degree = min(n, 8) - 1
    for power, exact in ((degree, True), (degree + 1, False)):
        found = ((every[::2] - 1)**power) @ to_points
        off = np.abs(found - (every - 1)**power)
        assert off[::2] == pytest.approx(0, abs=1e-9) and bool(off.max() < 1e-10 * (every.max() + 1)**power) is exact


def test_drawn_settings_do_not_depend_on_their_company():
    """Ten settings where attention is hardly sure or not, whose seeds need different nodes, drawn afresh each time."""
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    sizes = np.rint(np.exp(np.random.default_rng(seed).uniform(
        np.log((60, 8, 24, 2000)), np.log((400, 150, 60, 80000)), (10, 4)))).astype(int)
    # of either pair the latter once moved the former
    sizes = np.concatenate([sizes, [(99, 60, 44, 37642), (239, 138, 52, 18321), (54, 240, 24, 4914),
                                    (73, 120, 23, 10001)]])
    together = predict_many(*sizes.T)
    for i, (V, L, d, N) in enumerate(sizes.tolist()):
        alone = predict(Setting(V=V, L=L, d=d, N=N))
        for name in OBSERVABLES:
            assert getattr(together, name)[i] == pytest.approx(getattr(alone, name), abs=1e-12), seed
            assert together.spread[name][i] == pytest.approx(alone.spread[name], abs=1e-12), seed


@pytest.mark.parametrize("V, L, d, N", [(10, 16, 128, 640), (64, 4, 64, 4096), (70, 12, 96, 900), (2, 7, 22, 300),
                                        (2, 4, 22, 1079)])
def test_rounding_moves_no_spread(V, L, d, N):
    """Seeds that attend alike but for rounding once had a slope of recall in attention of 0 or 1, by chance. Of two
    tokens the other one can be above with a chance that rounds to 1, and the hazard of it once was that rounding."""
    several = N * (1 + np.finfo(float).eps * np.arange(8))
    found = predictions_at(Batch.of(V, L, d, several))
    for name in ("recall", "accuracy"):
        assert np.ptp(found.std[name]) < 1e-8 * found.std[name][0], name


@pytest.mark.parametrize("sizes", [
    {"V": 256, "L": 16, "d": 64, "N": 25600}, {"V": 128, "L": 96, "d": 48, "N": 2000},
    {"V": 60, "L": 1, "d": 24, "N": 900}, {"V": 12, "L": 4, "d": 10, "N": 100},
    {"V": 40, "L": 8, "d": 100, "N": 400, "embedding": "sphere"},
    {"V": 200, "L": 30, "d": 40, "N": 4000, "trigger_in_value": False},
    {"V": 300, "L": 64, "d": 80, "N": 900, "embedding": "sphere", "trigger_in_value": False},
], ids=str)
def test_the_identity_of_infinite_width_is_no_mlp(sizes):
    m = 10**9
    plain, neurons = predict(Setting(**sizes)), predict(Setting(**sizes, m=m, activation="x"))
    for name in OBSERVABLES:
        assert abs(getattr(plain, name) - getattr(neurons, name)) < 1e-6 + 2 * sizes["d"] / m, name
        assert neurons.spread[name] == pytest.approx(plain.spread[name], rel=0.01, abs=1e-4), name


@pytest.mark.parametrize("setting", [
    Setting(V=113, L=99, d=1425, N=5), Setting(V=503, L=395, d=995, N=14), Setting(V=7, L=2, d=14, N=1),
    Setting(V=80, L=10, d=118, N=1, m=2000, activation="relu"),
], ids=lambda s: f"V={s.V} N={s.N}")
def test_rounding_decides_nothing_where_few_points_are_condensed(setting, monkeypatch):
    """With few samples a fact all its counts are among a few; a rule of more nodes than these once made up the rest."""
    rng, exact = np.random.default_rng(), quadrature.condensation

    def rounded(x, w, n):
        return exact(x * (1 + 1e-14 * rng.uniform(-1, 1, x.shape)), w, n)

    plain = predict(setting)
    for module in (quadrature, competitors):
        monkeypatch.setattr(module, "condensation", rounded)
    moved = predict(setting)
    for name in OBSERVABLES:
        assert getattr(moved, name) == pytest.approx(getattr(plain, name), abs=1e-7), name
        assert moved.std[name] == pytest.approx(plain.std[name], abs=1e-6), name
