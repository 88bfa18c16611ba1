"""One parallel map for the whole project: ordered, lazy, interruptible, with what was finished kept.

BLAS runs on one thread in every process, so that any number of workers gives the same bits.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TypeVar

from ..errors import SettingError, interrupted_with

__all__ = ["collect", "one_thread", "ordered_map", "unordered_map"]

Result = TypeVar("Result")
Work = Callable[..., Result]
Tasks = Iterable[tuple[object, ...]]


def ordered_map(work: Work[Result], tasks: Tasks, jobs: int = 1) -> Generator[Result, None, None]:
    """`work(*task)` of each task, in the order of the tasks, as they become ready.

    Tasks are drawn lazily, a few ahead of the results. `jobs` processes share them; then `work`, the tasks and the
    results must pickle. To close the iterator before its end, or an interrupt, ends the processes.

    Raises `SettingError` where a worker is ended from outside.

    >>> list(ordered_map(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """
    return _map(work, tasks, jobs, "generator")


def unordered_map(work: Work[Result], tasks: Tasks, jobs: int = 1) -> Generator[tuple[int, Result], None, None]:
    """As `ordered_map`, in the order in which tasks are finished: (number of the task, its result).

    >>> sorted(unordered_map(pow, [(2, 3), (3, 2)]))
    [(0, 8), (1, 9)]
    """
    numbered = ((number, work, task) for number, task in enumerate(tasks))
    return _map(_with_number, numbered, jobs, "generator_unordered")


def collect(work: Work[Result], tasks: Tasks, *, jobs: int = 1, each: Callable[[Result], None] | None = None,
            progress: Callable[[int, int], None] | None = None, total: int | None = None,
            partial: Callable[[list[Result]], object] | None = None) -> list[Result]:
    """All results of `ordered_map`, in order; an interrupt hands out what was finished.

    `each` is called with every new result, then `progress` with (results so far, `total`); total is the number of
    tasks where that is None and tasks has a length.

    On Ctrl-C (or any other KeyboardInterrupt) `partial(results so far)` makes the value that `Interrupted` carries;
    where it returns None, or there is no `partial`, the KeyboardInterrupt itself passes.

    >>> collect(pow, [(2, 3), (3, 2)], progress=print)
    1 2
    2 2
    [8, 9]
    """
    results: list[Result] = []
    count = len(tasks) if total is None and isinstance(tasks, list | tuple | range) else total or 0
    with (interrupted_with(lambda: None if partial is None else partial(results)),
          contextlib.closing(ordered_map(work, tasks, jobs)) as finished):
        for result in finished:
            results.append(result)
            if each is not None:
                each(result)
            if progress is not None:
                progress(len(results), count)
    return results


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra runs on one thread in the block.

    Signals wait while that is set up: threadpoolctl calls back from C, where Python drops a KeyboardInterrupt.
    """
    from threadpoolctl import threadpool_limits

    with _held("SIGINT", "SIGTERM", "SIGHUP"):
        limits = threadpool_limits(limits=1)
    with limits:
        yield


@contextlib.contextmanager
def _held(*names: str) -> Iterator[None]:
    """These signals wait until the end of the block, where the system can make them wait."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.Signals[name] for name in names})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextlib.contextmanager
def _ctrl_c_ignored() -> Iterator[None]:
    """Ctrl-C waits, and workers that are started in the block inherit that it is ignored: their parent ends them, and
    none prints a traceback. Does nothing outside the main thread."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    with _held("SIGINT"):
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            yield
        finally:  # before the signal is let in, so that a Ctrl-C that came meanwhile is answered
            signal.signal(signal.SIGINT, signal.SIG_DFL if handler is None else handler)


def _with_number(number: int, work: Work[Result], task: tuple[object, ...]) -> tuple[int, Result]:
    return number, work(*task)


def _map(work: Work[Result], tasks: Tasks, jobs: int, return_as: str) -> Generator[Result, None, None]:
    """Results as joblib's `return_as` orders them."""
    if jobs == 1:
        with one_thread():
            for task in tasks:
                yield work(*task)
        return
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    # Workers start with one thread for every library. To limit the threads around each task would take a millisecond,
    # as long as a small seed.
    with _ctrl_c_ignored(), parallel_config(backend="loky", inner_max_num_threads=1):
        results = Parallel(n_jobs=jobs, return_as=return_as, batch_size="auto")(
            delayed(work)(*task) for task in tasks)
    try:
        # `yield from` would close joblib's generator before its warnings are off.
        for result in results:  # noqa: UP028
            yield result
    except TerminatedWorkerError:
        raise SettingError("jobs", f"jobs={jobs}: a worker was ended from outside, perhaps for want of memory; "
                           "fewer jobs need less") from None
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib's, about results that nobody fetched
            results.close()
