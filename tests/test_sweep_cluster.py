"""A sweep on a real Dask scheduler with two worker processes on loopback, one of which is killed in mid-run."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from recall_theory.cli import main as run
from recall_theory.settings import SettingError
from recall_theory.sweep import Store, product, sweep
from recall_theory.sweep import cluster as cluster_library
from recall_theory.sweep.cluster import run_chunk

needs_dask = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="distributed isn't installed")
SIZES = ["--scan", "d=4:32:x2", "--scan", "L=2:8:x2", "--V", "8", "--N", "32", "--seeds", "2", "--seed", "5"]
CELLS = product({"d": [4, 8, 16, 32], "L": [2, 4, 8]}, V=8, N=32)


def test_a_worker_of_another_version_is_refused():
    with pytest.raises(RuntimeError, match="version"):
        run_chunk(-1, pow, [])


def test_without_dask_a_cluster_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SettingError, match=r"recall-theory\[cluster\]"):
        sweep(CELLS, 1, 1, scheduler="tcp://127.0.0.1:9")


def test_the_command_line_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert run(["sweep", *SIZES, "--scheduler", "tcp://127.0.0.1:9"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "--scheduler" in err


def started(kind, *arguments):
    return subprocess.Popen([sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def cluster(tmp_path):
    """The address of a scheduler, and its process before those of its two workers."""
    file = tmp_path / "scheduler.json"
    processes = [started("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                         "--scheduler-file", str(file))]
    try:
        until(lambda: address_in(file))
        processes += [started("worker", "--scheduler-file", str(file), "--host", "127.0.0.1", "--nthreads", "1",
                              "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path)) for _ in range(2)]
        yield address_in(file), processes
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def address_in(file):
    """The scheduler's address; None while its file is being written."""
    try:
        return json.loads(file.read_text())["address"]
    except (OSError, ValueError):
        return None


def until(condition, seconds=90):
    """Wait for what takes seconds on an idle machine."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the cluster did not come up"
        time.sleep(0.02)


KILLING = """
import json, os, signal, sys
from recall_theory.sweep import product, sweep
path, address, pid = sys.argv[1], sys.argv[2], int(sys.argv[3])
steps = []
def advance(done, wanted):
    steps.append(done)
    if done == 100:
        os.kill(pid, signal.SIGKILL)
if __name__ == "__main__":
    cells = product({"d": [4, 8, 16, 32], "L": [2, 4, 8]}, V=8, N=32)
    found = sweep(cells, 60, 5, store=path, scheduler=address, progress=advance)
    print(json.dumps({"values": found.values.tolist(), "steps": steps}))
"""


@needs_dask
def test_a_worker_killed_in_mid_run_costs_nothing(tmp_path, cluster):
    """Killed after 100 of 720 results: all arrive, each once, with the bits of a run on one core."""
    address, (_, *workers) = cluster
    script, path = tmp_path / "killing.py", tmp_path / "store.db"
    script.write_text(KILLING)
    done = subprocess.run([sys.executable, str(script), str(path), address, str(workers[0].pid)],
                          capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["steps"] == list(range(721))  # nothing came twice
    assert workers[0].wait() == -signal.SIGKILL and workers[1].poll() is None
    whole = sweep(CELLS, 60, 5)
    assert np.array_equal(data["values"], whole.values)
    with Store(path) as store:
        assert [len(known) for known in map(store.known, store.current())] == [60] * 12
    assert np.array_equal(sweep(CELLS, 60, 5, store=path).values, whole.values)


FAILING = """
import os, signal, sys
from recall_theory.cli import main as run
from recall_theory.sweep import cluster
inner, pid = cluster.cluster_map, int(sys.argv[1])
def killing(*of):
    for done, result in enumerate(inner(*of)):
        if done == 100:
            os.kill(pid, signal.SIGKILL)
        yield result
if __name__ == "__main__":
    if pid:
        cluster.cluster_map = killing
    else:
        cluster.SIMULATION_VERSION = 99  # here, not at the workers
    sys.exit(run(sys.argv[2:]))
"""


@needs_dask
def test_a_cluster_that_fails_is_one_line(tmp_path, cluster):
    """Workers of another version, then a scheduler killed after 100 of 10,800 results: what was finished is kept."""
    address, (scheduler, *_) = cluster
    script, path = tmp_path / "failing.py", tmp_path / "store.db"
    script.write_text(FAILING)
    for pid, word in ((0, "version 1 of the model"), (scheduler.pid, "scheduler was lost")):
        done = subprocess.run([sys.executable, str(script), str(pid), "sweep", *SIZES[:-3], "900", "--seed", "5",
                               "--scheduler", address, "--store", str(path)], capture_output=True, text=True,
                              timeout=180)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
        assert word in done.stderr and "is kept" in done.stderr
    with Store(path) as store:
        assert 100 <= sum(len(known) for known in map(store.known, store.current())) < 10_800


@needs_dask
def test_a_cluster_without_workers_is_one_line(monkeypatch, recwarn):
    from distributed import LocalCluster

    monkeypatch.setattr(cluster_library, "FIRST_WORKER", 0.5)
    with LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None) as empty, \
            pytest.raises(SettingError, match="no worker has joined"):
        sweep(CELLS, 1, 1, scheduler=empty.scheduler_address)


@needs_dask
def test_the_command_line_on_a_cluster(cluster):
    address, _ = cluster
    done = subprocess.run([sys.executable, "-m", "recall_theory", "sweep", *SIZES, "--scheduler", address, "--json"],
                          capture_output=True, text=True, timeout=180)
    assert (done.returncode, done.stderr) == (0, "")
    whole = sweep(CELLS, 2, 5)
    assert [c["observed"]["recall"]["values"] for c in json.loads(done.stdout)["cells"]] == whole.values[
        :, :, 1].tolist()
