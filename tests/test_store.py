"""The store: whole after a kill at any moment, refused where it is broken, never changed but by adding."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import call
from support import PATIENCE, wait_until

from recall_theory.settings import Setting, SettingError
from recall_theory.sweep import Store, SweepProblem, product, sweep
from recall_theory.sweep import store as library

PROBLEM = SweepProblem(Setting(V=8, L=2, d=4, N=32), seed=1)
CELLS = product({"d": [4, 8, 16, 32], "L": [2, 4, 8]}, V=8, N=32)


@pytest.fixture
def path(tmp_path):
    """A store with 24 results."""
    sweep(CELLS, seeds=2, seed=5, store=tmp_path / "store.db")
    return tmp_path / "store.db"


def held(path):
    """Everything that a store holds."""
    with Store(path) as store:
        return {problem: store.known(problem) for problem in store.problems()}


def test_values_come_back_to_the_bit_and_stay_as_they_first_were(tmp_path):
    values = [(0.1, 1 / 3, np.nextafter(1, 0)), (5e-324, 0.0, 1.0)]
    with Store(tmp_path / "a.db") as store:
        for number, triple in [*enumerate(values), (0, (0.0, 0.0, 0.0))]:
            store.add(PROBLEM, number, triple)
            store.flush()
        assert store.known(PROBLEM, below=1) == {0: values[0]}
    assert held(tmp_path / "a.db") == {PROBLEM: dict(enumerate(values))}


@pytest.mark.parametrize("statement", ["UPDATE result SET recall = 1", "DELETE FROM result", "DELETE FROM problem",
                                       "UPDATE problem SET problem = ''"])
def test_the_file_is_append_only(path, statement):
    db = sqlite3.connect(path)
    with pytest.raises(sqlite3.DatabaseError, match="append only"):
        db.execute(statement)
    db.close()


@pytest.mark.parametrize("command", ["sweep", "report"])
def test_results_of_another_model_are_kept_apart(path, command):
    old = SweepProblem(CELLS[0], 5, model=0)
    with Store(path) as store:
        for number in range(3):
            store.add(old, number, (0.0, 0.0, 0.0))
        store.flush()
        assert store.problems() == [*store.current(), old] and len(store.current()) == 12
        assert sweep(CELLS[:1], 2, 5, store=store).observed(0)["attention"].mean > 0
    code, out, err = call(command, "--store", str(path))
    assert code == 0 and "12 cells" in out and err.count("\n") == 1
    assert "3 results (cells: 1) are kept and not used: they are by another version of the model (0; this is 1)" in err


# Made by the program before its modules moved: sizes, a layer, test sequences, activations by name and by expression.
OLD_STORE = Path(__file__).parent / "data" / "store_of_format_1.db"


def test_a_store_written_before_opens_and_counts(tmp_path, monkeypatch):
    path = tmp_path / "old.db"
    path.write_bytes(OLD_STORE.read_bytes())
    with Store(path) as store:
        problems = store.current()
        assert len(problems) == 13 and store.unused() == ""
        known = [store.known(problem) for problem in problems]
    assert [len(values) for values in known] == [3, 3, 2, 2, *[1] * 9]
    for problem, values in zip(problems, known, strict=True):  # as they would be simulated today
        again = sweep([problem.setting], len(values), problem.seed, n_test=problem.n_test)
        assert np.allclose(again.values[0], [values[i] for i in range(len(values))], rtol=0, atol=1e-9)

    monkeypatch.setattr("recall_theory.sweep.run_sweep.one_seed", lambda *task: pytest.fail("run again"))
    assert sweep([p.setting for p in problems if p.n_test is None], 1, 5, store=path).found == 11


# Kills

KILLED = """
import os, random, signal, sys, time
from recall_theory.sweep import product, sweep
import recall_theory.sweep.run_sweep as library
path, started, kills, seed = sys.argv[1], *map(int, sys.argv[2:])
cells = product({"d": [4, 8, 16, 32], "L": [2, 4, 8]}, V=8, N=32)
library.FLUSH = 0
sweep(cells[:1], 1, 0)  # every import, before the clock runs
begun = time.monotonic()
sweep(cells[:2], 1, 0, store=path + ".timed")
longest = max(0.12, 3 * (time.monotonic() - begun))  # a slow disk takes its time for a commit
inner, rng = library.one_seed, random.Random(seed)
library.one_seed = lambda *task: (os.write(started, b"."), inner(*task))[1]
for _ in range(kills):
    child = os.fork()
    if child == 0:
        sweep(cells, 60, 5, store=path)
        os._exit(0)
    time.sleep(rng.uniform(0, longest))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the harness forks")
