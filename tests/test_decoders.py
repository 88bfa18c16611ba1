"""Decoders of the noisy first gradient: their noise, their predictions, the bound above them, and the command."""

from __future__ import annotations

import itertools
import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from command_line import answer, call, csv_rows, refused
from support import shipped, stops_after

from recall_theory.settings import Setting, SettingError
from recall_theory.simulate import workers
from recall_theory.simulate.data import Embeddings, draw_embeddings
from recall_theory.simulate.memories import READERS, argmax_reading, assignments, gradient_noise, read_gradient
from recall_theory.theory.one_step_memory import one_step_recall, one_step_terms
from recall_theory.verification.simulated_alternatives import OBSERVED, bound, tightness

SHIPPED = shipped("gradient_access")
CELLS = SHIPPED["cells"]


# --- what was measured ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("reader", "noise"), [("gradient", 0), ("noisy gradient", 1)])
def test_predicted_readings_are_within_two_hundredths(reader, noise):
    for cell in CELLS:
        predicted = float(one_step_recall(*sizes_of(cell), noise=noise)[0])
        assert abs(predicted - np.mean(cell["recall"][reader])) < 0.02, cell["setting"]


def sizes_of(cell):
    return [cell["setting"][name] for name in ("V", "L", "d", "N")]


def test_no_decoder_in_noise_beats_the_bound():
    """The control: a bound with an eighth of its information would be beaten somewhere."""
    beaten = []
    for cell in CELLS:
        V, L, d, N = sizes_of(cell)
        for reader in READERS[1:]:
            assert np.mean(cell["recall"][reader]) < bound(V, L, d, N), (cell["setting"], reader)
        beaten.append(np.mean(cell["recall"]["best assignment"]) > bound(V, L, d, N / 8))
    assert any(beaten)


@pytest.mark.parametrize("number", sorted(range(len(CELLS)), key=lambda i: CELLS[i]["setting"]["N"] *
                                          CELLS[i]["setting"]["L"])[:3])
def test_shipped_results_are_recomputed(number):
    cell = CELLS[number]
    setting = Setting(**cell["setting"])
    for index in range(2):
        seen = read_gradient(setting, SHIPPED["seed"] + number, index)
        kept = [cell["recall"][reader][index] for reader in READERS]
        # an answer may turn where two logits are equal but for rounding, which differs between machines
        assert seen == pytest.approx(kept, abs=1.1 / setting.V + 1e-5)


@pytest.mark.parametrize("name", ["N", "d", "L", "V"])
def test_measured_exponents_are_those_of_the_law(name):
    scan = SHIPPED["scans"][name]
    signal = np.array(scan["signal"])
    ratio = np.mean(scan["noise"], axis=1) / signal.mean(axis=1) ** 2
    u = np.log(scan["sizes"])
    assert np.polyfit(u, np.log(ratio), 1)[0] == pytest.approx(scan["law"], abs=0.05)
    # and the sum of all terms is the ratio itself, beside what a competitor holds of its own, 1 + d/V, and 1/d
    sizes = [{**scan["fixed"], name: size} for size in scan["sizes"]]
    told = [float(sum(t[0] for t in one_step_terms(**s).values())) * (1 + s["d"] / s["V"]) + 1 / s["d"] for s in sizes]
    error = 2 * signal.std(axis=1, ddof=1) / signal.mean(axis=1) / np.sqrt(signal.shape[1])  # relative, of the ratio
    assert (np.abs(ratio / told - 1) < 0.02 + 4 * error).all()


# --- the noise and the decoders -------------------------------------------------------------------------


def small(V=5, L=3, d=3, N=40, seed=0, **more):
    setting = Setting(V=V, L=L, d=d, N=N, **more)
    return setting, draw_embeddings(setting, np.random.default_rng(seed))


def kronecker(setting, emb):
    """Sigma_r x Sigma_z."""
    r, z = emb.residuals, emb.z_in - emb.z_in.mean(axis=0)
    return np.kron(r.T @ r, z.T @ z) / setting.V**2


def test_the_noise_has_the_covariance_of_the_noise_tokens():
    """Exactly: that of sum_i r_y_i (L-1 uniform tokens)^T / L, by a sum over all labels and tokens."""
    setting, emb = small()
    r, z = emb.residuals, emb.z_in - emb.z_in.mean(axis=0)
    one = np.array([np.outer(r[y], z[b]).ravel() for y, b in itertools.product(range(setting.V), repeat=2)])
    exact = (setting.L - 1) / setting.L**2 / setting.N * one.T @ one / len(one)
    assert exact == pytest.approx((setting.L - 1) / (setting.N * setting.L**2) * kronecker(setting, emb))
    rng = np.random.default_rng(1)
    draws = np.array([gradient_noise(setting, emb, rng).ravel() for _ in range(6000)])
    seen = draws.T @ draws / len(draws)
    # the seed is fixed; six standard errors of each entry, of Gaussian products
    scale = np.sqrt(np.diag(exact))
    assert np.abs(seen - exact).max() < 6 * np.sqrt(2 / len(draws)) * scale.max() ** 2


@pytest.mark.parametrize("d", [14, 24, 40])
def test_without_noise_the_permutation_is_found(d):
    """From the mean gradient alone, of fewer dimensions than labels too."""
    setting, emb = small(V=24, d=d, L=4)
    gradient = emb.residuals.T @ emb.z_in / (setting.V * setting.L)
    matched, best = assignments(setting, emb, gradient)
    assert best == 1
    if d >= setting.V:
        assert matched == 1 and argmax_reading(emb, gradient) > 0.7


