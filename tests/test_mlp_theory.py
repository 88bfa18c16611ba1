"""The Attention-MLP law: its limits, its terms' rates, its moments against plain sampling."""

import numpy as np
import pytest
from support import assert_mean, standard_error

from recall_theory import Setting, predict
from recall_theory.activations import activation
from recall_theory.theory import formulas, seed
from recall_theory.theory.formulas import step_two as mlp_terms
from recall_theory.theory.mlp import mlp_law as law
from recall_theory.theory.mlp.kernel_moments import Bare, Kernel, of_neurons, of_values
from recall_theory.theory.mlp.width_regime import share_of_few
from recall_theory.theory.recall import recall_and_accuracy

CAUSES = ("mean bias", "gradient noise", "MLP noise", "interference", "attention overlap")
SHIPPED = ("identity", "relu", "gelu", "tanh", "erf", "quadratic")


@pytest.mark.parametrize("sizes", [(256, 16, 64, 25600), (512, 128, 64, 16384), (128, 96, 48, 2000)])
def test_identity_of_infinite_width_is_attention_only(sizes):
    found = law.mlp_prediction(*sizes, 10**9, "identity")
    of_attention = seed.seed_law(*sizes)
    alone = recall_and_accuracy(of_attention, *sizes)
    assert found["attention"] == pytest.approx(seed.attention(*sizes)[0], abs=2e-3)
    # the Attention-only law also knows of the multinomial sum of the counts: a difference of order 1/V
    for name in ("recall", "accuracy"):
        assert found[name] == pytest.approx(alone[name][0], abs=4e-3)


def test_infinite_width_is_the_kernel():
    """m -> infinity: predictions converge at rate 1/m, and every MLP term falls as 1/m."""
    sizes = (256, 24, 96, 12800)
    recall = [law.mlp_prediction(*sizes, m, "relu")["recall"] for m in (2000, 4000, 10**8)]
    assert abs(recall[1] - recall[2]) < 0.7 * abs(recall[0] - recall[2])
    wide, wider = (law.mlp_terms(*sizes, m, "relu") for m in (10**4, 10**5))
    for step in wide:
        for name, value in wide[step].items():
            if name.startswith("MLP noise"):
                assert value / wider[step][name] == pytest.approx(10, rel=0.01)
            else:
                assert wider[step][name] == pytest.approx(value, rel=2e-3)


@pytest.mark.parametrize("phi", SHIPPED)
def test_many_samples_remove_the_gradient_noise(phi):
    few, many = (law.mlp_terms(512, 32, 64, N, 1024, phi) for N in (10**11, 10**12))
    for step in few:
        for name in few[step]:
            if name.startswith("gradient noise"):
                assert many[step][name] < 0.2 * few[step][name] or many[step][name] < 1e-12, name
            if name.startswith("mean bias"):
                assert abs(many[step][name]) < 1e-6


@pytest.mark.parametrize("phi", SHIPPED)
def test_every_term_is_attributed(phi):
    terms = law.mlp_terms(256, 32, 64, 8192, 512, phi)
    assert set(terms) == {"attention", "recall"}
    for name, value in {**terms["attention"], **terms["recall"]}.items():
        assert name.startswith(CAUSES) and np.isfinite(value)


def test_the_scale_of_the_activation_is_immaterial():
    one, three = (law.mlp_prediction(256, 64, 64, 8192, 300, phi) for phi in ("tanh(x)", "3*tanh(x)"))
    for name in one:
        assert one[name] == pytest.approx(three[name], rel=1e-6, abs=1e-9)


def test_names_and_expressions_agree():
    named, written = (law.mlp_prediction(256, 16, 96, 12800, 400, phi) for phi in ("relu", "(x + abs(x))/2"))
    assert named["recall"] == pytest.approx(written["recall"], abs=1e-4)


