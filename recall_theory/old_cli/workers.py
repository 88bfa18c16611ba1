"""Work shared among processes while a person sees how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .progress import Progress


def mapped(jobs: int, progress: Progress) -> Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]:
    """A map over `jobs` processes that tells how far it is."""

    def over(function: Callable[[Any], Any], settings: Sequence[Any]) -> Iterator[Any]:
        results: Any = map(function, settings)
        if jobs > 1 and len(settings) > 1:
            from joblib import Parallel, delayed, parallel_config

            from ..simulate.run import interrupts_held

            with interrupts_held(), parallel_config(backend="loky", inner_max_num_threads=1):
                results = Parallel(n_jobs=jobs, return_as="generator")(delayed(function)(s) for s in settings)
        for done, result in enumerate(results, start=1):
            progress.update(done, len(settings))
            yield result

    return over
