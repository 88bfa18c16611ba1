"""`sweep`: every seed of every cell that the store doesn't hold yet is simulated, and stored as it is finished."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence

from ..errors import interrupted_with
from ..settings import Setting, SettingError, check_integer, check_seed, check_seeds
from ..simulate.run import check_affordable, one_seed
from ..simulate.workers import unordered_map
from .store import Store, opened
from .sweep_problem import SweepProblem
from .sweep_results import Results, gathered

FLUSH = 1.0  # seconds of work that a kill may cost


def sweep(cells: Sequence[Setting], seeds: int = 8, seed: int | None = None, *, n_test: int | None = None,
          jobs: int = 1, store: str | os.PathLike[str] | Store | None = None, part: tuple[int, int] = (1, 1),
          scheduler: str | None = None, flush: float = FLUSH,
          progress: Callable[[int, int], None] | None = None) -> Results:
    """Simulate `seeds` seeds of every setting in `cells`; what the store holds is not simulated again.

    `store` is a file (or an open `Store`) to which finished results are added, at the latest after `flush`
    seconds; None keeps them in memory. Observables are summed over all sequences exactly where `n_test` is None.
    `scheduler` is the address of a Dask cluster that does the work in the place of `jobs` local processes.
    `part=(i, n)` does the i-th of n equal shares, so that n machines split a sweep. `progress` is called with
    (done, wanted), results from the store included.

    Streams are keyed by seed and setting: neither jobs, parts, order nor interruptions change a bit.
    Raises `SettingError` for bad values and broken stores, and `Interrupted` with the results so far on Ctrl-C.

    >>> from recall_theory.sweep import product
    >>> results = sweep(product({"d": [16, 32]}, V=16, L=2, N=128), seeds=2, seed=1)
    >>> results.values.shape
    (2, 2, 3)
    """
    check_seeds(seeds)
    seed = check_seed(seed)
    share, shares = part
    check_integer("part", share, 1, check_integer("part", shares, 1))
    problems = [SweepProblem(setting, seed, n_test) for setting in dict.fromkeys(cells)]
    if not problems:
        raise SettingError("grid", "the grid holds no setting")
    for problem in problems:
        check_affordable(problem.setting)
        if n_test is None and not problem.setting.is_limit:
            raise SettingError("n_test", "n_test must be given with eta and gamma: a sum over all sequences is "
                               "for the limit only")

    with opened(store) as kept:
        results = gathered(kept, problems, seeds)
        kept.check_writable()
        missing = [(c, i) for c, i in results.missing() if (c * seeds + i) % shares == share - 1]
        tasks = ((problems[c].setting, problems[c].cell_seed, i, n_test, None) for c, i in missing)
        if scheduler is None or not missing:
            finished = unordered_map(one_seed, tasks, jobs)
        else:
            from .cluster import cluster_map

            finished = cluster_map(one_seed, tasks, scheduler)

        done = results.found
        wanted = done + len(missing)
        last = time.monotonic()
        if progress is not None:
            progress(done, wanted)
        with interrupted_with(lambda: results), contextlib.closing(finished), contextlib.ExitStack() as at_the_end:
            at_the_end.callback(kept.flush)  # whatever ends the work
            for number, triple in finished:
                cell, index = missing[number]
                results.values[cell, index] = triple
                kept.add(problems[cell], index, triple)
                done += 1
                if progress is not None:
                    progress(done, wanted)
                if time.monotonic() - last >= flush:
                    kept.flush()
                    last = time.monotonic()
        return results