def test_what_all_values_share_does_not_mislead_the_assignments():
    setting, emb = small(V=24, d=24, L=4)
    gradient = emb.residuals.T @ emb.z_in / (setting.V * setting.L)
    shared = emb.z_trig + setting.L * emb.z_in.mean(axis=0)
    counts = np.random.default_rng(2).standard_normal(setting.V)
    assert assignments(setting, emb, gradient + np.outer(emb.residuals.T @ counts, shared)) == (1, 1)


def test_a_gradient_of_another_permutation_gives_chance():
    setting, emb = small(V=64, d=64, L=4)
    wrong = Embeddings(emb.z_in, emb.z_out, emb.z_trig, np.roll(emb.label, 1))
    gradient = wrong.residuals.T @ emb.z_in / (setting.V * setting.L)
    assert max(assignments(setting, emb, gradient)) < 0.1


def test_readers_refuse_what_they_cannot_read():
    for more in ({"L": 1}, {"m": 8}, {"eta": 0.1, "gamma": 1.0}):
        with pytest.raises(SettingError, match="readers of the first gradient"):
            read_gradient(Setting(**{"V": 8, "L": 3, "d": 4, "N": 20, **more}), 0, 0)
    with pytest.raises(ValueError, match="noise=-1"):
        one_step_recall(8, 3, 4, 20, noise=-1)
    with pytest.raises(ValueError, match="orthogonal"):
        one_step_recall(8, 3, 8, 20, embedding="orthogonal", noise=1)


def test_added_noise_costs_recall_and_tends_to_a_half_of_the_samples():
    assert (np.diff([one_step_recall(256, 16, 64, 4096, noise=x)[0] for x in (0, 1, 3)]) < 0).all()
    # where sampling noise is all there is, noise of its size halves the samples: few of them, many dimensions
    sizes = {"V": 10**6, "L": 10**4, "d": 30000}
    twice = one_step_recall(**sizes, N=2 * 10**8, noise=1)[0]
    assert twice == pytest.approx(one_step_recall(**sizes, N=10**8)[0], abs=0.02)


# --- the command --------------------------------------------------------------------------------------------

SIZES = ["bounds", "--decoders", "--V", "24", "--L", "6", "--d", "12", "--points", "2", "--seeds", "2", "--seed", "1"]


def test_tightness_is_the_librarys_whatever_the_workers():
    one, two = answer(*SIZES), answer(*SIZES, "--jobs", "2")
    assert one == two == json.loads(json.dumps(tightness(24, 6, 12, points=2, seeds=2, seed=1).to_dict()))
    for point in one["points"]:
        assert set(point["observed"]) == set(point["se"]) == set(OBSERVED)
        assert set(point["predicted"]) == {"gradient", "noisy gradient", "three steps"}
    assert [round(p["x"], 2) for p in one["points"]] == pytest.approx([0.25, 16], rel=0.1)


def test_tightness_draws_itself(tmp_path):
    svg, png = tmp_path / "t.svg", tmp_path / "t.png"
    assert call(*SIZES, "--plot", str(svg), "--plot", str(png))[0] == 0
    ElementTree.parse(svg)
    assert png.read_bytes().startswith(b"\x89PNG")
    text = svg.read_text()
    assert "three steps, simulated" in text and "bound for readers in noise" in text


def test_tightness_refuses_in_one_line():
    for argv, words in ((["24", "--L", "1", "--d", "4"], "no noise tokens"), (["24", "--L", "4"], "--d is missing"),
                        (["24", "--L", "4", "--d", "4", "--points", "1"], "integer from 2 to 64"),
                        (["1e9", "--L", "4", "--d", "4"], "memory")):
        assert words in refused("bounds", "--decoders", "--V", *argv)


def test_bounds_command_json_and_csv():
    found = answer("bounds", "--V", "1024", "--L", "64", "--d", "256", "--N", "65536")
    assert [b["name"] for b in found["bounds"]] == ["coverage", "bits: all right", "bits: few wrong",
                                                    "bits: on average", "gradient access",
                                                    "gradient queries", "gradient in bits"]
    assert found["bounds"][1]["largest_V"] == 71675 and 0 < found["one_step_recall"] < 1
    assert "not available" in found["paper"]
    rows = csv_rows("bounds", "--N", "1e6", "--L", "8", "--d", "32")
    assert len(rows) == 7 and all(r["V"] == "" and r["N"] == "1000000" for r in rows)
    assert "--bits" in refused("bounds", "--V", "8", "--L", "4", "--d", "8", "--bits", "nan")
    code, out, _ = call("bounds", "--V", "1e12", "--L", "64", "--d", "1e6", "--N", "1e13", columns=40)
    assert code == 0 and "over 10^15" in out


def test_an_interrupt_keeps_the_points_that_are_finished(monkeypatch):
    monkeypatch.setattr(workers, "ordered_map", stops_after(5))
    code, out, err = call(*SIZES[:8], "--points", "4", *SIZES[10:], "--json")
    assert code == 130 and len(json.loads(out)["points"]) == 2
    assert "interrupted after 2 of 4 points" in err and err.count("\n") == 1
