"""What a simulation draws, seed by seed, and users' own embeddings."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from support import drawn, in_new_process

from recall_theory import Setting, SettingError, simulate
from recall_theory.simulate import data, run, three_step
from recall_theory.simulate.data import check_embeddings, distance_from_random, load_embeddings

S = Setting(V=48, L=4, d=64, N=960)


def gaussian(*shape):
    return np.random.default_rng().standard_normal(shape) / np.sqrt(shape[-1])


# --- streams ---


@pytest.mark.parametrize("V", [50, 64])  # a power of two is drawn in a way of its own
def test_redrawn_blocks_are_the_kept_ones(monkeypatch, V):
    monkeypatch.setattr(data, "LAYOUT_TOKENS", 1000)
    monkeypatch.setattr(data, "DRAW_TOKENS", 3000)
    setting = Setting(V=V, L=11, d=16, N=2000)
    kept = three_step.train(setting, *drawn(setting))
    monkeypatch.setattr(data, "KEEP_BYTES", 0)
    redrawn = three_step.train(setting, *drawn(setting))
    for name in ("scores", "trigger_score", "right", "wrong", "out"):
        assert np.array_equal(getattr(kept, name), getattr(redrawn, name))


def test_same_seed_same_bits_and_other_seed_other_bits():
    setting = Setting(V=30, L=6, d=16, N=500)
    assert run.one_seed(setting, 1, 4) == run.one_seed(setting, 1, 4)
    a, b, c = (three_step.train(setting, *drawn(setting, seed)) for seed in (1, 1, 2))
    assert np.array_equal(a.logits, b.logits) and a.trigger_score == b.trigger_score
    assert not np.array_equal(a.logits, c.logits)


def test_each_seed_has_its_own_layer():
    setting = Setting(V=16, L=4, d=12, N=300, m=8)
    assert setting.activation == "relu"
    one, two = (simulate(s, seeds=3, seed=5) for s in (setting, setting.replace(activation="relu(x)")))
    assert (one.accuracy.values == two.accuracy.values).all()
    assert len(set(one.accuracy.values)) > 1


@pytest.mark.parametrize("V", [63, 64])
def test_samples_are_uniform(V):
    """Counts of informative and of noise tokens, and of pairs of neighbours, by their chi-square."""
    _, samples = drawn(Setting(V=V, L=9, d=4, N=40_000))
    noise, pairs = np.zeros(V), np.zeros(V * V)
    for block in samples.blocks():
        tokens = block.noise.astype(np.intp)
        noise += np.bincount(tokens.ravel(), minlength=V)
        pairs += np.bincount((tokens[:, :-1] * V + tokens[:, 1:]).ravel(), minlength=V * V)
    for counts, total in ((samples.counts, 40_000), (noise, 320_000), (pairs, 280_000)):
        assert counts.sum() == total
        freedom = len(counts) - 1
        chi2 = float(((counts - total / len(counts)) ** 2).sum() / (total / len(counts)))
        assert abs(chi2 - freedom) < 5 * np.sqrt(2 * freedom)  # 5 standard deviations


@pytest.mark.parametrize("V", [70_000, 2**17])
def test_large_vocabularies_are_drawn_whole(V):
    noise = next(drawn(Setting(V=V, L=4, d=2, N=5000))[1].blocks()).noise
    assert noise.max() < V and noise.max() > 0.99 * V


@pytest.mark.parametrize("embedding, d", [("gaussian", 300), ("sphere", 30), ("orthogonal", 30), ("orthogonal", 31),
                                          ("orthogonal", 50)])
def test_embeddings_have_their_law(embedding, d):
    emb, _ = drawn(Setting(V=30, L=2, d=d, N=10, embedding=embedding))
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


# --- sizes ---


MEASURED = """
from pathlib import Path
from recall_theory.settings import Setting
from recall_theory.simulate import run, workers
setting, jobs = Setting({}), {}
run.simulate(setting, seeds=2 * jobs, seed=0, n_test=2000, jobs=jobs)
# the peak of this program alone: that of getrusage starts from the size of the process that started it
processes = ["self", *(worker.pid for worker in workers._idle)]
status = [Path(f"/proc/{{process}}/status").read_text() for process in processes]
peak = sum(int(text.split("VmHWM:")[1].split()[0]) for text in status)
print(run.memory_needed(setting, jobs) / (peak * 1024))
"""


@pytest.mark.parametrize(("size", "jobs"), [
    ("V=64, L=3, d=8, N=100", 1), ("V=64, L=3, d=8, N=100", 2), ("V=2000, L=4, d=1000, N=2000", 1),
    ("V=6000, L=4, d=16, N=20000", 1), ("V=2000, L=3, d=8, N=200, m=9000", 1),
    ("V=500, L=4, d=64, N=8000, m=2000", 2), ("V=256, L=16, d=16, N=10**6", 1)])
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_the_memory_that_is_asked_for_is_what_seeds_take(size, jobs):
    ratio = float(in_new_process(MEASURED.format(size, jobs)))
    assert 1 / 1.5 < ratio < 1.5


def test_memory_counts_jobs_and_the_limit_of_a_container(monkeypatch):
    large = Setting(V=35_000, L=4, d=128, N=1000)
    monkeypatch.setattr(run, "memory_there", lambda: 1.5 * run.memory_needed(large))
    run.check_affordable(large)
    with pytest.raises(SettingError, match="2 seeds at a time"):
        run.check_affordable(large, jobs=2)
    monkeypatch.setattr(run, "memory_there", lambda: np.inf)
    with pytest.raises(SettingError, match="multiplies"):
        run.check_affordable(Setting(V=10**7, L=4, d=1000, N=1000))


@pytest.mark.parametrize(("own", "limits", "least"), [
    ("0::/", {"memory.max": "1048576"}, 2**20),
    ("0::/a/b/c", {"memory.max": "max", "a/memory.max": "4096", "a/b/memory.max": "8192", "a/b/c/memory.max": "max"},
     4096),
    ("9:cpu,memory:/a/b\n8:cpu:/\n0::/a", {"memory/memory.limit_in_bytes": "9223372036854771712",
                                           "memory/a/b/memory.limit_in_bytes": "8192"}, 8192),
    ("4:memory:/outside", {"memory/memory.limit_in_bytes": "4096"}, 4096),  # the root is the container's own
    ("0::/../outside", {"memory.max": "4096"}, 4096),
    ("0::/a", {"a/memory.max": "max", "b/memory.max": "4096"}, None)])
def test_the_least_limit_of_the_control_groups_around_a_process_counts(monkeypatch, tmp_path, own, limits, least):
    monkeypatch.setattr(run, "OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(run, "CONTROL_GROUPS", tmp_path / "groups")
    machine = run.memory_there()  # without groups
    (tmp_path / "own").write_text(own + "\n")
    for path, text in limits.items():
        (tmp_path / "groups" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "groups" / path).write_text(text + "\n")
    assert run.memory_there() == (machine if least is None else least)


# --- users' own embeddings ---


def test_random_matrices_of_a_user_recall_what_random_ones_do():
    # One fixed draw has its own mean; over 12 draws the means agree within 5 standard errors.
    fixed = [simulate(S, seeds=25, seed=i, embeddings=gaussian(2, S.V, S.d), n_test=None).recall.mean
             for i in range(12)]
    usual = simulate(S, seeds=300, seed=99, n_test=None).recall
    error = np.hypot(np.std(fixed, ddof=1) / np.sqrt(12), usual.se)
    assert abs(np.mean(fixed) - usual.mean) < 5 * error


def test_scale_of_the_matrices_does_not_matter_in_the_limit():
    z = gaussian(2, S.V, S.d)
    a, b = (simulate(S, seeds=5, seed=1, embeddings=x, normalise="scale") for x in (z, 7 * z))
    assert np.array_equal(a.recall.values, b.recall.values)
    assert (check_embeddings(z, S, "scale").z_in ** 2).sum() == pytest.approx(S.V)


def test_forms_that_are_accepted(tmp_path):
    z = gaussian(2, S.V, S.d)
    np.save(tmp_path / "both.npy", z)
    np.save(tmp_path / "tied.npy", z[0])
    np.savez(tmp_path / "named.npz", z_in=z[0], z_out=z[1], z_trig=z[0, 0])
    both, tied, named = (check_embeddings(load_embeddings(str(tmp_path / name)), S)
                         for name in ("both.npy", "tied.npy", "named.npz"))
    assert np.array_equal(both.z_out, z[1]) and np.array_equal(tied.z_in, tied.z_out)
    assert named.z_trig is not None and np.array_equal(named.z_trig, z[0, 0])


def test_rows_are_normalised():
    z = check_embeddings(3 * gaussian(2, S.V, S.d), S, "rows")
    assert np.allclose(np.linalg.norm(z.z_in, axis=1), 1)


def test_random_matrices_look_random_and_others_do_not():
    setting, rng = Setting(V=200, L=2, d=100, N=10), np.random.default_rng(0)
    reports = [distance_from_random(check_embeddings(rng.standard_normal((2, 200, 100)) / 10, setting))["z_in"]
               for _ in range(20)]
    for name, expected in reports[0].items():  # the greatest of 19,900 cosines has the leading law only
        mean = np.mean([report[name]["value"] for report in reports])
        assert mean == pytest.approx(expected["random"], rel=0.2 if name == "coherence_max" else 0.05), name
    shifted = gaussian(2, S.V, S.d) + 0.5
    assert distance_from_random(check_embeddings(shifted, S))["z_out"]["mean"]["value"] > 0.5


@pytest.mark.parametrize("value, normalise, words", [
    (np.zeros((2, 3, 4)), "none", "shape"),
    (np.full((2, S.V, S.d), np.nan), "none", "not finite"),
    (np.zeros((4, S.V, S.d)), "none", "4 matrices"),
    (np.full((2, S.V, S.d), "a"), "none", "numbers"),
    (np.zeros((2, S.V, S.d)), "rows", "row of zeros"),
    (np.zeros((2, S.V, S.d)), "columns", "none, scale, rows"),
])
def test_bad_matrices_are_named(value, normalise, words):
    with pytest.raises(SettingError, match=words):
        check_embeddings(value, S, normalise)


def test_bad_files_are_named(tmp_path):
    (tmp_path / "text.npy").write_text("not an array")
    (tmp_path / "empty.npy").write_bytes(b"")
    np.savez(tmp_path / "other.npz", weights=gaussian(2, 3))
    np.save(tmp_path / "flat.npy", np.zeros(3))
    for name, array in (("words", np.array([["a"]])), ("complex", gaussian(2, S.V, S.d) + 1j), ("one", np.array(1.0)),
                        ("none", np.zeros(0))):
        np.save(tmp_path / f"{name}.npy", array)
    for name in ("text.npy", "empty.npy", "other.npz", "flat.npy", "words.npy", "complex.npy", "one.npy", "none.npy",
                 "absent.npy"):
        with pytest.raises(SettingError) as caught:
            check_embeddings(load_embeddings(str(tmp_path / name)), S)
        assert "\n" not in str(caught.value)
