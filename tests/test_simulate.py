"""The fast simulator against the explicit one, and the explicit one against the model's definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from recall_theory.settings import Setting, SettingError
from recall_theory.simulate import data, run
from recall_theory.simulate import observables as observe
from recall_theory.simulate import reference as explicit
from recall_theory.simulate import three_step as counts


def draw(setting, seed=0):
    """The task of one seed: embeddings, samples, and what only the explicit path sees."""
    s_emb, s_samples, s_explicit = np.random.SeedSequence(seed).spawn(3)
    emb = data.draw_embeddings(setting, np.random.default_rng(s_emb))
    return explicit.draw_task(setting, emb, data.Samples(setting, s_samples), s_explicit)


def close(a, b, tolerance, scale=0.0):
    """Whether two arrays agree to `tolerance` of the largest entry, or of `scale`."""
    a, b = np.asarray(a), np.asarray(b)
    return np.abs(a - b).max() <= tolerance * max(np.abs(b).max(), scale)


def by_counts(task):
    return counts.train(task.setting, task.emb, task.samples)


def by_definition(task):
    return explicit.trained(task, explicit.train(task))


def assert_same(fast, slow, L):
    natural = 1 / (len(fast.scores) * L**2)  # at L = 1 all scores are zero but for rounding
    assert close(fast.scores, slow.scores, 1e-9, natural)
    assert close(fast.trigger_score, slow.trigger_score, 1e-9, natural)
    assert close(fast.logits, slow.logits, 1e-9)
    assert close(fast.wrong_logits, slow.wrong_logits, 1e-9)
    assert observe.exactly(fast, L) == pytest.approx(observe.exactly(slow, L), abs=1e-9)


SIZES = [  # V, L, d, N
    (20, 6, 24, 300),
    (2, 3, 5, 40),
    (2, 1, 2, 7),
    (9, 1, 12, 50),
    (7, 4, 9, 1),
    (3, 1, 3, 1),
    (30, 12, 31, 97),
    (64, 40, 64, 500),
]


@pytest.mark.parametrize("embedding", ["gaussian", "sphere", "orthogonal"])
@pytest.mark.parametrize("trigger_in_value", [True, False])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_counts_are_the_explicit_limit(size, embedding, trigger_in_value):
    setting = Setting(*size, embedding=embedding, trigger_in_value=trigger_in_value)
    for seed in range(3):
        task = draw(setting, seed)
        assert_same(by_counts(task), by_definition(task), setting.L)


@pytest.mark.parametrize("d", [1, 3, 8])
def test_counts_are_the_explicit_limit_where_d_is_small(d):
    setting = Setting(V=40, L=9, d=d, N=400)
    task = draw(setting, 5)
    assert_same(by_counts(task), by_definition(task), setting.L)


def test_counts_are_the_explicit_limit_over_many_blocks(monkeypatch):
    monkeypatch.setattr(data, "BLOCK_TOKENS", 50)
    monkeypatch.setattr(explicit, "BLOCK_NUMBERS", 400)
    setting = Setting(V=12, L=7, d=10, N=333)
    task = draw(setting, 2)
    assert len(list(task.samples)) > 30 and len(list(explicit.blocks(task))) > 30
    assert_same(by_counts(task), by_definition(task), setting.L)


@pytest.mark.parametrize("trigger_in_value", [True, False])
def test_counts_are_the_explicit_limit_where_tokens_tie(trigger_in_value):
    """Tokens that share an embedding tie exactly: attention is shared, and so is the count of it."""
    rng = np.random.default_rng(8)
    for seed in range(10):
        setting = Setting(V=8, L=5, d=6, N=40, trigger_in_value=trigger_in_value)
        task = draw(setting, seed)
        twins = rng.integers(0, 4, size=8)
        emb = data.Embeddings(task.emb.z_in[twins], task.emb.z_out, task.emb.z_trig, task.emb.label)
        task = explicit.Task(setting, emb, task.samples, task.z_eos, task.seed)
        fast, model = by_counts(task), explicit.train(task)
        assert_same(fast, explicit.trained(task, model), 5)
        every = np.array(list(itertools.product(range(8), repeat=5)))
        seq = explicit.Sequences(every, np.zeros(len(every), dtype=np.intp), emb.label[every[:, 0]])
        seen = explicit.shares(task, model, seq)[0]
        assert observe.exactly(fast, 5)[0] == pytest.approx(seen.mean(), abs=1e-9)
        some = explicit.on_fresh_sequences(task, model, np.random.default_rng(seed), 300)
        assert observe.on_fresh_sequences(fast, 5, np.random.default_rng(seed), 300) == (
            pytest.approx(some, abs=1e-9))


def test_observables_on_the_same_fresh_sequences():
    """Attention, recall and accuracy by either path, over the same sequences."""
    task = draw(Setting(V=25, L=8, d=14, N=400), 3)
    fast, model = by_counts(task), explicit.train(task)
    slow = explicit.on_fresh_sequences(task, model, np.random.default_rng(4), 500)
    seen = observe.on_fresh_sequences(fast, 8, np.random.default_rng(4), 500)
    assert seen == pytest.approx(slow, abs=1e-12)
    assert 0.05 < seen[0] < 0.95 or 0.05 < seen[2] < 0.95  # neither end would test anything


def test_every_sequence_of_a_block_holds_its_token_at_its_position():
    task = draw(Setting(V=11, L=5, d=4, N=200))
    first = next(iter(task.samples))
    seq = next(explicit.blocks(task))
    own = seq.tokens[np.arange(200), seq.position]
    assert np.array_equal(own, first.informative)
    assert np.array_equal(seq.label, task.emb.label[own])
    others = np.arange(5) != seq.position[:, None]
    assert np.array_equal(seq.tokens[others].reshape(200, 4), first.noise)
    assert set(seq.position) == set(range(5))


# --- gradients ---


@pytest.mark.parametrize("embedding", ["gaussian", "sphere", "orthogonal"])
@pytest.mark.parametrize("trigger_in_value", [True, False])
def test_gradients_are_those_of_the_cross_entropy(embedding, trigger_in_value):
    """Every entry, by central differences of the loss at a point where nothing is uniform."""
    setting = Setting(V=5, L=4, d=6, N=30, embedding=embedding, trigger_in_value=trigger_in_value,
                      eta=0.1, gamma=1.0)
    task = draw(setting, 1)
    rng = np.random.default_rng(0)
    at = [rng.standard_normal((6, 6)), 2 * rng.standard_normal((6, 6))]
    analytic = explicit.gradients(task, *at)
    step = 1e-5
    for which in (0, 1):
        for i, j in itertools.product(range(6), repeat=2):
            ends = []
            for sign in (1, -1):
                moved = [x.copy() for x in at]
                moved[which][i, j] += sign * step
                ends.append(explicit.loss(task, *moved))
            numeric = (ends[0] - ends[1]) / (2 * step)
            assert numeric == pytest.approx(analytic[which][i, j], abs=1e-9)
    assert np.abs(analytic[0]).max() > 1e-2 and np.abs(analytic[1]).max() > 1e-3


def test_loss_at_zero_is_that_of_a_uniform_guess():
    task = draw(Setting(V=13, L=4, d=6, N=30, eta=1.0, gamma=1.0))
    zero = np.zeros((6, 6))
    assert explicit.loss(task, zero, zero) == pytest.approx(np.log(13), rel=1e-14)
    assert np.all(explicit.gradients(task, zero, zero)[1] == 0)


def test_loss_falls_along_the_three_steps():
    task = draw(Setting(V=13, L=4, d=40, N=600, eta=0.1, gamma=200.0))
    model = explicit.train(task)
    zero = np.zeros((40, 40))
    assert explicit.loss(task, model.Val, model.W) < explicit.loss(task, zero, zero) - 0.5


# --- finite learning rates ---


def finite(task, eta, gamma):
    setting = task.setting.replace(eta=eta, gamma=gamma)
    return explicit.Task(setting, task.emb, task.samples, task.z_eos, task.seed)


def test_finite_rates_converge_to_the_limit():
    """The scores to first order in eta; then Val, as the attention hardens, to 1/gamma."""
    task = draw(Setting(V=12, L=5, d=20, N=300), 7)
    limit = explicit.trained(task, explicit.train(task))
    size = task.z_eos @ task.z_eos
    errors = []
    for eta in (1e-2, 1e-3, 1e-4):
        some = finite(task, eta, 1.0)
        got = explicit.trained(some, explicit.train(some)).scores / (eta * size)
        errors.append(np.abs(got - limit.scores).max() / np.abs(limit.scores).max())
    assert errors[0] / errors[1] == pytest.approx(10, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(10, rel=0.05)

    # Attention is hard once eta*gamma*score is great; what then remains in Val2/gamma is the output's
    # distance from uniform, of order eta, and Val1/gamma.
    errors = []
    for eta in (1e-5, 1e-6, 1e-7):
        gamma = 1e8 / eta
        some = finite(task, eta, gamma)
        got = explicit.trained(some, explicit.train(some)).logits / gamma
        errors.append(np.abs(got - limit.logits).max() / np.abs(limit.logits).max())
    assert errors[0] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(10, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(10, rel=0.1)


def test_finite_rates_far_from_the_limit_differ():
    """The negative control of the above: at small eta*gamma attention stays soft."""
    task = draw(Setting(V=12, L=5, d=20, N=300), 7)
    some = finite(task, 1e-3, 1.0)
    keys, _ = explicit.embed(some, next(explicit.blocks(some)))
    a = explicit.attention(some, explicit.train(some).W, keys)
    assert np.abs(a - 1 / 5).max() < 1e-3


def test_one_seed_runs_finite_rates_and_meets_the_limit():
    setting = Setting(V=16, L=4, d=32, N=600)
    near = setting.replace(eta=1e-8, gamma=1e18)
    limit, finite_rates = run.one_seed(setting, 3, 0, 512), run.one_seed(near, 3, 0, 512)
    assert finite_rates == pytest.approx(limit, abs=1e-12)
    far = run.one_seed(setting.replace(eta=1e-3, gamma=1.0), 3, 0, 512)
    assert far[2] < limit[2]  # soft attention mixes the noise in
    with pytest.raises(ValueError, match="n_test"):
        run.one_seed(near, 3, 0, None)


def test_rates_too_large_for_floats_are_an_error():
    task = draw(Setting(V=5, L=3, d=6, N=30, eta=1e300, gamma=1e300))
    with np.errstate(all="ignore"), pytest.raises(SettingError, match="eta=1e\\+300 and gamma=1e\\+300"):
        explicit.train(task)


# --- data and randomness ---


@pytest.mark.parametrize("V", [50, 64])  # a power of two is drawn in a way of its own
def test_redrawn_blocks_are_the_kept_ones(monkeypatch, V):
    monkeypatch.setattr(data, "BLOCK_TOKENS", 1000)
    monkeypatch.setattr(data, "DRAW_TOKENS", 3000)
    setting = Setting(V=V, L=11, d=16, N=2000)
    kept = by_counts(draw(setting))
    monkeypatch.setattr(data, "KEEP_BYTES", 0)
    redrawn = by_counts(draw(setting))
    for name in ("scores", "trigger_score", "logits", "wrong_logits"):
        assert np.array_equal(getattr(kept, name), getattr(redrawn, name))


def test_same_seed_same_bits_and_other_seed_other_bits():
    setting = Setting(V=30, L=6, d=16, N=500)
    assert run.one_seed(setting, 1, 4) == run.one_seed(setting, 1, 4)
    a, b, c = (by_counts(draw(setting, seed)) for seed in (1, 1, 2))
    assert np.array_equal(a.logits, b.logits) and a.trigger_score == b.trigger_score
    assert not np.array_equal(a.logits, c.logits)


@pytest.mark.parametrize("V", [63, 64])
def test_samples_are_uniform(V):
    """Counts of informative and of noise tokens, and of pairs of neighbours, by their chi-square."""
    samples = draw(Setting(V=V, L=9, d=4, N=40_000)).samples
    noise, pairs = np.zeros(V), np.zeros(V * V)
    for block in samples:
        tokens = block.noise.astype(np.intp)
        noise += np.bincount(tokens.ravel(), minlength=V)
        pairs += np.bincount((tokens[:, :-1] * V + tokens[:, 1:]).ravel(), minlength=V * V)
    for seen, total in ((samples.counts, 40_000), (noise, 320_000), (pairs, 280_000)):
        assert seen.sum() == total
        freedom = len(seen) - 1
        chi2 = float(((seen - total / len(seen)) ** 2).sum() / (total / len(seen)))
        assert abs(chi2 - freedom) < 5 * np.sqrt(2 * freedom)  # 5 standard deviations


def test_large_vocabularies_are_drawn_whole():
    for V in (70_000, 2**17):
        noise = next(iter(draw(Setting(V=V, L=4, d=2, N=5000)).samples)).noise
        assert noise.max() < V and noise.max() > 0.99 * V


@pytest.mark.parametrize("embedding, d", [("gaussian", 300), ("sphere", 30), ("orthogonal", 30),
                                          ("orthogonal", 31), ("orthogonal", 50)])
def test_embeddings_have_their_law(embedding, d):
    emb = draw(Setting(V=30, L=2, d=d, N=10, embedding=embedding)).emb
    assert emb.z_in.shape == emb.z_out.shape == (30, d) and emb.z_trig.shape == (d,)
    assert sorted(emb.label) == list(range(30))
    if embedding == "gaussian":
        assert np.var(emb.z_in) * d == pytest.approx(1, abs=0.1)
        assert np.linalg.norm(emb.z_trig) == pytest.approx(1, abs=0.3)
        return
    assert np.allclose(np.linalg.norm(emb.z_in, axis=1), 1) and np.isclose(emb.z_trig @ emb.z_trig, 1)
    if embedding == "orthogonal":
        assert np.allclose(emb.z_in @ emb.z_in.T, np.eye(30))
        assert np.allclose(emb.z_out @ emb.z_out.T, np.eye(30))
        if d > 30:
            assert np.allclose(emb.z_in @ emb.z_trig, 0)


# --- the sum over sequences ---


@pytest.mark.parametrize("size", [(4, 3, 3, 20), (3, 4, 6, 15), (5, 1, 4, 20), (6, 2, 2, 40)],
                         ids=str)
@pytest.mark.parametrize("trigger_in_value", [True, False])
def test_exact_observables_are_the_mean_over_all_sequences(size, trigger_in_value):
    setting = Setting(*size, trigger_in_value=trigger_in_value)
    V, L = setting.V, setting.L
    every = np.array(list(itertools.product(range(V), repeat=L)))  # (V^L, L), informative first
    for seed in range(4):
        task = draw(setting, seed)
        model = explicit.train(task)
        seq = explicit.Sequences(every, np.zeros(len(every), dtype=np.intp),
                                 task.emb.label[every[:, 0]])
        seen, right = explicit.shares(task, model, seq)
        attention, recall, accuracy = observe.exactly(by_counts(task), L)
        assert attention == pytest.approx(seen.mean(), abs=1e-12)
        assert accuracy == pytest.approx(right.mean(), abs=1e-12)
        facts = explicit.trained(task, model).logits
        assert recall == np.mean(facts.argmax(axis=1) == np.arange(V))


def test_fresh_sequences_scatter_about_the_exact_values():
    setting = Setting(V=30, L=16, d=12, N=400)
    model = by_counts(draw(setting, 1))
    exact = observe.exactly(model, 16)
    seen = observe.on_fresh_sequences(model, 16, np.random.default_rng(0), 20_000)
    assert seen[1] == exact[1]
    for i in (0, 2):
        deviation = np.sqrt(exact[i] * (1 - exact[i]) / 20_000)
        assert 0.05 < exact[i] < 0.95 and abs(seen[i] - exact[i]) < 5 * deviation