@pytest.mark.parametrize("phi", [*SHIPPED, "sin(x)", "x**3 - 3*x"])
def test_moments_of_step_two_by_sampling(phi):
    """Against a fine sum over the Gaussian density."""
    f = activation(phi)
    s = 0.07
    u = np.linspace(-9, 9, 20001)
    w = np.exp(-u**2 / 2)
    w /= w.sum()
    x = np.sqrt(s) * u
    k = seed.activation_moments(f, s)
    product = f.phi(x) * f.derivative(x)
    assert k["P0"] == pytest.approx(w @ f.phi(x)**2, rel=1e-4, abs=1e-9)
    assert k["h0"] == pytest.approx(w @ product, rel=1e-3, abs=1e-6)
    assert k["h1"] == pytest.approx(w @ (product * u) / np.sqrt(s), rel=1e-3, abs=1e-6)
    assert k["A"] == pytest.approx((w @ (f.phi(x) * u) / np.sqrt(s))**2, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("phi", ["relu", "gelu", "quadratic", "tanh"])
def test_kernel_and_neurons_by_sampling(phi):
    """The kernel's mean, variance and fluctuation over the weights, against random weights and values."""
    rng = np.random.default_rng(1)
    f, d, m, others, draws = activation(phi), 48, 200, 1500, 120
    trigger, own = rng.standard_normal((2, d)) / np.sqrt(d)
    h = own + trigger
    s, t, tau = (np.array([v]) for v in (h @ h, trigger @ h, trigger @ trigger))
    kernel = Kernel(f, 0.2, 8.0)
    values = of_values(kernel, d, s, t, tau)
    neurons = of_neurons(f, Bare(f, 12.0), d, m, s, t, tau, values)
    z = rng.standard_normal((others, d)) / np.sqrt(d) + trigger
    rows = []
    for _ in range(draws):
        W = rng.standard_normal((m, d))
        X = f.phi(W @ h)
        k = f.phi(z @ W.T) @ X / m
        rows.append((np.mean(X * X), k.mean(), k.var()))
    power, mean, variance = np.array(rows).T
    sampled = 3 * np.sqrt(values.variance[0] / others)  # the finite set of other values
    assert_mean(power, neurons.own[0], 4)
    assert_mean(mean, values.mean[0], 4, sampled)
    expected = (1 - 1 / m) * values.variance[0] + neurons.noise[0] / m
    assert variance.mean() == pytest.approx(expected, rel=0.1, abs=4 * standard_error(variance))
    assert (power - mean).std() == pytest.approx(np.sqrt(neurons.spread[0] / m), rel=0.3)


def test_kernel_table_against_closed_form():
    s1, s2, rho = np.array([0.5, 2.0, 3.0]), np.array([1.0, 2.5, 2.0]), np.array([0.2, 1.0, -0.8])
    found = Kernel(activation("erf"), 0.25, 8.0)(s1, s2, rho)
    exact = 2 / np.pi * np.arcsin(2 * rho / np.sqrt((1 + 2 * s1) * (1 + 2 * s2)))
    assert np.allclose(found, exact, atol=1e-8)


def test_formulas_are_registered():
    assert len([n for n in formulas if n.startswith("mlp.")]) >= 9
    assert formulas["mlp.law.recall.mlp_noise"](V=1000, k1=1.0, k0=0.5, kz=0.2) == pytest.approx(
        2 * 1000 * np.log(1000) * 0.2 / 0.25)


def test_input_power_is_the_mean_squared_norm():
    rng = np.random.default_rng(0)
    V, L, d = 40, 6, 30
    norms = []
    for _ in range(4000):
        z = rng.standard_normal((V, d)) / np.sqrt(d)
        trigger = rng.standard_normal(d)
        trigger /= np.linalg.norm(trigger)
        h = (z[rng.integers(V, size=L)].sum(axis=0) + trigger) / L
        norms.append(h @ h)
    assert np.mean(norms) == pytest.approx(mlp_terms.input_power(V, L, 1), rel=0.02)


def test_orthogonal_embeddings_are_refused():
    with pytest.raises(ValueError, match="orthogonal"):
        law.mlp_prediction(64, 8, 64, 512, 64, "relu", "orthogonal")


@pytest.mark.parametrize("e", [1, 0])
def test_the_quadratic_lead_is_the_mean_of_its_definition(e):
    """Pairs of samples of one fact against pairs of any two: z'C_i h_j (h_i.h_j) and z'C_i h_i |h_j|^2/2, as step two
    has them for phi'' = 1. 240,000 pairs leave a standard error of 1 to 2 %; the test allows six of them."""
    rng = np.random.default_rng(4)
    d, L, n = 24, 6, 6000
    z = rng.standard_normal(d)
    z /= np.linalg.norm(z)

    def samples(x):
        noise = rng.standard_normal((n, L - 1, d)) / np.sqrt(d)
        keys, values = (np.concatenate([(x + own)[:, None], noise], 1) for own in (z, e * z))
        return keys, values, values.mean(1)

    found = []
    for _ in range(40):
        x, other = rng.standard_normal((2, n, d)) / np.sqrt(d)
        (keys, values, h), same, foreign = samples(x), samples(x)[2], samples(other)[2]
        along = keys @ z

        def pull(v, h=h, values=values, along=along):
            return (along * np.einsum("nld,nd->nl", values, v)).mean(1) - along.mean(1) * (h * v).sum(1)

        found.append((pull(same) * (h * same).sum(1) - pull(foreign) * (h * foreign).sum(1)
                      + pull(h) * ((same**2).sum(1) - (foreign**2).sum(1)) / 2).mean())
    V = 10.0**9
    predicted = V * mlp_terms.quadratic_lead(mlp_terms.StepTwo(V, float(L), float(d), 1.0, e))
    se = np.std(found, ddof=1) / np.sqrt(len(found))
    assert se < 0.02 * predicted
    assert abs(np.mean(found) - predicted) < 6 * se
    # Negative control: without its terms in 1/d.
    assert abs(np.mean(found) - (1 - 1 / L) * (1 + 2 * e) / L**4) > 6 * se or e == 0


@pytest.mark.parametrize("phi, fourth", [("relu", 6), ("identity", 3), ("x**2", 35 / 3)])
def test_the_share_of_few_neurons_by_hand(phi, fourth):
    """E phi^4/(E phi^2)^2 of a normal variable, over m."""
    assert share_of_few(7, phi) == pytest.approx(fourth / 7, rel=1e-12)


def test_predict_says_when_few_neurons_decide():
    sizes = {"V": 64, "L": 4, "d": 32, "N": 2048, "m": 128}
    assert predict(Setting(**sizes, activation="relu")).remarks == ()
    (remark,) = predict(Setting(**sizes, activation="x**3 - 3*x")).remarks
    assert "m = 128" in remark
    assert predict(Setting(**{**sizes, "m": None})).to_dict()["remarks"] == []
