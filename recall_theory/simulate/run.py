"""`simulate`: the model trained once a seed, and what was observed over the seeds.

Every random stream is keyed by (seed, number of the seed), never by a worker, and BLAS runs on one thread, so
any number of workers gives the same bits.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import numpy as np

from ..numerics.arrays import Observable
from ..numerics.formatting import plural
from ..settings import MOST_BITS, N_TEST, OBSERVABLES, Setting, SettingError, check_integer, check_seed, check_seeds
from . import observables, reference, three_step
from .data import (
    KEEP_BYTES,
    Matrices,
    Samples,
    UserEmbeddings,
    check_embeddings,
    distance_from_random,
    draw_embeddings,
    draw_mlp,
    token_type,
)
from .observables import Observation
from .workers import collect

Triple = tuple[float, float, float]

CONTROL_GROUPS, OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")  # where Linux keeps a container's limits
STREAMS = ("embeddings", "samples", "fresh sequences", "reference", "layer")  # of random numbers, each of its own
LIBRARIES = 200 << 20  # bytes of an interpreter with NumPy, SciPy and numba, and of blocks of fixed size
MOST_TOKENS = 1e13  # tokens a seed; some days of work
MOST_WORK = 1e16  # multiplications a seed; some days too


@functools.cache
def keep_freed_memory() -> None:
    """Have the allocator keep freed memory for the next seed: new pages cost up to two fifths of a small one's time.

    The C library of Linux gives back what exceeds twice the largest block that was freed so far, below 32 MiB: here one
    that is never touched.
    """
    np.empty(24 << 20, dtype=np.uint8)


def one_seed(setting: Setting, seed: int, index: int, n_test: int | None = N_TEST) -> Triple:
    """Attention, recall, accuracy of seed number `index`; n_test=None sums over all sequences."""
    attention, recall, accuracy, *_ = observe_seed(setting, seed, index, n_test)
    return attention, recall, accuracy


def observe_seed(setting: Setting, seed: int, index: int, n_test: int | None = N_TEST,
                 given: UserEmbeddings | None = None, bits: int | None = None) -> tuple[float, ...]:
    """What `one_seed` observes and, at finite rates, the mean attention weight of the informative position.

    Rates that are small (`Setting.has_small_rates`) are simulated as eta -> 0 at their beta, others explicitly. Val is
    quantised to `bits`.
    """

    def stream(name: str) -> np.random.SeedSequence:
        return np.random.SeedSequence(seed, spawn_key=(index, STREAMS.index(name)))

    keep_freed_memory()
    rng = np.random.default_rng(stream("embeddings"))
    emb = draw_embeddings(setting, rng) if given is None else given.for_seed(rng)
    layer = None if setting.m is None else draw_mlp(setting, np.random.default_rng(stream("layer")))
    samples = Samples(setting, stream("samples"))
    temperature = None
    if not setting.is_limit:
        if n_test is None:
            raise SettingError("n_test", "n_test=None, a sum over all sequences, is for the limit only; with eta and "
                               "gamma give a number")
        task = reference.draw_task(setting, emb, samples, stream("reference"), layer)
        if not setting.has_small_rates:
            fresh = np.random.default_rng(stream("fresh sequences"))
            return reference.on_fresh_sequences(task, reference.train(task), fresh, n_test)
        temperature = setting.beta * float(task.z_eos @ task.z_eos)
    model = three_step.train(setting, emb, samples, layer, temperature=temperature, bits=bits)
    if n_test is None:
        return observables.exactly(model, setting.L)
    fresh = np.random.default_rng(stream("fresh sequences"))
    observed = observables.on_fresh_sequences(model, setting.L, fresh, n_test)
    return observed[:3] if setting.is_limit else observed


def memory_needed(setting: Setting, jobs: int = 1) -> float:
    """Bytes that `jobs` seeds at a time take, each with the libraries, the tokens that are kept, embeddings and what is
    made of them, some rows of a table of tokens by labels, and with a layer some tables of labels by neurons and what
    step one leaves to step two."""
    V, d, N, L = float(setting.V), float(setting.d), float(setting.N), float(setting.L)
    tokens = N * (L - 1) * token_type(setting.V).itemsize
    numbers = 5.5 * V * d + 2 * d * d + V * min(V, three_step.FEWEST_ROWS)
    if setting.m is not None:
        numbers += 6 * min(V * setting.m, three_step.TABLE_ENTRIES) + 3 * setting.m * d
        kept = N * min(setting.m, three_step.TABLE_ENTRIES // V)
        numbers += kept if kept <= three_step.KEPT else 0
    libraries = LIBRARIES if setting.has_small_rates else LIBRARIES / 2
    starting = LIBRARIES / 2 if jobs > 1 else 0.0  # the process that starts the others
    return jobs * (8 * numbers + min(tokens, KEEP_BYTES) + libraries) + starting


def memory_there() -> float:
    """Bytes that this process and its workers may take: the machine's, or what a container or a batch system allows."""
    limits = [float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))]
    for line in OWN_GROUPS.read_text().splitlines() if OWN_GROUPS.exists() else []:
        _, controllers, group = line.split(":", 2)
        # Those of the control groups of both versions that this process is in, and of the groups around each, all hold.
        if not controllers or "memory" in controllers.split(","):
            file = "memory/{}/memory.limit_in_bytes" if controllers else "{}/memory.max"
            for folder in (PurePosixPath(group), *PurePosixPath(group).parents):
                with contextlib.suppress(OSError, ValueError):  # "max" is none, and outer groups may be out of sight
                    limits.append(float((CONTROL_GROUPS / file.format(folder.relative_to("/"))).read_text()))
    return min(limits)


