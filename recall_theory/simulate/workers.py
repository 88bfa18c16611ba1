"""One parallel map for the whole project: lazy, interruptible, with what was finished kept.

BLAS runs on one thread in every process, so that any number of workers gives the same bits.

Workers are plain processes that read tasks from a pipe, and end with it when their parent does, however that ends.
Those of loky, joblib and multiprocessing outlive a parent that is killed, or leave a tracker that does, which holds the
parent's standard error and writes to it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from ..errors import SettingError, interrupted_with, interrupts_deferred

__all__ = ["collect", "one_thread", "ordered_map", "unordered_map"]

Result = TypeVar("Result")
Work = Callable[..., Result]
Tasks = Iterable[tuple[object, ...]]
Numbered = tuple[int, tuple[object, ...]]
Worker = subprocess.Popen[bytes]

BATCH_TIME = 0.1  # seconds after which a worker hands over what it has: a message takes about 0.2 ms
MOST_TASKS = 256  # of a batch
QUEUED = 2  # batches for each worker, so that none waits for this process

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
                            "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def ordered_map(work: Work[Result], tasks: Tasks, jobs: int = 1) -> Generator[Result, None, None]:
    """`work(*task)` of each task, in the order of the tasks, as they become ready.

    Tasks are drawn lazily, some ahead of the results. `jobs` processes share them; then `work`, the tasks and the
    results must pickle. To close the iterator before its end, or an interrupt, ends the processes.

    Raises what `work` raises, and `SettingError` where a worker is ended from outside.

    >>> list(ordered_map(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """
    waiting: dict[int, Result] = {}
    following = 0
    with contextlib.closing(unordered_map(work, tasks, jobs)) as finished:
        for number, result in finished:
            waiting[number] = result
            while following in waiting:
                yield waiting.pop(following)
                following += 1


def unordered_map(work: Work[Result], tasks: Tasks, jobs: int = 1) -> Generator[tuple[int, Result], None, None]:
    """As `ordered_map`, in the order in which tasks are finished: (number of the task, its result).

    >>> sorted(unordered_map(pow, [(2, 3), (3, 2)]))
    [(0, 8), (1, 9)]
    """
    if jobs > 1:
        yield from _shared(work, enumerate(tasks), jobs)
        return
    with one_thread():
        for number, task in enumerate(tasks):
            yield number, work(*task)


def collect(work: Work[Result], tasks: Sequence[tuple[object, ...]], *, jobs: int = 1,
            progress: Callable[[int, int], None] | None = None,
            partial: Callable[[list[Result]], object] | None = None) -> list[Result]:
    """All results of `ordered_map`, in order. `progress` is called with (results so far, tasks).

    On Ctrl-C (or any other KeyboardInterrupt) `partial(results so far)` makes the value that `Interrupted` carries;
    where there are no results, or no `partial`, the KeyboardInterrupt itself passes.

    >>> collect(pow, [(2, 3), (3, 2)], progress=print)
    1 2
    2 2
    [8, 9]
    """
    results: list[Result] = []
    with (interrupted_with(lambda: partial(results) if partial and results else None),
          contextlib.closing(ordered_map(work, tasks, jobs)) as finished):
        for result in finished:
            results.append(result)
            if progress is not None:
                progress(len(results), len(tasks))
    return results


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra runs on one thread in the block."""
    from threadpoolctl import threadpool_limits

    with interrupts_deferred():  # threadpoolctl calls back from C, where Python drops a KeyboardInterrupt
        limits = threadpool_limits(limits=1)
    with limits:
        yield


_idle: list[Worker] = []  # to be used again: a start takes as long as hundreds of small seeds
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # they are the parent's


def _started() -> Worker:
    """A new worker. In a session of its own it is sent none of its parent's signals: the parent alone answers them."""
    paths = os.pathsep.join(map(str, sys.path))
    return subprocess.Popen([sys.executable, "-P", "-c", f"from {__name__} import serve; serve()"],
                            start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL,
                            env={**os.environ, **ONE_THREAD, "PYTHONPATH": paths})


def _shared(work: Work[Result], tasks: Iterator[Numbered], jobs: int) -> Generator[tuple[int, Result], None, None]:
    """The results of numbered tasks by `jobs` processes, as they are finished.

    A thread for each process waits for it. A batch holds about as many tasks as its time allows. A worker answers it
    with the results of its first tasks, one at least, and what the next one raised if it did; what it leaves goes back
    to the tasks.
    """
    import cloudpickle  # unlike pickle it sends functions of a script, too

    workers: list[Worker] = []
    free: queue.SimpleQueue[Worker] = queue.SimpleQueue()

    def done(batch: list[Numbered]) -> tuple[list[tuple[int, Result]], list[Numbered]]:
        message = cloudpickle.dumps((work, [task for _, task in batch]))
        worker = free.get()
        assert worker.stdin is not None and worker.stdout is not None
        try:
            pickle.dump(message, worker.stdin)
            worker.stdin.flush()
            results, error = pickle.load(worker.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            raise SettingError("jobs", f"jobs={jobs}: a worker was ended from outside, perhaps for want of memory; "
                               "fewer jobs need less") from None
        finally:
            free.put(worker)
        if error is not None:
            raise error
        return [(number, result) for (number, _), result in zip(batch, results, strict=False)], batch[len(results):]

    threads = ThreadPoolExecutor(jobs)
    running: set[Future[tuple[list[tuple[int, Result]], list[Numbered]]]] = set()
    returned: list[Numbered] = []
    size, whole = 1, False
    try:
        while True:
            while len(running) < QUEUED * jobs:
                batch, returned = returned[:size], returned[size:]
                batch += itertools.islice(tasks, size - len(batch))
                if not batch:
                    break
                if len(workers) < jobs:
                    with interrupts_deferred():
                        alive = [worker for worker in _idle if worker.poll() is None]
                        workers.append(alive.pop() if alive else _started())
                        _idle[:] = alive
                    free.put(workers[-1])
                running.add(threads.submit(done, batch))
            if not running:
                break
            ready, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ready:
                results, left = future.result()
                size = len(results) if left else min(max(size, 2 * len(results)), MOST_TASKS)
                returned += left
                yield from results
        whole = True
    finally:
        with interrupts_deferred():
            if whole:
                _idle.extend(workers)
            for worker in () if whole else workers:
                worker.kill()
                with contextlib.suppress(OSError), worker:  # waits for its end, and closes the pipes
                    pass
            threads.shutdown(cancel_futures=True)


def serve() -> None:
    """The life of a worker: batches of tasks come by standard input, their results leave by standard output."""
    import cloudpickle

    inbox, outbox = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what work prints must not mix with results
    batches: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def receive() -> None:
        with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                batches.put(pickle.load(inbox))
        os._exit(0)  # the parent has gone

    threading.Thread(target=receive, daemon=True).start()  # so that its end is seen in the middle of a task
    while True:
        results: list[object] = []
        error = None
        try:
            work, tasks = pickle.loads(batches.get())
            end = time.monotonic() + BATCH_TIME
            for task in tasks:
                results.append(work(*task))
                if time.monotonic() > end:
                    break
        except Exception as raised:
            error = raised
        outbox.write(cloudpickle.dumps((results, error)))
        outbox.flush()
