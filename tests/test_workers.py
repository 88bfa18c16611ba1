"""The one parallel map: order, laziness, progress, and what an interrupt leaves behind."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numba
import numpy as np
import pytest
from support import PATIENCE, wait_until

from recall_theory import predict_many
from recall_theory.errors import Interrupted
from recall_theory.numerics.machine_code import on_threads
from recall_theory.settings import SettingError
from recall_theory.simulate.workers import collect, one_thread, ordered_map, unordered_map


def late_first(number):
    """The square of a number; the first ones take longest."""
    time.sleep(max(0, 3 - number) / 50)
    return number**2


def in_20_ms(number):
    time.sleep(0.02)
    return number**2


def ended_from_outside(number):
    signal.raise_signal(signal.SIGKILL)


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_the_tasks(jobs):
    tasks = [(i,) for i in range(7)]
    assert list(ordered_map(late_first, tasks, jobs)) == [i**2 for i in range(7)]
    assert dict(unordered_map(late_first, tasks, jobs)) == {i: i**2 for i in range(7)}


@pytest.mark.parametrize("jobs", [1, 2])
def test_tasks_are_drawn_as_they_are_needed(jobs, recwarn):
    endless = ((i,) for i in itertools.count())
    start = time.monotonic()
    results = ordered_map(in_20_ms, endless, jobs)
    assert list(itertools.islice(results, 5)) == [0, 1, 4, 9, 16]
    results.close()
    could_be_finished = jobs * (time.monotonic() - start) / 0.02  # by one worker, while another one starts
    assert next(endless)[0] < could_be_finished + 100
    assert not recwarn


def test_progress_follows_every_result():
    reports = []
    assert collect(late_first, [(i,) for i in range(3)], progress=lambda *now: reports.append(now)) == [0, 1, 4]
    assert reports == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("partial, expected", [(sum, 0 + 1 + 4), (None, None), (lambda results: None, None)])
def test_an_interrupt_hands_out_what_was_finished(partial, expected):
    def stop_at_three(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stop:
        collect(late_first, [(i,) for i in range(9)], progress=stop_at_three, partial=partial)
    assert isinstance(stop.value, Interrupted) == (expected is not None)
    assert getattr(stop.value, "partial", None) == expected


def test_a_worker_that_is_ended_from_outside_is_told():
    with pytest.raises(SettingError, match="want of memory"):
        collect(ended_from_outside, [(i,) for i in range(3)], jobs=2)


def test_a_signal_while_threads_are_limited_is_not_lost(monkeypatch):
    """threadpoolctl calls back from C, where Python would drop the exception."""
    import threadpoolctl

    class Limits(contextlib.nullcontext):
        def __init__(self, limits):
            super().__init__()
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(threadpoolctl, "threadpool_limits", Limits)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    try:
        with pytest.raises(KeyboardInterrupt), one_thread():
            pass
    finally:
        signal.signal(signal.SIGINT, before)


PROGRAM = """
    import json, os, signal, time
    from recall_theory.errors import Interrupted
    from recall_theory.simulate.workers import collect

    def work(number):
        time.sleep(0.01)
        return number, os.getpid()

    def interrupt(*_):
        raise KeyboardInterrupt

    def progress(done, total):
        if done == 6:
            print("ready", flush=True)

    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        collect(work, [(i,) for i in range(10**6)], jobs={jobs}, progress=progress,
                partial=lambda results: results)
    except Interrupted as stop:
        print(json.dumps(stop.partial))
"""


@contextlib.contextmanager
def program_at_work(jobs):
    """The program after six results, and the workers that it has then."""
    code = textwrap.dedent(PROGRAM.replace("{jobs}", str(jobs)))
    with subprocess.Popen([sys.executable, "-c", code], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as program:
        assert program.stdout.readline() == "ready\n"
        yield program, Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
def test_a_signal_keeps_results_and_leaves_no_worker(sent, jobs):
    with program_at_work(jobs) as (program, _):
        program.send_signal(sent)
        out, err = program.communicate(timeout=PATIENCE)
    assert (program.returncode, err) == (0, "")
    numbers, workers = zip(*json.loads(out), strict=True)
    assert numbers == tuple(range(len(numbers))) and len(numbers) >= 6
    assert not [pid for pid in set(workers) if Path(f"/proc/{pid}").exists()]


def test_a_killed_parent_leaves_no_worker_and_no_open_stream():
    with program_at_work(2) as (program, workers):
        program.kill()
        program.communicate(timeout=PATIENCE)  # the end of both streams
    assert len(workers) == 2
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), "a worker outlives its parent")


def loud(number):
    """What a task writes must not mix with its result, and what it raises comes back as it was."""
    os.write(1, b"loud")
    print("louder", flush=True)
    if number == 3:
        raise SettingError("V", "V=3 is refused")
    return number


def test_output_and_errors_of_tasks():
    with pytest.raises(SettingError, match="V=3 is refused") as error:
        collect(loud, [(i,) for i in range(6)], jobs=2)
    assert error.value.name == "V"
    assert collect(lambda number: loud(number) + 1, [(1,), (2,)], jobs=2) == [2, 3]


@pytest.fixture
def three_threads(monkeypatch):
    monkeypatch.setattr(numba.core.config, "NUMBA_NUM_THREADS", 3)


def test_threads_run_beside_one_another_and_keep_the_order(three_threads):
    together = threading.Barrier(3, timeout=PATIENCE)  # passes none before three have come
    assert on_threads(lambda number: (together.wait(), number)[1], [(i,) for i in range(6)]) == list(range(6))


def test_what_a_thread_raises_ends_the_rest(three_threads):
    begun = []

    def first_fails(number):
        begun.append(number)
        if number == 0:
            raise SettingError("V", "V=0 is refused")
        time.sleep(0.01)

    with pytest.raises(SettingError, match="V=0 is refused"):
        on_threads(first_fails, [(i,) for i in range(1_000)])
    assert len(begun) < 500


@pytest.mark.parametrize("more", [{}, {"m": 64, "activation": "tanh"}], ids=["attention-only", "MLP"])
def test_threads_decide_no_bit_of_a_prediction(more, monkeypatch):
    sizes = {"V": [64, 128, 256, 64], "L": [2, 64, 16, 2], "d": [64, 32, 128, 90], "N": [512, 900, 8192, 600]}
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(numba.core.config, "NUMBA_NUM_THREADS", threads)
        found.append(predict_many(**sizes, **more).to_dict())
    for name, values in found[0].items():
        assert np.array_equal(values, found[1][name]), name
