"""Functions that numba compiles to machine code, for loops over more numbers than NumPy passes over quickly."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

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