def test_a_kill_at_any_moment_loses_nothing_that_was_written(tmp_path):
    """Sweeps are killed at random moments, most of them in the middle of a commit; each goes on from the last."""
    path, script, kills, before = tmp_path / "store.db", tmp_path / "killed.py", 0, 0
    script.write_text(KILLED)
    started = os.open(tmp_path / "started", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for part in range(3):
        subprocess.run([sys.executable, str(script), str(path), str(started), "12", str(part)], check=True,
                       timeout=PATIENCE, pass_fds=(started,))
        kills += 12
        known = sum(map(len, held(path).values()))
        # Each result is flushed at once here, so a kill costs the one in the works: nothing else is run twice.
        assert before <= known <= os.path.getsize(tmp_path / "started") <= known + kills
        before = known
    os.close(started)
    assert known > 0
    assert np.array_equal(sweep(CELLS, 60, 5, store=path).values, sweep(CELLS, 60, 5).values)


@pytest.mark.parametrize("sent, code", [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGKILL, -9)],
                         ids=lambda value: getattr(value, "name", ""))
def test_a_signal_ends_a_sweep_of_two_processes(tmp_path, sent, code):
    """Rows are stored, a line says how to go on, and the streams end with the process: no worker holds them."""
    path = tmp_path / "store.db"
    argv = [sys.executable, "-m", "recall_theory", "sweep", "--scan", "d=8:32:x2", "--V", "32", "--L", "4", "--N",
            "1024", "--seeds", "100000", "--seed", "5", "--jobs", "2", "--store", str(path)]
    with subprocess.Popen(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            wait_until(lambda: path.exists() and any(held(path).values()), "nothing is stored")
            before = sum(map(len, held(path).values()))
            process.send_signal(sent)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == code
    assert sum(map(len, held(path).values())) >= before
    if sent != signal.SIGKILL:
        assert "Interrupted after" in out and err.count("\n") == 1
        assert "of 300000 seeds; the same with --seed 5 goes on from here" in err


def test_a_commit_waits_for_the_disk():
    with Store() as store:
        assert store._db.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA: FULL, and the journal's end too


HOT = """
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN IMMEDIATE")
db.executemany("INSERT INTO problem (key, problem) VALUES (?, ?)", [(str(i), "x" * 999) for i in range(99)])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_store_killed_in_mid_commit_is_read_where_it_cannot_be_written(path, monkeypatch):
    before = held(path)
    subprocess.run([sys.executable, "-c", HOT, str(path)], timeout=PATIENCE)
    journal = path.with_name("store.db-journal")
    assert journal.exists() and path.stat().st_size > 50_000  # half of a transaction is in the file
    files = path.read_bytes(), journal.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(library.os, "access", lambda *_: False)
        assert held(path) == before
        with pytest.raises(SettingError, match="can't be used"):
            sweep(CELLS, seeds=3, seed=5, store=path)
    assert (path.read_bytes(), journal.read_bytes()) == files
    assert held(path) == before and not journal.exists()


# Two sweeps at once

SHARED = """
import json, sys, time
from recall_theory.sweep import product, sweep
import recall_theory.sweep.run_sweep as library
inner = library.one_seed
library.one_seed = lambda *task: (time.sleep(0.01), inner(*task))[1]
cells = product({"d": [4, 8, 16, 32], "L": [2, 4, 8]}, V=8, N=32)
print("ready", flush=True)
sys.stdin.readline()
print(sweep(cells, 30, 5, store=sys.argv[1]).simulated, flush=True)
"""


@pytest.fixture
def two_sweeps(tmp_path):
    """Two processes that sweep over the same cells into one store."""
    path = tmp_path / "shared.db"
    command = [sys.executable, "-c", SHARED, str(path)]
    pair = [subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
    for process in pair:
        assert process.stdout.readline() == "ready\n"
    for process in pair:
        process.stdin.write("\n")
        process.stdin.flush()
    yield path, pair
    for process in pair:
        process.kill()
        process.communicate()


def test_two_sweeps_share_the_work_and_run_nothing_twice(two_sweeps):
    path, pair = two_sweeps
    one, two = (int(process.communicate(timeout=PATIENCE)[0]) for process in pair)
    assert one + two == 360 and min(one, two) > 30
    assert {problem: len(known) for problem, known in held(path).items()} == {SweepProblem(c, 5): 30 for c in CELLS}
    with Store(path) as store:
        assert store._db.execute("SELECT count(*) FROM claim").fetchone() == (0,)


def test_of_two_sweeps_one_is_killed_and_the_other_does_all(two_sweeps):
    path, (killed, other) = two_sweeps
    wait_until(lambda: path.exists() and sum(map(len, held(path).values())) >= 40, "too little is stored")
    killed.kill()
    killed.wait()
    finished_before = sum(map(len, held(path).values()))
    simulated = int(other.communicate(timeout=PATIENCE)[0])
    assert 360 - finished_before <= simulated < 360
    assert np.array_equal(sweep(CELLS, 30, 5, store=path).values, sweep(CELLS, 30, 5).values)


def test_claims_expire_and_those_of_the_living_are_waited_for(path, monkeypatch):
    """A claim from a machine that can't be asked: waited for until its time is over."""
    with Store(path) as elsewhere:
        monkeypatch.setattr(elsewhere, "_owner", "far 1 x")
        monkeypatch.setattr(library, "EXPIRY", 1.0)
        lines = []
        assert len(elsewhere.claim(iter([(SweepProblem(CELLS[0], 5), 2)]), 1)) == 1
        results = sweep(CELLS, 3, 5, store=path, note=lines.append)
    assert results.simulated == 12 and lines == ["waiting for another sweep, which is at 1 seed"]


# Broken files


def assert_refused_and_left(path, words):
    before = path.read_bytes()
    with pytest.raises(SettingError, match=words) as error:
        held(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [
    1, 15, 16, 99, 100, 1000, 4095, 4096, 5000, 8192, -4096, -1,  # bytes of a store that are left
    b"x", b"not a store" * 1000, b"\0" * 5000, b"V,L,d,N\n1,2,3,4\n", b"SQLite format 3\0" + b"\xff" * 5000,
])
def test_a_store_cut_short_and_a_file_of_another_kind_are_refused(path, content):
    path.write_bytes(path.read_bytes()[:content] if isinstance(content, int) else content)
    assert_refused_and_left(path, "broken|can't be used")


@pytest.mark.parametrize("statements, words", [
    (["PRAGMA application_id = 0"], "no store of recall-theory"),
    (["PRAGMA user_version = 2"], "format 2, and this version reads format 1"),
    (["DROP TRIGGER no_UPDATE_of_problem", "UPDATE problem SET problem = '[1,5]' WHERE id = 1"], "no setting"),
    (["DROP TRIGGER no_UPDATE_of_problem", "UPDATE problem SET key = 'x' WHERE id = 1"], "hash"),
    (["DROP TRIGGER no_UPDATE_of_result", "UPDATE result SET recall = 0.123"], "checksum"),
])
def test_a_database_of_another_kind_or_with_other_values_is_refused(path, statements, words):
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()
    assert_refused_and_left(path, words)


def test_flipped_bytes_never_pass_for_a_result(path):
    """Whatever byte changes: the same results, or a complaint; never another number."""
    whole, data, refused = held(path), path.read_bytes(), 0
    rng = np.random.default_rng(0)
    for place in rng.integers(len(data), size=150):
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        try:
            assert all(known.items() <= whole[problem].items() for problem, known in held(path).items())
        except SettingError:
            refused += 1
    assert refused > 0


def test_an_empty_file_is_an_empty_store(tmp_path):
    (tmp_path / "a.db").touch()
    assert sweep(CELLS[:1], seeds=1, seed=5, store=tmp_path / "a.db").found == 1


def test_a_full_disk_is_one_line_and_costs_nothing_that_was_written(path, tmp_path):
    """A file may not grow beyond a limit, which SQLite meets as it meets a full disk."""
    limited = ("import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
               "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2); "
               "from recall_theory.cli import main as run; sys.exit(run(sys.argv[2:]))")
    argv = ["sweep", "--scan", "d=4:32:x2", "--scan", "L=2:8:x2", "--V", "8", "--N", "32", "--seed", "5"]
    before = held(path)
    for limit, file, seeds in ((4096, tmp_path / "new.db", 2), (os.path.getsize(path), path, 200)):
        done = subprocess.run([sys.executable, "-c", limited, str(limit), *argv, "--seeds", str(seeds), "--store",
                               str(file)], capture_output=True, text=True, timeout=PATIENCE)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert done.stderr.count("\n") == 1 and "can't be used" in done.stderr
        assert "rollback" not in done.stderr  # the cause, not what followed
    now = held(path)
    assert all(known.items() <= now[problem].items() for problem, known in before.items())


def test_a_directory_and_what_is_no_file_name_are_refused(tmp_path):
    for path in (tmp_path, tmp_path / "no" / "a.db", "", "a\0b"):
        with pytest.raises(SettingError, match="store="):
            Store(path)


def test_a_store_that_another_program_holds_is_refused(path, monkeypatch):
    monkeypatch.setattr(library, "WAIT", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(SettingError, match="locked"):
        sweep(CELLS, seeds=3, seed=5, store=path)
    other.close()


# Merging


def test_stores_that_contradict_are_not_merged(tmp_path):
    with Store(tmp_path / "a.db") as a, Store(tmp_path / "b.db") as b, Store(tmp_path / "c.db") as c:
        a.add(PROBLEM, 0, (1.0, 0.5, 0.5))
        b.add(PROBLEM, 0, (1.0, 0.25, 0.5))
        b.add(SweepProblem(PROBLEM.setting, 7), 0, (1.0, 1.0, 1.0))
        a.flush()
        b.flush()
        for target, others in ((a, [b]), (c, [a, b])):
            with pytest.raises(SettingError, match="other values for seed 0"):
                target.merge(others)
        assert len(a.problems()) == 1 and c.problems() == []
