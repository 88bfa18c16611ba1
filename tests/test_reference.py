"""The explicit simulator against the model's definition, and the fast paths against it, with a layer and without."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from support import drawn_task

from recall_theory.activations import activation
from recall_theory.settings import Setting, SettingError
from recall_theory.simulate import data, observables, reference, run, three_step
from recall_theory.simulate.loops import fast_activation

EMBEDDINGS = ["gaussian", "sphere", "orthogonal"]
ACTIVATIONS = ["relu", "gelu", "tanh", "erf", "quadratic", "identity", "x**3 - 3*x", "relu(x - 0.3)**2"]
SIZES = [(20, 6, 24, 300), (2, 3, 5, 40), (2, 1, 2, 7), (9, 1, 12, 50), (7, 4, 9, 1), (3, 1, 3, 1), (30, 12, 31, 97),
         (64, 40, 64, 500)]  # V, L, d, N
MLP_SIZES = [(20, 6, 24, 300, 7), (9, 1, 12, 50, 30), (7, 4, 9, 1, 5), (30, 12, 31, 97, 64)]
LAYERS = [{}, {"m": 9, "activation": "gelu"}]
ETA = 1e-12  # the explicit simulator at this rate is the limit eta -> 0 but for some 1e-12


def at_beta(setting, lead, eta=ETA):
    """The setting with beta so large that the trigger's logit is about `lead`."""
    return setting.replace(eta=eta, gamma=lead * setting.V * setting.L**2 / eta)


def fast(task, beta=None):
    """At the setting's rates as eta -> 0, or at another beta."""
    beta = task.setting.beta if beta is None else beta
    temperature = None if np.isinf(beta) else beta * float(task.z_eos @ task.z_eos)
    return three_step.train(task.setting, task.emb, task.samples, task.layer, temperature=temperature)


def by_definition(task):
    return reference.trained(task, reference.train(task))


def assert_close(a, b, tolerance=1e-9, scale=0.0):
    """To `tolerance` of the largest entry, or of `scale`."""
    a, b = np.asarray(a), np.asarray(b)
    assert np.abs(a - b).max() <= tolerance * max(np.abs(b).max(), scale)


def assert_same(a, b, setting):
    natural = 1 / (setting.V * setting.L**2)  # at L = 1 all scores are zero but for rounding
    assert_close(a.scores, b.scores, scale=natural)
    assert_close(a.trigger_score, b.trigger_score, scale=natural)
    scale = setting.gamma or 1.0
    assert_close(a.logits, b.logits / scale)
    assert_close(a.wrong @ a.out, b.wrong @ b.out / scale)
    if setting.is_limit:
        assert observables.exactly(a, setting.L) == pytest.approx(observables.exactly(b, setting.L), abs=1e-9)


def every_sequence(task):
    """All V^L sequences, the informative token first."""
    V, L = task.setting.V, task.setting.L
    tokens = np.array(list(itertools.product(range(V), repeat=L)))
    return reference.Sequences(tokens, np.zeros(len(tokens), dtype=np.intp), task.emb.label[tokens[:, 0]])


# --- the fast paths ---


VARIANTS = [{"embedding": e, "trigger_in_value": t} for e in EMBEDDINGS for t in (True, False)]


@pytest.mark.parametrize("setting", [
    *(Setting(*size, **variant) for size in SIZES for variant in VARIANTS),
    *(Setting(*size, activation=a) for size in MLP_SIZES for a in ACTIVATIONS),
    *(Setting(V=40, L=9, d=d, N=400) for d in (1, 3, 8)),
    *(Setting(V=15, L=5, d=16, N=400, m=12, activation="gelu", **variant) for variant in VARIANTS)], ids=str)
def test_the_fast_path_is_the_explicit_limit(setting):
    for seed in range(3):
        task = drawn_task(setting, seed)
        assert_same(fast(task), by_definition(task), setting)


