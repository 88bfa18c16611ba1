"""A parallel map on a Dask cluster: many machines, one store, still the same bits.

Not joblib's Dask backend: on a cluster of one thread it runs everything in this process, it never gives more work to
workers that join later, and it waits for ever where workers die of a task.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TypeVar

from ..settings import SettingError
from ..simulate.workers import one_thread
from .sweep_problem import SIMULATION_VERSION

CHUNK = 16  # tasks that travel together: a message costs the scheduler about a millisecond
WINDOW = 4  # chunks under way for each thread of the cluster, so that none waits for the next
CONNECTING = 30  # seconds to reach the scheduler
FIRST_WORKER = 300  # seconds until the first worker has joined: a queue may hold them up
LOGS = ("distributed", "distributed.client", "tornado.application", "asyncio")

Result = TypeVar("Result")


def cluster_map(work: Callable[..., Result], tasks: Iterable[tuple[object, ...]],
                address: str) -> Generator[tuple[int, Result], None, None]:
    """As `simulate.workers.unordered_map`, by the workers of the Dask scheduler at `address`: (number of the task, its
    result), each once. What a lost worker had is run again by another.

    Raises `SettingError` where distributed isn't installed, the scheduler can't be reached or is lost, no worker
    comes, or the workers can't do the work or keep dying.
    """
    try:
        from distributed import CancelledError, Client, KilledWorker, as_completed

        client = Client(address, timeout=CONNECTING)
    except ImportError:
        raise SettingError("scheduler", f"scheduler={address!r} needs distributed, which is not installed: "
                           "pip install 'recall-theory[cluster]'") from None
    except (OSError, ValueError) as error:
        raise SettingError("scheduler", f"scheduler={address!r} can't be reached: {error}") from None
    numbered = enumerate(tasks)
    chunks = iter(lambda: list(itertools.islice(numbered, CHUNK)), [])
    futures = (client.submit(run_chunk, SIMULATION_VERSION, work, chunk, pure=False) for chunk in chunks)
    with _quiet_logs(), client:
        try:
            client.wait_for_workers(1, timeout=FIRST_WORKER)
            threads = sum(client.nthreads().values())
            under_way = as_completed(itertools.islice(futures, WINDOW * threads), with_results=True)
            for _, results in under_way:
                if isinstance(results, CancelledError):  # handed out like a result
                    raise results
                yield from results
                under_way.update(itertools.islice(futures, 1))
            return
        except TimeoutError:
            why = f"no worker has joined it within {FIRST_WORKER} s"
        except KilledWorker:
            why = "workers keep dying on the same seeds, perhaps for want of memory"
        except (CancelledError, OSError):
            why = "the connection to the scheduler was lost"
        except Exception as error:  # what a worker raised, as it is: distributed hands it on
            why = f"a worker failed: {type(error).__name__}: {error}"
        raise SettingError("scheduler", f"scheduler={address!r}: {why}; what was finished is kept")


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
