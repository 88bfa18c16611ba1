"""`sweep`: every seed of every cell that the store doesn't hold yet is simulated, and filed as it is finished."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence

from ..settings import Setting, SettingError
from ..simulate.observation import Interrupted
from ..simulate.run import Task, Triple, check_affordable, check_seed, check_seeds, interrupts_held, one_seed
from .problem import Problem
from .results import Results, gathered
from .store import Store

FLUSH = 1.0  # seconds of work that a kill may cost
BLOCK = 1000  # tasks made at a time

Slot = tuple[int, int]  # cell, number of the seed


def sweep(cells: Sequence[Setting], seeds: int = 8, seed: int | None = None, *, n_test: int | None = None,
          jobs: int = 1, store: str | os.PathLike[str] | Store | None = None, part: tuple[int, int] = (1, 1),
          scheduler: str | None = None, flush: float = FLUSH,
          progress: Callable[[int, int], None] | None = None) -> Results:
    """Simulate `seeds` seeds of every setting in `cells`; what the store holds is not simulated again.

    `store` is a file (or an open `Store`) to which finished results are added, at the latest after `flush`
    seconds; None keeps them in memory. Observables are summed over all sequences exactly where `n_test` is None.
    `scheduler` is the address of a Dask cluster that does the work in the place of `jobs` local processes.
    `part=(i, n)` does the i-th of n equal shares, so that n machines split a sweep. `progress` is called with
    (done, wanted), results found in the store included.

    Streams are keyed by seed and setting: neither jobs, parts, order nor interruptions change a bit.
    Raises `SettingError` for bad values and broken stores; Ctrl-C raises `Interrupted` with the results so far.

    >>> from recall_theory.sweep import product
    >>> found = sweep(product({"d": [16, 32]}, V=16, L=2, N=128), seeds=2, seed=1)
    >>> found.values.shape
    (2, 2, 3)
    """
    check_seeds(seeds)
    seed = check_seed(seed)
    share, shares = part
    if not (isinstance(share, int) and isinstance(shares, int) and 1 <= share <= shares):
        raise SettingError("part", f"part={part!r} is not (i, n) with 1 <= i <= n")
    problems = [Problem(setting, seed, n_test) for setting in dict.fromkeys(cells)]
    if not problems:
        raise SettingError("grid", "the grid holds no setting")
    for problem in problems:
        check_affordable(problem.setting)
        if n_test is None and not problem.setting.is_limit:
            raise SettingError("n_test", "n_test must be given with eta and gamma: a sum over all sequences is "
                               "for the limit only")
    kept = store if isinstance(store, Store) else Store(store)
    try:
        results = gathered(kept, problems, seeds)
        kept.check_writable()
        missing = [(c, i) for c, i in results.missing() if (c * seeds + i) % shares == share - 1]
        tasks = _tasks(problems, missing)
        if scheduler is None or not missing:
            finished = _finished(tasks, jobs)
        else:
            from .cluster import on_cluster

            finished = on_cluster(tasks, scheduler)
        _run(results, finished, len(missing), kept, flush, progress)
        return results
    finally:
        if kept is not store:
            kept.close()


def _run(results: Results, finished: Iterator[tuple[Slot, Triple]], missing: int, store: Store, flush: float,
         progress: Callable[[int, int], None] | None) -> None:
    done, wanted = results.found, results.found + missing
    fresh: list[tuple[Slot, Triple]] = []

    def keep() -> None:
        for (c, i), triple in fresh:
            results.values[c, i] = triple
            store.add(results.problems[c], i, triple)
        fresh.clear()
        store.flush()

    last = time.monotonic()
    if progress is not None:
        progress(done, wanted)
    try:
        for result in finished:
            fresh.append(result)  # and no more: between simulations every line of Python runs on a cold cache
            done += 1
            if progress is not None:
                progress(done, wanted)
            if (now := time.monotonic()) - last >= flush:
                keep()
                last = now
    except KeyboardInterrupt:
        raise Interrupted(results) from None
    finally:
        keep()


def _tasks(problems: Sequence[Problem], missing: Sequence[Slot]) -> Iterator[tuple[Slot, Task]]:
    """The tasks of the missing seeds, made in blocks."""
    for start in range(0, len(missing), BLOCK):
        yield from [((c, i), (problems[c].setting, problems[c].cell_seed, i, problems[c].n_test, None))
                    for c, i in missing[start:start + BLOCK]]


def _numbered(slot: Slot, task: Task) -> tuple[Slot, Triple]:
    return slot, one_seed(*task)


def _finished(tasks: Iterator[tuple[Slot, Task]], jobs: int) -> Iterator[tuple[Slot, Triple]]:
    """Results in the order in which they are finished: a slow cell holds none of the others up."""
    if jobs == 1:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1):
            for slot, task in tasks:
                yield slot, one_seed(*task)
        return
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    try:
        with interrupts_held(), parallel_config(backend="loky", inner_max_num_threads=1):
            results = Parallel(n_jobs=jobs, return_as="generator_unordered")(
                delayed(_numbered)(*task) for task in tasks)
        yield from results
    except TerminatedWorkerError:
        raise SettingError("jobs", f"jobs={jobs}: a worker was ended from outside, perhaps for want of memory; "
                           "what was finished is kept") from None
