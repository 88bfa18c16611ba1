"""Functions that numba compiles to machine code, for loops over more numbers than NumPy passes over quickly, and the
threads on which they run beside one another."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")

MOST_THREADS = 4  # more would wait for one another: what is not compiled runs on one at a time

on_compiling: list[Callable[[], None]] = []  # called before the first function is compiled, not where all are kept


def compiled(function: Function) -> Function:
    """The function as machine code, made when it is first called and kept on disk for the next process.

    It may call other compiled functions. Where these are of another module, numba does not see it when that one
    changes: then remove __pycache__ beside the caller. Tests hold machine code against the same code as Python.
    An array assigned to a slice of another takes numba seconds to compile, for its line on shapes that differ: loop.
    """
    return _made(function, {"contract"})  # a*b + c may be rounded once


def compiled_sums(function: Function) -> Function:
    """The same for a function whose sums may be added in any order, and several terms at a time."""
    return _made(function, {"contract", "reassoc"})


def on_threads(function: Callable[..., Result], tasks: Sequence[tuple[Any, ...]]) -> list[Result]:
    """`function(*task)` of each task, in order, on at most so many threads as NUMBA_NUM_THREADS says (it is 1 in a
    worker of `ordered_map`), or the cores. Raises what a task raises; then, or on Ctrl-C, no other one is begun.

    >>> on_threads(pow, [(2, 3), (3, 2)])
    [8, 9]
    """
    from numba.core import config

    threads = min(config.NUMBA_NUM_THREADS, MOST_THREADS, len(tasks))  # type: ignore[attr-defined]
    if threads <= 1:
        return [function(*task) for task in tasks]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda task: function(*task), tasks))


def _made(function: Function, allowed: set[str]) -> Function:
    from numba import njit

    _listen()
    make = functools.partial(njit, nogil=True, error_model="numpy", fastmath=allowed)
    try:
        made = make(cache=True)(function)
    except RuntimeError:  # there is no folder that it may write to
        made = make()(function)
    return cast("Function", made)


@functools.cache
def _listen() -> None:
    """Call those who want to know as the first function is compiled."""
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: object) -> None:
            while on_compiling:
                on_compiling.pop()()

        def on_end(self, event: object) -> None:
            pass

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]
