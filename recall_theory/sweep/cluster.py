"""A sweep's work on a Dask cluster: many machines, one store, still the same bits."""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Iterator

from ..settings import SettingError
from ..simulate.run import Task, Triple, one_seed
from .problem import MODEL

CHUNK = 16  # seeds that travel together: a task costs the scheduler about a millisecond
WINDOW = 4  # chunks under way for each thread of the cluster, so that none waits for the next
PATIENCE = 30  # seconds to reach the scheduler
LOGS = ("distributed", "distributed.client", "tornado.application", "asyncio")
FIRST_WORKER = 300  # seconds until the first worker has joined: a queue may hold them up

Slot = tuple[int, int]
Numbered = tuple[Slot, Triple]


def on_cluster(tasks: Iterator[tuple[Slot, Task]], address: str) -> Iterator[Numbered]:
    """Results as they are finished, each slot once. What a lost worker had is run again by another.

    Raises `SettingError` where distributed isn't installed, the scheduler can't be reached or is lost, no worker
    comes, or the workers can't do the work or keep dying.
    """
    try:
        from distributed import CancelledError, Client, KilledWorker, as_completed
    except ImportError:
        raise SettingError("scheduler", f"scheduler={address!r} needs distributed, which is not installed: "
                           "pip install 'recall-theory[cluster]'") from None
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise SettingError("scheduler", f"scheduler={address!r} can't be reached: {error}") from None
    chunks = iter(lambda: list(itertools.islice(tasks, CHUNK)), [])
    with _quiet(), client:
        try:
            client.wait_for_workers(1, timeout=FIRST_WORKER)
            threads = sum(client.nthreads().values())
            under_way = as_completed([client.submit(run_chunk, MODEL, chunk, pure=False)
                                      for chunk in itertools.islice(chunks, WINDOW * threads)], with_results=True)
            for _, finished in under_way:
                if isinstance(finished, CancelledError):  # handed out like a result
                    raise finished
                yield from finished
                for chunk in itertools.islice(chunks, 1):
                    under_way.add(client.submit(run_chunk, MODEL, chunk, pure=False))
        except TimeoutError:
            raise _lost(address, f"no worker has joined it within {FIRST_WORKER} s") from None
        except KilledWorker:
            raise _lost(address, "workers keep dying on the same seeds, perhaps for want of memory") from None
        except (CancelledError, OSError):
            raise _lost(address, "the connection to the scheduler was lost") from None
        except Exception as error:  # what a worker raised, as it is: distributed hands it on
            raise _lost(address, f"a worker failed: {type(error).__name__}: {error}") from None


def _lost(address: str, why: str) -> SettingError:
    return SettingError("scheduler", f"scheduler={address!r}: {why}; what was finished is kept")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the logs of the client and of its event loop, which tell a lost scheduler in several tracebacks."""
    logs = [logging.getLogger(name) for name in LOGS]
    before = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for log, level in zip(logs, before, strict=True):
            log.setLevel(level)


def run_chunk(model: int, chunk: list[tuple[Slot, Task]]) -> list[Numbered]:
    """On a worker: the results of a chunk; RuntimeError where the worker's version of the model is another."""
    from threadpoolctl import threadpool_limits

    if model != MODEL:
        raise RuntimeError(f"this worker simulates version {MODEL} of the model, the sweep is of version {model}")
    with threadpool_limits(limits=1):
        return [(slot, one_seed(*task)) for slot, task in chunk]