def check_affordable(setting: Setting, jobs: int = 1) -> None:
    """Raise `SettingError` where `jobs` seeds at a time would not fit in memory, or one would take days."""
    V, d, N, L, m = (float(x or 0) for x in (setting.V, setting.d, setting.N, setting.L, setting.m))

    def refused(name: str, why: str, lower: str) -> SettingError:
        return SettingError(name, f"{name}={getattr(setting, name)}: {why}; lower {lower} (predict has no such limit)")

    need, have = memory_needed(setting, jobs), memory_there()
    if need > 0.9 * have:
        raise refused("V", f"{plural(jobs, 'seed')} at a time would take {need / 2**30:.3g} GiB of memory "
                      f"and {have / 2**30:.3g} GiB are there", "V, d or jobs" if jobs > 1 else "V or d")
    if N * L > MOST_TOKENS:
        raise refused("N", f"one seed of this simulation draws {N * L:.3g} tokens, and {MOST_TOKENS:.0e} is the most "
                      "it takes on", "N or L")
    work = 6 * V * V * d + 6 * N * m * d
    if not setting.has_small_rates:
        work += 8 * N * (L * d + V * (d + m))
    if work > MOST_WORK:
        raise refused("V", f"one seed of this simulation multiplies {work:.3g} numbers, and {MOST_WORK:.0e} is the "
                      "most it takes on", "V, d, N or m")


def simulate(setting: Setting, seeds: int = 32, seed: int | None = None, *, n_test: int | None = N_TEST,
             jobs: int = 1, embeddings: Matrices | None = None, normalise: str = "none",
             bits: int | None = None, progress: Callable[[int, int], None] | None = None) -> Observation:
    """Train the model of `setting` on `seeds` independent draws of everything random, and observe.

    With eta and gamma the attention is a softmax. Where eta is as good as 0 (`Setting.has_small_rates`) the limit
    eta -> 0 at beta = eta*gamma is what is trained, about as fast as the limit of both; other rates run explicitly,
    which takes N L d multiplications, N V d and more. Either way `attention_weight` is observed too.

    `seed` fixes the draws (drawn and kept in the result where None). Attention and accuracy are frequencies
    over `n_test` fresh sequences a seed; n_test=None sums over all sequences exactly. `progress` is called
    with (done, seeds).

    `embeddings` puts a user's own matrices, (z_in, z_out) of shape (V, d) each, in the place of random ones;
    `normalise` is "none", "scale" or "rows" (see `check_embeddings`). The result's `embeddings` then says how
    far from random they are. With `bits`, an integer from 1 to 64, the entries of Val are quantised after training
    (`recall_theory.numerics.quantiser`); not with an MLP or learning rates.

    Raises `SettingError` where a number is out of range or the machine is too small, and `Interrupted` (a
    KeyboardInterrupt) with the seeds finished by then where Ctrl-C stops it.

    >>> observed = simulate(Setting(V=32, L=4, d=64, N=1024), seeds=4, seed=0)
    >>> observed.recall.values.tolist(), observed.recall.mean
    ([0.4375, 0.875, 0.8125, 0.65625], 0.6953125)
    """
    check_seeds(seeds)
    if n_test is not None:
        check_integer("n_test", n_test, 1, 10**9)
    if bits is not None:
        check_integer("bits", bits, 1, MOST_BITS)
        if setting.m is not None or not setting.is_limit:
            raise SettingError("bits", f"bits={bits}: Val is quantised without an MLP and without learning rates only")
    used = check_seed(seed)
    check_affordable(setting, jobs)
    given = None if embeddings is None else check_embeddings(embeddings, setting, normalise)
    report = None if given is None else distance_from_random(given)

    def observation(rows: list[tuple[float, ...]]) -> Observation:
        measures = dict(zip((*OBSERVABLES, "attention_weight"), map(Observable, np.array(rows).T), strict=False))
        return Observation(setting, used, measures, n_test, report)

    tasks = [(setting, used, index, n_test, given, bits) for index in range(seeds)]
    return observation(collect(observe_seed, tasks, jobs=jobs, progress=progress, partial=observation))
