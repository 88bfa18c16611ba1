"""`sweep`: every seed of every cell that the store doesn't hold yet is simulated, and stored as it is finished."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import itertools
import logging
import math
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from ..errors import NoWorkers, interrupted_with
from ..numerics.formatting import plural
from ..settings import Setting, SettingError, check_integer, check_seed, check_seeds
from ..simulate.run import check_affordable, one_seed
from ..simulate.workers import one_thread, unordered_map
from ..theory.predict import predict
from ..verification.problem import predictions_of
from ..verification.verdicts import DISAGREE, second_stage
from .store import Place, Store, gathered, opened
from .sweep_results import SIMULATION_VERSION, Results, SweepProblem, analyse_cells, planned_for_verdicts

CHUNK = 16  # tasks that travel together: a message costs the scheduler about a millisecond
WINDOW = 4  # chunks under way for each thread of the cluster, so that none waits for the next
CONNECTING = 30  # seconds to reach the scheduler
LOOK = 1.0  # seconds without a result after which the workers are counted
TOLD_AFTER, LONGEST_WAIT = 10, 300  # seconds without a worker, which a queue may hold up
LOGS = ("distributed", "distributed.client", "tornado.application", "asyncio")

FLUSH = 1.0  # seconds of work that a kill may cost, and about as many that are claimed at a time
LOOK_AGAIN = 0.5  # seconds between looks at what another sweep is at
TOKENS_A_SECOND = 4e7  # about what a core takes
SECONDS_A_SEED = 1e-3  # beside that

Result = TypeVar("Result")


def cluster_map(work: Callable[..., Result], tasks: Iterable[tuple[object, ...]], address: str,
                say: Callable[[str], None], chunk_size: int = CHUNK) -> Generator[tuple[int, Result], None, None]:
    """As `simulate.workers.unordered_map`, by the workers of the Dask scheduler at `address`: (number of the task, its
    result), each once. What a lost worker had is run again. `say` is told of a want of workers.

    Not joblib's Dask backend: on a cluster of one thread it runs everything in this process, it never gives more work
    to workers that join later, and it waits for ever where workers die of a task.

    Raises `NoWorkers` where there is none for 300 s, and `SettingError` where distributed isn't installed, the
    scheduler can't be reached or is lost, or the workers can't do the work or keep dying.
    """
    try:
        from distributed import CancelledError, Client, KilledWorker, wait

        client = Client(address, timeout=CONNECTING)
    except ImportError:
        raise SettingError("scheduler", f"scheduler={address!r} needs distributed, which is not installed: "
                           "pip install 'recall-theory[cluster]'") from None
    except (OSError, ValueError) as error:
        raise SettingError("scheduler", f"scheduler={address!r} can't be reached: {error}") from None
    numbered = enumerate(tasks)
    under_way: set[Any] = set()
    with contextlib.ExitStack() as stack:
        for log in map(logging.getLogger, LOGS):  # they would report a lost scheduler in several tracebacks
            stack.callback(log.setLevel, log.level)
            log.setLevel(logging.CRITICAL)
        stack.enter_context(client)
        try:
            while True:
                room = WINDOW * _threads(client, address, say) - len(under_way)
                for _ in range(room):
                    if chunk := list(itertools.islice(numbered, chunk_size)):
                        under_way.add(client.submit(run_chunk, SIMULATION_VERSION, work, chunk, pure=False))
                if not under_way:
                    return
                with contextlib.suppress(TimeoutError):  # also where a worker has died with what it had finished
                    for future in wait(under_way, LOOK, "FIRST_COMPLETED").done:
                        results = future.result(timeout=LOOK)
                        under_way.remove(future)
                        yield from results
        except NoWorkers:
            raise
        except KilledWorker:
            why = "workers keep dying on the same seeds, perhaps for want of memory"
        except (CancelledError, OSError):
            why = "the connection to the scheduler was lost"
        except Exception as error:  # what a worker raised, as it is: distributed hands it on
            why = f"a worker failed: {type(error).__name__}: {error}"
        raise SettingError("scheduler", f"scheduler={address!r}: {why}; what was finished is kept")


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


def run_chunk(version: int, work: Callable[..., Result],
              chunk: list[tuple[int, tuple[object, ...]]]) -> list[tuple[int, Result]]:
    """On a worker: the results of a chunk; RuntimeError where the worker's version of the model is another."""
    if version != SIMULATION_VERSION:
        raise RuntimeError(f"the sweep is of version {version} of the model, this worker's is {SIMULATION_VERSION}")
    with one_thread():
        return [(number, work(*task)) for number, task in chunk]