@pytest.mark.parametrize("lead", [None, 2.0])
@pytest.mark.parametrize("layer", LAYERS)
def test_blocks_of_any_size_give_the_same(layer, lead, monkeypatch):
    setting = Setting(V=12, L=7, d=10, N=333, **layer)
    setting = setting if lead is None else at_beta(setting, lead)

    def observed(model):
        return observables.on_fresh_sequences(model, setting.L, np.random.default_rng(1), 200)

    whole = fast(drawn_task(setting, 2))
    seen = observed(whole)
    for module, name, size in ((data, "DRAW_TOKENS", 50), (data, "LAYOUT_TOKENS", 20),
                               (reference, "BLOCK_NUMBERS", 400), (three_step, "TABLE", 12),
                               (three_step, "FEWEST_ROWS", 5), (observables, "BLOCK_LOGITS", 30),
                               (three_step, "WEIGHTS", 30), (three_step, "TABLE_ENTRIES", 12 * 4),
                               (three_step, "BLOCK_ENTRIES", 70)):
        monkeypatch.setattr(module, name, size)
    again = drawn_task(setting, 2)  # samples are drawn block by block: other sizes draw others
    assert len(list(again.samples.blocks())) > 30 and len(list(reference.blocks(again))) > 30
    assert_same(fast(again), by_definition(again), setting)
    monkeypatch.setattr(data, "DRAW_TOKENS", 1 << 21)
    monkeypatch.setattr(data, "LAYOUT_TOKENS", 1 << 16)
    parts = fast(drawn_task(setting, 2))
    assert_same(parts, dataclasses.replace(whole, out=whole.out * (setting.gamma or 1)), setting)
    assert observed(parts) == pytest.approx(seen, abs=1e-12)


# --- ties ---


def test_attention_that_ties_is_shared():
    task = drawn_task(Setting(V=6, L=3, d=7, N=30, embedding="orthogonal"), 4)
    block, = task.samples.blocks()
    zeros = np.zeros((6, 7))
    attention = three_step.Trained(np.zeros(6), 0.0, zeros, zeros, zeros.T).attention(block)
    assert attention.own == pytest.approx(np.full(30, 1 / 3))
    assert attention.others == pytest.approx(np.full((30, 2), 1 / 3))


@pytest.mark.parametrize("layer", [{}, {"m": 10, "activation": "relu"}, {"m": 10, "activation": "tanh"}])
@pytest.mark.parametrize("trigger_in_value", [True, False])
def test_tokens_that_share_an_embedding_tie_alike_in_both_paths(layer, trigger_in_value):
    setting = Setting(V=6, L=4, d=6, N=40, trigger_in_value=trigger_in_value, **layer)
    tied = 0
    for seed in range(8):
        task = drawn_task(setting, seed)
        emb = dataclasses.replace(task.emb, z_in=task.emb.z_in[[0, 0, 0, 3, 3, 5]])
        task = dataclasses.replace(task, emb=emb)
        model, plain = fast(task), reference.train(task)
        assert_same(model, reference.trained(task, plain), setting)
        attended, *_ = reference.answered(task, plain, every_sequence(task))
        assert observables.exactly(model, 4)[0] == pytest.approx(attended.mean(), abs=1e-9)
        tied += sum(np.count_nonzero(model.attention(block).others % 1) for block in task.samples.blocks())
        some = reference.on_fresh_sequences(task, plain, np.random.default_rng(seed), 300)
        assert observables.on_fresh_sequences(model, 4, np.random.default_rng(seed), 300) == pytest.approx(some)
    assert tied > 0


@pytest.mark.parametrize("layer", LAYERS)
def test_what_rounding_leaves_of_step_two_is_a_tie(layer):
    # One sample whose tokens are all the same token: without the trigger its values are equal, and nothing is learnt.
    setting = Setting(V=2, L=3, d=8, N=1, trigger_in_value=False, **layer)
    cases = 0
    for seed in range(20):
        task = drawn_task(setting, seed)
        block = next(task.samples.blocks())
        if (block.noise == block.informative[:, None]).all():
            cases += 1
            for model in (fast(task), by_definition(task)):
                assert not model.scores.any() and model.trigger_score == 0
    assert cases > 0


# --- the definition ---


@pytest.mark.parametrize("variant", [
    *VARIANTS, *({"m": 6, "activation": a} for a in ("relu", "gelu", "tanh", "x**3 - 3*x"))], ids=str)
def test_gradients_are_those_of_the_cross_entropy(variant):
    """Every entry, by central differences of the loss at a point where nothing is uniform."""
    setting = Setting(V=5, L=4, d=6, N=30, eta=0.1, gamma=1.0, **variant)
    task = drawn_task(setting, 1)
    rng = np.random.default_rng(0)
    at = [rng.standard_normal((6, 6)), 2 * rng.standard_normal((6, 6))]
    analytic = reference.gradients(task, *at)
    step = 1e-5
    for which, (i, j) in itertools.product((0, 1), itertools.product(range(6), repeat=2)):
        ends = []
        for sign in (1, -1):
            moved = [x.copy() for x in at]
            moved[which][i, j] += sign * step
            ends.append(reference.loss(task, *moved))
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(analytic[which][i, j], rel=1e-6, abs=1e-9)
    assert np.abs(analytic[0]).max() > 1e-2 and np.abs(analytic[1]).max() > 1e-3


