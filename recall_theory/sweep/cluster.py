"""A parallel map on a Dask cluster: many machines, one store, still the same bits.

Not joblib's Dask backend: on a cluster of one thread it runs everything in this process, it never gives more work to
workers that join later, and it waits for ever where workers die of a task.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import queue
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, TypeVar

from ..errors import NoWorkers
from ..settings import SettingError
from ..simulate.workers import one_thread
from .sweep_results import SIMULATION_VERSION

CHUNK = 16  # tasks that travel together: a message costs the scheduler about a millisecond
WINDOW = 4  # chunks under way for each thread of the cluster, so that none waits for the next
CONNECTING = 30  # seconds to reach the scheduler
LOOK = 1.0  # seconds without a result after which the workers are counted
TOLD_AFTER, LONGEST_WAIT = 10, 300  # seconds without a worker, which a queue may hold up
LOGS = ("distributed", "distributed.client", "tornado.application", "asyncio")

Result = TypeVar("Result")


def cluster_map(work: Callable[..., Result], tasks: Iterable[tuple[object, ...]], address: str,
                say: Callable[[str], None]) -> Generator[tuple[int, Result], None, None]:
    """As `simulate.workers.unordered_map`, by the workers of the Dask scheduler at `address`: (number of the task, its
    result), each once. What a lost worker had is run again by another. Where there is no worker, `say` is told.

    Raises `NoWorkers` where there is none for 300 s, and `SettingError` where distributed isn't installed, the
    scheduler can't be reached or is lost, or the workers can't do the work or keep dying.
    """
    try:
        from distributed import CancelledError, Client, KilledWorker

        client = Client(address, timeout=CONNECTING)
    except ImportError:
        raise SettingError("scheduler", f"scheduler={address!r} needs distributed, which is not installed: "
                           "pip install 'recall-theory[cluster]'") from None
    except (OSError, ValueError) as error:
        raise SettingError("scheduler", f"scheduler={address!r} can't be reached: {error}") from None
    numbered = enumerate(tasks)
    finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
    under_way: set[Any] = set()
    with _quiet_logs(), client:
        try:
            threads = _threads(client, address, say)
            while True:
                while len(under_way) < WINDOW * threads and (chunk := list(itertools.islice(numbered, CHUNK))):
                    future = client.submit(run_chunk, SIMULATION_VERSION, work, chunk, pure=False)
                    under_way.add(future)
                    future.add_done_callback(finished.put)
                if not under_way:
                    return
                try:
                    future = finished.get(timeout=LOOK)
                except queue.Empty:
                    threads = _threads(client, address, say)
                    continue
                under_way.remove(future)
                yield from _fetched(future, client, address, say)
        except NoWorkers:
            raise
        except KilledWorker:
            why = "workers keep dying on the same seeds, perhaps for want of memory"
        except (CancelledError, OSError, TimeoutError):
            why = "the connection to the scheduler was lost"
        except Exception as error:  # what a worker raised, as it is: distributed hands it on
            why = f"a worker failed: {type(error).__name__}: {error}"
        raise SettingError("scheduler", f"scheduler={address!r}: {why}; what was finished is kept")


def _fetched(future: Any, client: Any, address: str, say: Callable[[str], None]) -> Any:
    """The results of a finished chunk, from its worker; where that died before, from the one that runs it again."""
    while True:
        try:
            return future.result(timeout=LOOK)
        except TimeoutError:
            if future.status == "error":  # the work's own
                raise
            _threads(client, address, say)


def _threads(client: Any, address: str, say: Callable[[str], None]) -> int:
    """Threads of all workers, once there is one: at once as a rule."""
    began, told = time.monotonic(), False
    while not (threads := sum(client.nthreads().values())):
        if client.status != "running":
            raise OSError("lost")
        waited = time.monotonic() - began
        if waited > LONGEST_WAIT:
            raise NoWorkers("scheduler", f"scheduler={address!r} has had no worker for {LONGEST_WAIT} s; what was "
                            "finished is kept, and the same command goes on")
        if waited > TOLD_AFTER and not told:
            say(f"scheduler={address!r} has no worker; waiting for one for {LONGEST_WAIT} s in all")
            told = True
        time.sleep(LOOK / 4)
    return threads


@contextlib.contextmanager
def _quiet_logs() -> Iterator[None]:
    """Without the logs of the client and of its event loop, which report a lost scheduler in several tracebacks."""
    logs = [(log, log.level) for log in map(logging.getLogger, LOGS)]
    for log, _ in logs:
        log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for log, level in logs:
            log.setLevel(level)


def run_chunk(version: int, work: Callable[..., Result],
              chunk: list[tuple[int, tuple[object, ...]]]) -> list[tuple[int, Result]]:
    """On a worker: the results of a chunk; RuntimeError where the worker's version of the model is another."""
    if version != SIMULATION_VERSION:
        raise RuntimeError(f"this worker simulates version {SIMULATION_VERSION} of the model, the sweep is of version "
                           f"{version}")
    with one_thread():
        return [(number, work(*task)) for number, task in chunk]