def sweep(cells: Sequence[Setting], seeds: int | None = None, seed: int | None = None, *, n_test: int | None = None,
          jobs: int = 1, store: str | os.PathLike[str] | Store | None = None, part: tuple[int, int] = (1, 1),
          scheduler: str | None = None, progress: Callable[[int, int], None] | None = None,
          announce: Callable[[str], None] | None = None, note: Callable[[str], None] | None = None) -> Results:
    """Simulate `seeds` seeds of every setting in `cells`; what the store holds is not simulated again.

    Where `seeds` is None each cell has as many as a verdict on the theory takes, as `verify` plans them: first by the
    predicted spread, then more in the cells whose verdict is still open.

    `store` is a file (or an open `Store`) to which finished results are added every second; None keeps them in memory.
    Sweeps that run at once into one store share the work: none does what another is at. Observables are summed over all
    sequences exactly where `n_test` is None.
    `scheduler` is the address of a Dask cluster that does the work in the place of `jobs` local processes.
    `part=(i, n)` does the i-th of n equal shares, so that n machines split a sweep. `progress` is called with
    (done, wanted), results from the store included, `announce` with a line on what planned seeds take, before they are
    run, and `note` with a line where another sweep or a cluster's workers are waited for.

    Streams are keyed by seed and setting: neither jobs, parts, order nor interruptions change a bit.
    Raises `SettingError` for bad values and broken stores, `NoWorkers` where a cluster has lost all of its own, and
    `Interrupted` with the results so far on Ctrl-C.

    >>> from recall_theory.sweep import product
    >>> results = sweep(product({"d": [16, 32]}, V=16, L=2, N=128), seeds=2, seed=1)
    >>> results.values.shape
    (2, 2, 3)
    """
    if seeds is not None:
        check_seeds(seeds)
    seed = check_seed(seed)
    check_integer("part", part[0], 1, check_integer("part", part[1], 1))
    settings = list(dict.fromkeys(cells))
    if not settings:
        raise SettingError("grid", "the grid holds no setting")
    for setting in settings:
        check_affordable(setting, jobs if scheduler is None else 1)
        if n_test is None and not setting.is_limit:
            raise SettingError("n_test", "n_test must be given with eta and gamma: a sum over all sequences is "
                               "for the limit only")
    problems = [SweepProblem(setting, seed, n_test) for setting in settings]
    tell = announce or (lambda line: None)
    with opened(store) as kept:
        run = _Run(kept, problems, part, jobs, scheduler, progress or (lambda done, wanted: None),
                   note or (lambda line: None))
        if seeds is not None:
            return run.finish([seeds] * len(problems))
        predictions = predictions_of(predict, settings, jobs)
        plan = planned_for_verdicts(settings, predictions)
        tell(f"verdicts on {plural(len(plan), 'cell')} take {run.in_words(plan)}")
        results = run.finish(plan)
        if results.missing():  # of other parts
            return results
        analysis = analyse_cells(results, mapped=lambda *_: predictions)
        still_open = {p for p, cell in zip(analysis.all_problems, analysis.cells, strict=False) if cell.is_open}
        if analysis.verdict == DISAGREE or not still_open:
            return results
        more = second_stage(plan, {c for c, problem in enumerate(problems) if problem in still_open})
        tell(f"what is still open takes {run.in_words(more)}")
        return run.finish(more)