def test_the_loss_is_that_of_a_uniform_guess_and_falls_along_the_three_steps():
    task = drawn_task(Setting(V=13, L=4, d=40, N=600, eta=0.1, gamma=200.0))
    zero = np.zeros((40, 40))
    assert reference.loss(task, zero, zero) == pytest.approx(np.log(13), rel=1e-14)
    assert np.all(reference.gradients(task, zero, zero)[1] == 0)
    model = reference.train(task)
    assert reference.loss(task, *model) < np.log(13) - 0.5


def test_every_sequence_of_a_block_holds_its_token_at_its_position():
    task = drawn_task(Setting(V=11, L=5, d=4, N=200))
    first, seq = next(task.samples.blocks()), next(reference.blocks(task))
    informative = seq.tokens[np.arange(200), seq.position]
    assert np.array_equal(informative, first.informative)
    assert np.array_equal(seq.label, task.emb.label[informative])
    others = np.arange(5) != seq.position[:, None]
    assert np.array_equal(seq.tokens[others].reshape(200, 4), first.noise)
    assert set(seq.position) == set(range(5))


def test_a_wide_identity_layer_is_the_attention_only_model():
    # W_in^T W_in/m = I + O(sqrt(d/m)): at m = 2^15 the observables agree but for rare close calls
    setting = Setting(V=32, L=6, d=24, N=300, m=2**15, activation="identity")
    task = drawn_task(setting)
    deep, plain = fast(task), fast(dataclasses.replace(task, layer=None))
    assert observables.exactly(deep, 6) == pytest.approx(observables.exactly(plain, 6), abs=0.04)
    assert_close(deep.scores, plain.scores, 0.05)
    assert_close(deep.logits, plain.logits, 0.05)


def test_a_scaled_activation_scales_the_scores():
    setting = Setting(V=16, L=5, d=12, N=300, m=20, activation="tanh(x)")
    one, three = (fast(drawn_task(setting.replace(activation=a), 1)) for a in ("tanh(x)", "3*tanh(x)"))
    assert_close(three.scores, 9 * one.scores)
    assert_close(three.logits, 9 * one.logits)


# --- finite learning rates ---


def finite(task, eta, gamma):
    return dataclasses.replace(task, setting=task.setting.replace(eta=eta, gamma=gamma))


def errors_of(task, name, rates):
    """How far the scores or logits at finite rates are from the limit's; `rates` are (eta, gamma, scale)."""
    limit = getattr(by_definition(task), name)
    errors = []
    for eta, gamma, scale in rates:
        near = getattr(by_definition(finite(task, eta, gamma)), name) / scale
        errors.append(np.abs(near - limit).max() / np.abs(limit).max())
    return errors


def test_finite_rates_converge_to_the_limit():
    """The scores to first order in eta; then Val, as the attention hardens, to 1/gamma."""
    task = drawn_task(Setting(V=12, L=5, d=20, N=300), 7)
    size = task.z_eos @ task.z_eos
    errors = errors_of(task, "scores", [(eta, 1.0, eta * size) for eta in (1e-2, 1e-3, 1e-4)])
    assert np.divide(errors[:-1], errors[1:]) == pytest.approx(10, rel=0.05)
    # Attention is hard once eta*gamma*score is great; what then remains in Val2/gamma is the output's
    # distance from uniform, of order eta, and Val1/gamma.
    errors = errors_of(task, "logits", [(eta, 1e8 / eta, 1e8 / eta) for eta in (1e-5, 1e-6, 1e-7)])
    assert errors[0] < 1e-3
    assert np.divide(errors[:-1], errors[1:]) == pytest.approx(10, rel=0.1)
    task = drawn_task(Setting(V=10, L=4, d=16, N=400, m=20, activation="relu"))
    errors = errors_of(task, "logits", [(eta, 1e3 / eta**2, 1e3 / eta**2) for eta in (1e-2, 1e-4)])
    assert errors[1] < min(1e-3, errors[0] / 10)


