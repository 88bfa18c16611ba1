"""A user's own embeddings: shapes, normalisation, the distance from random, bad files."""

from __future__ import annotations

import numpy as np
import pytest

from recall_theory import Setting, SettingError, simulate
from recall_theory.simulate.user_embeddings import distance_from_random, load_embeddings, own_embeddings

S = Setting(V=48, L=4, d=64, N=960)


def gaussian(*shape: int) -> np.ndarray:
    return np.random.default_rng().standard_normal(shape) / np.sqrt(shape[-1])


def test_random_matrices_of_ones_own_recall_what_random_ones_do():
    # One fixed draw has its own mean; over 12 draws the means agree within 5 standard errors.
    own = [simulate(S, seeds=25, seed=i, embeddings=gaussian(2, S.V, S.d), n_test=None).recall.mean
           for i in range(12)]
    usual = simulate(S, seeds=300, seed=99, n_test=None).recall
    error = np.hypot(np.std(own, ddof=1) / np.sqrt(12), usual.se)
    assert abs(np.mean(own) - usual.mean) < 5 * error


def test_scale_of_the_matrices_does_not_matter_in_the_limit():
    z = gaussian(2, S.V, S.d)
    a = simulate(S, seeds=5, seed=1, embeddings=z, normalise="scale")
    b = simulate(S, seeds=5, seed=1, embeddings=7 * z, normalise="scale")
    assert np.array_equal(a.recall.values, b.recall.values)


def test_forms_that_are_accepted(tmp_path):
    z = gaussian(2, S.V, S.d)
    np.save(tmp_path / "both.npy", z)
    np.save(tmp_path / "tied.npy", z[0])
    np.savez(tmp_path / "named.npz", z_in=z[0], z_out=z[1], z_trig=z[0, 0])
    both = own_embeddings(load_embeddings(str(tmp_path / "both.npy")), S)
    tied = own_embeddings(load_embeddings(str(tmp_path / "tied.npy")), S)
    named = own_embeddings(load_embeddings(str(tmp_path / "named.npz")), S)
    assert np.array_equal(both.z_out, z[1]) and np.array_equal(tied.z_in, tied.z_out)
    assert named.z_trig is not None and np.array_equal(named.z_trig, z[0, 0])


def test_rows_are_normalised():
    z = own_embeddings(3 * gaussian(2, S.V, S.d), S, "rows")
    assert np.allclose(np.linalg.norm(z.z_in, axis=1), 1)


def test_random_matrices_look_random_and_others_do_not():
    report = distance_from_random(own_embeddings(gaussian(2, S.V, S.d), S))["z_in"]
    for name in ("norm", "norm_cv", "coherence_rms", "rank"):
        assert report[name]["value"] == pytest.approx(report[name]["random"], rel=0.5), name
    shifted = gaussian(2, S.V, S.d) + 0.5
    assert distance_from_random(own_embeddings(shifted, S))["z_out"]["mean"]["value"] > 0.5


@pytest.mark.parametrize("value, words", [
    (np.zeros((2, 3, 4)), "shape"),
    (np.full((2, S.V, S.d), np.nan), "not finite"),
    (np.zeros((4, S.V, S.d)), "4 matrices"),
    (np.full((2, S.V, S.d), "a"), "numbers"),
])
def test_bad_matrices_are_named(value, words):
    with pytest.raises(SettingError, match=words):
        own_embeddings(value, S)


def test_zero_rows_cannot_be_normalised():
    with pytest.raises(SettingError, match="row of zeros"):
        own_embeddings(np.zeros((2, S.V, S.d)), S, "rows")


def test_bad_files_are_named(tmp_path):
    (tmp_path / "text.npy").write_text("not an array")
    (tmp_path / "empty.npy").write_bytes(b"")
    np.savez(tmp_path / "other.npz", weights=gaussian(2, 3))
    np.save(tmp_path / "flat.npy", np.zeros(3))
    np.save(tmp_path / "words.npy", np.array([["a"]]))
    for name in ("text.npy", "empty.npy", "other.npz", "flat.npy", "words.npy", "absent.npy"):
        with pytest.raises(SettingError) as caught:
            load_embeddings(str(tmp_path / name))
        assert "\n" not in str(caught.value)