@dataclasses.dataclass
class _Run:
    """One sweep: the seeds that are missing are claimed a second's work at a time, simulated and stored; of `part` =
    (i, n) only those of the i-th of n shares."""

    kept: Store
    problems: Sequence[SweepProblem]
    part: tuple[int, int]
    jobs: int
    scheduler: str | None
    progress: Callable[[int, int], None]
    say: Callable[[str], None]
    simulated: int = 0

    def results(self, plan: Sequence[int]) -> Results:
        return gathered(self.kept, self.problems, plan, self.simulated)

    def to_do(self, plan: Sequence[int]) -> tuple[int, list[Place]]:
        """How many seeds of the plan are stored, and what is missing in this part of the sweep."""
        first = list(itertools.accumulate(plan, initial=1))  # number of each cell's first seed
        results, (share, shares) = self.results(plan), self.part
        return results.found, [(self.problems[c], i) for c, i in results.missing()
                               if (first[c] + i - share) % shares == 0]

    def in_words(self, plan: Sequence[int]) -> str:
        """What a plan takes, and about how long that lasts."""
        _, missing = self.to_do(plan)
        cores = self.jobs if self.scheduler is None else 1
        seconds = sum(SECONDS_A_SEED + tokens_of_seed(problem.setting) / TOKENS_A_SECOND for problem, _ in missing)
        lasts = datetime.timedelta(seconds=math.ceil(seconds / cores))
        return (f"{sum(plan):,} seeds; {len(missing):,} to be run, about {lasts} (h:mm:ss) on "
                f"{plural(cores, 'core')}")

    def finish(self, plan: Sequence[int]) -> Results:
        """Simulate until none is missing; those that another sweep is at are waited for, or taken over."""
        waits = False
        with interrupted_with(lambda: self.results(plan)), self.kept.claiming():
            while True:
                done, missing = self.to_do(plan)
                if not missing:
                    return self.results(plan)
                self.progress(done, done + len(missing))
                if not self._simulate_unclaimed(missing, done):
                    if not waits:
                        self.say(f"waiting for another sweep, which is at {plural(len(missing), 'seed')}")
                    waits = True
                    time.sleep(LOOK_AGAIN)

    def _simulate_unclaimed(self, places: Sequence[Place], done: int) -> int:
        """Simulate what nobody else is at; the number of seeds that were simulated. `done` are stored already."""
        rest, mine = iter(places), list[Place]()

        def claimed() -> Iterator[tuple[object, ...]]:
            most = 1
            while True:
                began = time.monotonic()
                taken = self.kept.claim(rest, most)
                mine.extend(taken)
                for problem, number in taken:
                    yield problem.setting, problem.cell_seed, number, problem.n_test
                if len(taken) < most:
                    return
                most = 2 * most if time.monotonic() - began < FLUSH else max(1, most // 2)

        work = (unordered_map(one_seed, claimed(), self.jobs) if self.scheduler is None else
                cluster_map(one_seed, claimed(), self.scheduler, self.say))
        flushed = time.monotonic()
        with contextlib.closing(work) as finished:
            for simulated, (number, triple) in enumerate(finished, start=1):
                self.kept.add(*mine[number], triple)
                self.simulated += 1
                self.progress(done + simulated, done + len(places))
                if time.monotonic() - flushed >= FLUSH:
                    self.kept.flush()
                    flushed = time.monotonic()
        self.kept.flush()
        return len(mine)


def tokens_of_seed(s: Setting) -> float:
    """What a seed costs, in tokens: about the samples, the embeddings and the attention's d by d matrix, and V^2 d
    multiplications at a hundred to a token."""
    return float(s.N) * s.L + float(s.d) * (s.d + s.V + s.L + (s.m or 0)) + float(s.V) ** 2 * s.d / 100