def test_finite_rates_far_from_the_limit_differ():
    """The negative control of the above: at small eta*gamma attention stays soft."""
    task = finite(drawn_task(Setting(V=12, L=5, d=20, N=300), 7), 1e-3, 1.0)
    keys, _ = reference.embed(task, next(reference.blocks(task)))
    a = reference.attention(task, reference.train(task).W, keys)
    assert np.abs(a - 1 / 5).max() < 1e-3


@pytest.mark.parametrize(("layer", "rates", "tolerance"), [
    ({}, {"eta": 1e-8, "gamma": 1e18}, 1e-12), ({"m": 64, "activation": "tanh"}, {"eta": 1e-6, "gamma": 1e14}, 0.03)])
def test_one_seed_runs_finite_rates_and_meets_the_limit(layer, rates, tolerance):
    setting = Setting(V=16, L=4, d=32, N=600, **layer)
    limit, near = run.one_seed(setting, 3, 0, 512), run.one_seed(setting.replace(**rates), 3, 0, 512)
    assert near == pytest.approx(limit, abs=tolerance)
    far = run.one_seed(setting.replace(eta=1e-3, gamma=1.0), 3, 0, 512)
    assert far[2] < limit[2]  # soft attention mixes the noise in
    with pytest.raises(ValueError, match="n_test"):
        run.one_seed(setting.replace(**rates), 3, 0, None)


def test_rates_too_large_for_floats_are_an_error():
    task = drawn_task(Setting(V=5, L=3, d=6, N=30, eta=1e300, gamma=1e300))
    with np.errstate(all="ignore"), pytest.raises(SettingError, match="eta=1e\\+300 and gamma=1e\\+300"):
        reference.train(task)


# --- observables ---


def test_observables_on_the_same_fresh_sequences():
    task = drawn_task(Setting(V=25, L=8, d=14, N=400), 3)
    slow = reference.on_fresh_sequences(task, reference.train(task), np.random.default_rng(4), 500)
    quick = observables.on_fresh_sequences(fast(task), 8, np.random.default_rng(4), 500)
    assert quick == pytest.approx(slow, abs=1e-12) and slow[3] == slow[0]  # in the limit a weight is 0 or 1
    assert 0.05 < quick[0] < 0.95 or 0.05 < quick[2] < 0.95  # neither end would test anything


@pytest.mark.parametrize("size", [(4, 3, 3, 20), (3, 4, 6, 15), (5, 1, 4, 20), (6, 2, 2, 40)], ids=str)
@pytest.mark.parametrize("trigger_in_value", [True, False])
def test_exact_observables_are_the_mean_over_all_sequences(size, trigger_in_value):
    setting = Setting(*size, trigger_in_value=trigger_in_value)
    for seed in range(4):
        task = drawn_task(setting, seed)
        model = reference.train(task)
        attended, right, _ = reference.answered(task, model, every_sequence(task))
        attention, recall, accuracy = observables.exactly(fast(task), setting.L)
        assert attention == pytest.approx(attended.mean(), abs=1e-12)
        assert accuracy == pytest.approx(right.mean(), abs=1e-12)
        facts = reference.trained(task, model).logits
        assert recall == np.mean(facts.argmax(axis=1) == np.arange(setting.V))


def test_fresh_sequences_scatter_about_the_exact_values():
    model = fast(drawn_task(Setting(V=30, L=16, d=12, N=400), 1))
    exact = observables.exactly(model, 16)
    counted = observables.on_fresh_sequences(model, 16, np.random.default_rng(0), 20_000)
    assert counted[1] == exact[1]
    for i in (0, 2):
        deviation = np.sqrt(exact[i] * (1 - exact[i]) / 20_000)
        assert 0.05 < exact[i] < 0.95 and abs(counted[i] - exact[i]) < 5 * deviation


@pytest.mark.parametrize("name", ["gelu", "erf(x)", "silu", "softplus", "sigmoid(2*x)", "tanh"])
def test_a_table_of_polynomials_is_the_activation(name):
    """Within the table's ends and beyond them; of what NumPy has fast there is no table."""
    phi = activation(name)
    for made, plain in zip(fast_activation(phi), (phi.phi, phi.derivative), strict=True):
        assert (made.__name__ == "by_table") == (name != "tanh")
        for end in (9.99, 30):
            x = np.random.default_rng().uniform(-end, end, (40, 500))
            assert np.abs(made(x) - plain(x)).max() <= 1e-14 * np.abs(plain(x)).max()
