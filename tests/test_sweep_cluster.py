"""A sweep on a real Dask scheduler with two worker processes on loopback, one of which is killed in mid-run."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from command_line import answer, call, refused
from support import PATIENCE, wait_until

from recall_theory.sweep import Store, product, sweep
from recall_theory.sweep import run_sweep as cluster_library
from recall_theory.sweep.run_sweep import run_chunk

needs_dask = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="distributed isn't installed")
SIZES = ["--scan", "d=4:32:x2", "--scan", "L=2:8:x2", "--V", "8", "--N", "32", "--seed", "5", "--seeds"]
CELLS = product({"d": [4, 8, 16, 32], "L": [2, 4, 8]}, V=8, N=32)


def test_a_worker_of_another_version_is_refused():
    with pytest.raises(RuntimeError, match="version"):
        run_chunk(-1, pow, [])


def test_without_dask_a_cluster_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    line = refused("sweep", *SIZES, "1", "--scheduler", "tcp://127.0.0.1:9")
    assert "--scheduler" in line and "recall-theory[cluster]" in line


def started(tmp_path, kind, *arguments):
    return subprocess.Popen([sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file",
                             str(tmp_path / "scheduler.json"), "--host", "127.0.0.1", "--no-dashboard", *arguments],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def start_worker(tmp_path):
    return started(tmp_path, "worker", "--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path))


@pytest.fixture
def cluster(tmp_path):
    """The address of a scheduler with two workers, and its process before theirs."""
    from distributed import Client

    processes = [started(tmp_path, "scheduler", "--port", "0")]
    try:
        wait_until(lambda: address_in(tmp_path / "scheduler.json"), "the scheduler did not come up")
        address = address_in(tmp_path / "scheduler.json")
        processes += [start_worker(tmp_path) for _ in range(2)]
        with Client(address, timeout=PATIENCE) as client:
            client.wait_for_workers(2, timeout=PATIENCE)
        yield address, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def address_in(file):
    """The scheduler's address; None while its file is being written."""
    try:
        return json.loads(file.read_text())["address"]
    except (OSError, ValueError):
        return None


@needs_dask
def test_a_worker_killed_in_mid_run_costs_nothing(tmp_path, cluster):
    """Killed after 100 of 720 results: all arrive, each once, with the bits of a run on one core."""
    address, (_, *workers) = cluster
    steps = []

    def advance(done, wanted):
        steps.append(done)
        if done == 100:
            workers[0].kill()

    with Store(tmp_path / "store.db") as store:
        found = sweep(CELLS, 60, 5, store=store, scheduler=address, progress=advance)
        assert steps == list(range(721))  # nothing came twice
        assert workers[0].wait() == -signal.SIGKILL and workers[1].poll() is None
        whole = sweep(CELLS, 60, 5)
        assert np.array_equal(found.values, whole.values)
        assert [len(known) for known in map(store.known, store.current())] == [60] * 12
        assert np.array_equal(sweep(CELLS, 60, 5, store=store).values, whole.values)


@needs_dask
def test_the_command_line_on_a_cluster_that_works_and_fails(tmp_path, cluster, monkeypatch):
    """A sweep; workers of another version; a scheduler killed after 100 of 10,800 results, which are kept."""
    address, (scheduler, *_) = cluster
    inner, path = cluster_library.cluster_map, str(tmp_path / "store.db")
    cells = answer("sweep", *SIZES, "2", "--scheduler", address)["cells"]
    assert [cell["observed"]["recall"]["values"] for cell in cells] == sweep(CELLS, 2, 5).values[:, :, 1].tolist()

    def killing(*of):
        for done, result in enumerate(inner(*of)):
            if done == 100:
                scheduler.kill()
            yield result

    # The version is another here, not at the workers.
    for name, stand_in, words in (("SIMULATION_VERSION", 99, "this worker's is 1"),
                                  ("cluster_map", killing, "scheduler was lost")):
        with monkeypatch.context() as patch:
            patch.setattr(cluster_library, name, stand_in)
            line = refused("sweep", *SIZES, "900", "--store", path, "--scheduler", address)
        assert words in line and "is kept" in line
    with Store(path) as store:
        assert 100 <= sum(len(store.known(problem)) for problem in store.current()) < 10_800


@needs_dask
def test_workers_gone_are_told_waited_for_and_given_up(tmp_path, cluster, monkeypatch):
    """All workers die after 100 of 720 results, with finished chunks that nobody has fetched, and one joins later: it
    goes on. It dies too: exit 75, rows kept.
    """
    from distributed import default_client

    address, (_, *workers) = cluster
    monkeypatch.setattr(cluster_library, "TOLD_AFTER", 0.1)
    lines, joined, path = [], [], str(tmp_path / "store.db")

    def kill(done, wanted):
        if done == 100:
            under_way = default_client().futures.values()
            wait_until(lambda: all(state.status == "finished" for state in list(under_way)), "nothing was finished")
            for worker in workers:
                worker.kill()

    def told(line):
        lines.append(line)
        joined.append(start_worker(tmp_path))

    try:
        found = sweep(CELLS, 60, 5, store=path, scheduler=address, progress=kill, note=told)
    finally:
        for worker in joined:
            worker.kill()
            worker.wait()
    assert np.array_equal(found.values, sweep(CELLS, 60, 5).values)
    assert "has no worker; waiting for one for 300 s in all" in lines[-1]

    monkeypatch.setattr(cluster_library, "LONGEST_WAIT", 1)
    code, out, err = call("sweep", *SIZES, "90", "--store", path, "--scheduler", address)
    assert (code, out, err.count("\n")) == (75, "", 2), err
    assert "no worker for 1 s; what was finished is kept, and the same command goes on" in err
    with Store(path) as store:
        assert sum(len(store.known(problem)) for problem in store.current()) == 720


@needs_dask
def test_the_ladder_is_trained_by_a_cluster(cluster, tmp_path):
    pytest.importorskip("jax")
    address, _ = cluster
    argv = ["ladder", "--rung", "1", "--scan", "V=4,8,16", "--L", "2", "--d", "4", "--N", "64", "--seeds", "2",
            "--seed", "3", "--json"]
    code, out, err = call(*argv, "--store", str(tmp_path / "rows.jsonl"), "--scheduler", address)
    assert (code, err) == (0, "") and len((tmp_path / "rows.jsonl").read_text().splitlines()) == 3
    assert json.loads(out)["rows"] == json.loads(call(*argv)[1])["rows"]
