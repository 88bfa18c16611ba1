"""Functions that numba compiles to machine code, for loops over so many numbers that NumPy's passes over them cost most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])
Tuple = TypeVar("Tuple")


def compiled(function: Function) -> Function:
    """The function as machine code, made when it is first called and kept on disk for the next process.

    It may call other compiled functions of its own module only: numba does not see it when those of another one change.
    """
    try:
        made: Function = njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # there is no folder that it may write to
        made = njit(nogil=True, error_model="numpy")(function)
    return made


def copied(kind: Callable[..., Tuple], *fields: Any) -> Tuple:
    """A named tuple of arrays as compiled functions take them: in one order and writable, so that there is one machine
    code for all. Numbers are passed as they are."""
    return kind(*(np.array(f, dtype=float, order="C") if isinstance(f, np.ndarray) else f for f in fields))
